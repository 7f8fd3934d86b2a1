"""`katod verify`: what is missing, and what is only waiting."""

from katod.cli import verify
from tests.support.records import Claude


def test_a_parked_output_is_no_loss(world):
    """What is waiting to be written is not reported as missing: it is counted, with the reason."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    world.once()
    [marker] = world.out.glob(".katod-*")
    marker.unlink()
    source.append(make.says("two"))
    world.once()
    assert "are waiting to be written (" in world.cli("verify")
    marker.touch()
    world.once()
    assert world.cli("verify").endswith("as recorded\n")


def test_a_changed_part_fails(world):
    """Exit code 1, with the number of parts that differ."""
    world.claude().append(Claude().user("::start n\nsome words"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    path.write_text(path.read_text().replace("some", "other"))
    assert "parts are missing or changed" in world.cli("verify", code=1)


def test_a_part_that_older_rules_redacted_is_said_to_be_one(world, monkeypatch):
    """A recording keeps the version of the rules it started with, so a difference is explained."""
    world.claude().append(Claude().user("::start n\nsome words"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    path.write_text(path.read_text().replace("some", "other"))
    monkeypatch.setattr(verify, "RULES_VERSION", 99)
    assert "older set of rules" in world.cli("verify", code=1)


def test_what_cannot_be_checked_fails_only_if_asked(world):
    """Agents delete their sessions: that is counted, and fails with `--strict`."""
    source = world.claude()
    source.append(Claude().user("::start n\nsome words"))
    world.once()
    source.path.unlink()
    assert "can no longer be checked (session file: no longer exists)" in world.cli("verify")
    assert "1 of 1 recordings can no longer be checked" in world.said
    world.cli("verify", "--strict", code=1)
    assert "requires that every recording can be checked" in world.said
