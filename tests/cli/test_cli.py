"""`katod`: the group of all commands."""

import pytest

from tests.support.records import Claude


@pytest.mark.parametrize(("typed", "meant"), [("statsu", "status"), ("verfy", "verify"), ("recrod", "record")])
def test_a_misspelt_command_is_answered_with_the_nearest_one(world, typed, meant):
    """The exit code is 2, and the nearest command is suggested."""
    world.cli(typed, code=2)
    assert f"Did you mean '{meant}'?" in world.said


def test_an_unknown_command_is_named(world):
    """A word that is like no command gets no suggestion."""
    world.cli("frobnicate", code=2)
    assert "No such command 'frobnicate'" in world.said
    assert "Did you mean" not in world.said


def test_nothing_that_is_printed_reaches_the_terminal_as_a_command(world):
    """A project named with escape codes, a bell or a change of direction is listed without them."""
    name = "a\x1b]52;c;AAAA\x07b\u202ec"
    world.claude().append(Claude(cwd=f"/home/me/{name}").user("hello \x1b[31mred\x07"))
    world.cli("record", "start", "latest", "\x1b]0;x\x07", code=1)
    for printed in (world.cli("sessions"), world.said, world.cli("status")):
        assert not set(printed) & set("\x1b\x07\u202e")
    assert "hello red" in world.cli("sessions")
