"""Tests for `katod rescue`, and for what leads to it."""

import json
import os
import time
from pathlib import Path

import pytest

from tests.support.records import OTHER, Claude, says, user
from tests.support.world import World

DAY = 86_400


@pytest.fixture
def lost(world: World) -> Claude:
    """Return a session that was saved, and that its agent deleted."""
    world.configure(rescue=True)
    maker = Claude(world).say(user("the lost words"), says("yes"))
    then = time.time() - 40 * DAY
    os.utime(maker.path, (then, then))
    world.process()
    maker.path.unlink()
    world.process()
    return maker


def test_what_was_saved_is_listed(world: World, lost: Claude) -> None:
    """With what it is about, and whether it is byte for byte what the agent had."""
    lines = world.cli("rescue").splitlines()
    assert "the lost words" in lines[1]
    assert "byte for byte" in lines[1]
    assert lost.session in lines[1]
    assert world.cli("rescue", "--list") == world.cli("rescue")


def test_programs_get_the_list_as_json(world: World, lost: Claude) -> None:
    """With the paths of the transcript and the archive, and whether the agent has the session."""
    [row] = json.loads(world.cli("rescue", "--json"))
    assert (row["agent"], row["session"], row["title"], row["exact"], row["there"]) == (
        "claude", lost.session, "the lost words", True, False,
    )  # fmt: skip
    assert "the lost words" in Path(row["transcript"]).read_text()
    assert Path(row["archive"]).stat().st_size + Path(row["transcript"]).stat().st_size == row["bytes"]
    assert row["files"] == [str(lost.path)]


def test_a_saved_session_is_called_as_its_person_says(world: World, lost: Claude) -> None:
    """In the list and its JSON, as everywhere."""
    world.cli("rename", lost.session, "The login page")
    assert [row["title"] for row in json.loads(world.cli("rescue", "--json"))] == ["The login page"]
    assert "The login page" in world.cli("rescue")


def test_without_any_it_says_why(world: World) -> None:
    """Because nothing was due, or because it is off."""
    assert "recording.rescue = true" in world.cli("rescue")
    world.configure(rescue=True)
    assert "Nothing was saved so far" in world.cli("rescue")
    world.cli("rescue", "--list", "--restore", "x", code=2)


def test_whoever_looks_for_a_lost_session_is_told_where_it_is(world: World, lost: Claude) -> None:
    """By whatever command they look for it."""
    for command in ("resume", "show", "export", "capture"):
        done = world.katod(command, lost.session, check=False)
        said = done.stderr.decode()
        transcript = world.home / f".local/share/katod/rescued/claude/{lost.session}.md"
        assert f"saved from deletion: read {transcript}, or run `katod rescue --restore claude:{lost.session}`" in said
        assert transcript.exists()
    done = world.katod("search", "zanzibar", check=False)
    assert "sessions saved from deletion are not searched, 1 of them: `katod rescue`" in done.stderr.decode()


def test_the_status_counts_them(world: World, lost: Claude) -> None:
    """And names the command."""
    assert "1 session safe from deletion: `katod rescue` lists them" in world.cli("status")
    assert world.status()["rescued"] == 1
    assert lost.session


def test_a_damaged_one_is_named_beside_the_list(world: World, lost: Claude) -> None:
    """It hides no other."""
    other = Claude(world, OTHER).say(user("more"), says("yes"))
    then = time.time() - 40 * DAY
    os.utime(other.path, (then, then))
    world.process()
    [place] = (world.home / ".local/share/katod/rescued/claude").glob(f"{lost.session}.zip")
    place.write_bytes(b"PK")
    assert OTHER in world.cli("rescue")
    assert f"{place}: the saved session is damaged" in world.said


def test_a_session_that_is_still_recorded_is_put_back_once_that_was_stopped(world: World) -> None:
    """The refusal names the command that helps, and blames no link."""
    world.configure(rescue=True)
    maker = Claude(world).say(user("before"), says("fine"), user("::start notes\nwords"), says("yes"))
    world.process()
    then = time.time() - 40 * DAY
    os.utime(maker.path, (then, then))
    world.process()
    maker.path.unlink()
    world.process()
    world.cli("rescue", "--restore", maker.session, code=1)
    assert f"is still being recorded: `katod stop {maker.session}` ends that" in world.said
    assert "link" not in world.said
    assert not maker.path.exists()
    world.cli("stop", maker.session)
    assert str(maker.path) in world.cli("rescue", "--restore", maker.session)
