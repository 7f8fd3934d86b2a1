"""`katod`: the group of all commands."""

import pytest


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
