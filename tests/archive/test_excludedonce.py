"""The projects of sessions that were excluded once."""

import pytest

from katod.archive.excludedonce import (
    NAME,
    forget_excluded,
    forgotten_excluded,
    note_excluded,
    projects_excluded,
    sessions_excluded,
)
from katod.cli import excluding
from katod.model import SessionKey
from tests.support.machines import Machine
from tests.support.records import Antigravity, Claude, Gemini
from tests.support.records.base import says, user

SECRET = "/home/me/secret"
ONE, OTHER, THIRD = (SessionKey("gemini", f"{number}f1c2c1e") for number in (6, 7, 8))


def test_what_is_noted_is_known_until_it_is_forgotten(tmp_path):
    """A session goes with its sub-agents."""
    assert projects_excluded(tmp_path) == {}
    noted = {str(ONE): SECRET, str(OTHER): "/b", f"{ONE}/a1": "/c"}
    note_excluded(tmp_path, noted)
    note_excluded(tmp_path, {str(OTHER): "/b"})
    assert projects_excluded(tmp_path) == noted
    assert set(sessions_excluded(tmp_path)) == {ONE, OTHER, ONE._replace(subagent="a1")}
    forget_excluded(tmp_path, [ONE])
    assert projects_excluded(tmp_path) == {str(OTHER): "/b"}


def test_of_what_is_forgotten_a_hash_says_that_it_was_excluded(tmp_path):
    """It names neither the session nor its project, and differs from state directory to state directory."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        note_excluded(tmp_path / folder, {str(ONE): SECRET, f"{ONE}/a1": SECRET})
        forget_excluded(tmp_path / folder, [ONE], [THIRD])
        note_excluded(tmp_path / folder, {str(OTHER): "/b"})
        forgotten = forgotten_excluded(tmp_path / folder)
        known = [key for key in (ONE, ONE._replace(subagent="a1"), THIRD, OTHER) if forgotten.has(key)]
        assert known == [ONE, ONE._replace(subagent="a1"), THIRD]
        text = (tmp_path / folder / NAME).read_text()
        assert not any(word in text for word in (ONE.id, THIRD.id, SECRET))
    assert forgotten_excluded(tmp_path / "a").hashes.isdisjoint(forgotten_excluded(tmp_path / "b").hashes)


def test_a_damaged_file_is_replaced(tmp_path):
    """It says nothing."""
    damaged = (
        '"forgotten": 7',
        '"forgotten": {"salt": "", "sessions": ["a"]}',
        '"forgotten": {"salt": "a", "sessions": 7}',
    )
    for text in ("{", "[]", '{"gemini:1": 7}', *(f"{{{row}}}" for row in damaged)):
        (tmp_path / NAME).write_text(text)
        assert projects_excluded(tmp_path) == {}
        assert not forgotten_excluded(tmp_path).has(ONE)
        forget_excluded(tmp_path, [ONE])
    note_excluded(tmp_path, {str(ONE): SECRET})
    assert projects_excluded(tmp_path) == {str(ONE): SECRET}


def lost_project(world, make):
    """Have an agent lose the project of a session that was excluded once."""
    make(world, cwd=SECRET).say(user("words"), says("answer"))
    world.configure(exclude=[SECRET])
    assert world.cli("export", "--all", "-o", str(world.home / "first")).startswith("excluded")
    lose(world)


def lose(world):
    for name in (".project_root", "history.jsonl"):
        for path in (world.home / ".gemini").rglob(name):
            path.unlink()


@pytest.mark.whole
@pytest.mark.parametrize("form", ["jsonl", "markdown", pytest.param("parquet", marks=pytest.mark.slow)])
def test_a_session_that_has_lost_its_excluded_project_is_not_exported(world, form):
    """Gemini CLI and Antigravity keep it in files of their own: then it seems to have none. Whatever is exported."""
    for make in (Gemini, Antigravity):
        lost_project(world, make)
        assert "wrote" not in world.cli("export", "--all", "-f", form, "-o", str(world.home / make.__name__))
    world.configure()
    assert world.cli("export", "--all", "-o", str(world.home / "last")) == "wrote 2\n"


@pytest.mark.whole
@pytest.mark.parametrize("form", ["jsonl", "markdown", pytest.param("parquet", marks=pytest.mark.slow)])
@pytest.mark.parametrize("place", ["first", "other"])
def test_a_session_that_is_excluded_after_its_export_and_has_lost_its_project_is_not_exported(world, form, place):
    """Not to the same directory in another format, nor to another one: the list of the first export has the project."""
    Gemini(world, cwd=SECRET).say(user("words"), says("answer"))
    assert world.cli("export", "--all", "-f", "html", "-o", str(world.home / "first")).startswith("wrote 1\n")
    world.configure(exclude=[SECRET])
    lose(world)
    for _ in range(2):
        assert world.cli("export", "--all", "-f", form, "-o", str(world.home / place)) == "excluded 1\n"
    assert list(projects_excluded(world.state).values()) == [SECRET]


def test_lists_are_read_for_the_project_of_a_session_only_if_it_is_written(world, monkeypatch):
    """They have all sessions of this machine, however few have changed."""
    one = Gemini(world, cwd="").say(user("words"), says("answer"))
    Claude(world).append({"type": "file-history-snapshot", "messageId": "m"})
    reads, original = [], excluding.own_lists
    monkeypatch.setattr(excluding, "own_lists", lambda *given: (reads.append(given), original(*given))[1])

    def export():
        reads.clear()
        return world.cli("export", "--all", "-o", str(world.home / "all")).strip(), len(reads)

    assert export() == ("wrote 1, empty 1", 1)
    assert export() == ("unchanged 1, empty 1", 0)
    one.say(user("more"))
    assert export() == ("updated 1, empty 1", 1)


@pytest.mark.whole
@pytest.mark.parametrize("by", ["an export", "a run"])
def test_a_session_that_is_forgotten_while_it_is_excluded_stays_so(world, by):
    """Although nothing says any more which project it had, once its agent has lost that."""
    made = Gemini(world, cwd=SECRET).say(user("words"), says("answer"))
    world.configure(exclude=[SECRET])
    world.cli("export", "--all", "-o", str(world.home / "first")) if by == "an export" else world.once()
    world.cli("forget", f"gemini:{made.session}", "--yes")
    assert SECRET not in (world.state / NAME).read_text()
    lose(world)
    for _ in range(2):
        assert world.cli("export", "--all", "-o", str(world.home / "other")) == "excluded 1\n"


def test_what_is_known_only_of_its_exclusion_can_be_forgotten(tmp_path):
    """Nothing is in a shared folder, and its agent has deleted it."""
    laptop = Machine("laptop", tmp_path)
    made = laptop.claude().say(user("words"), says("answer"))
    laptop.configure(exclude=["/home/me/*"])
    assert laptop.share() == "excluded 1\n"
    made.path.unlink()
    assert len(projects_excluded(laptop.state)) == 1
    laptop.cli("forget", made.session[:8], "--yes")
    assert projects_excluded(laptop.state) == {}


def test_a_session_that_had_no_project_is_exported(world):
    """Although others are excluded."""
    Gemini(world, cwd="").say(user("words"), says("answer"))
    Claude(world, cwd=SECRET).say(user("words"), says("answer"))
    world.configure(exclude=[SECRET])
    assert world.cli("export", "--all", "-o", str(world.home / "all")) == "wrote 1, excluded 1\n"


def test_its_project_is_forgotten_with_a_session(world):
    """Katod keeps no path of it."""
    lost_project(world, Gemini)
    [name] = projects_excluded(world.state)
    world.cli("forget", name, "--yes")
    assert projects_excluded(world.state) == {}
