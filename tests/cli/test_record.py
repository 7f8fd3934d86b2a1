"""`katod record`: the commands from the shell."""

from tests.world import Claude


def test_without_a_daemon_the_person_is_told_so(world):
    """What began is named, and that it does not go on by itself."""
    world.claude().append(Claude().user("hello"))
    assert "recording to" in world.cli("record", "start", "latest", "notes")
    assert "katod is not running" in world.said


def test_a_refusal_is_the_answer(world):
    """A name outside the allowed folders is refused with the reason, exit code 1."""
    world.claude().append(Claude().user("hello"))
    world.cli("record", "start", "latest", "/etc/x.md", code=1)
    assert "outside" in world.said
