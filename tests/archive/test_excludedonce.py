"""The projects of sessions that were excluded once."""

import pytest

from katod.archive.excludedonce import NAME, forget_excluded, note_excluded, projects_excluded
from katod.model import SessionKey
from tests.support.records import Antigravity, Claude, Gemini
from tests.support.records.base import says, user

SECRET = "/home/me/secret"
ONE, OTHER = SessionKey("gemini", "6f1c2c1e"), SessionKey("gemini", "7f1c2c1e")


def test_what_is_noted_is_known_until_it_is_forgotten(tmp_path):
    """A session goes with its sub-agents."""
    assert projects_excluded(tmp_path) == {}
    noted = {str(ONE): SECRET, str(OTHER): "/b", f"{ONE}/a1": "/c"}
    note_excluded(tmp_path, noted)
    note_excluded(tmp_path, {str(OTHER): "/b"})
    assert projects_excluded(tmp_path) == noted
    forget_excluded(tmp_path, [ONE])
    assert projects_excluded(tmp_path) == {str(OTHER): "/b"}


def test_a_damaged_file_is_replaced(tmp_path):
    """It says nothing."""
    for text in ("{", "[]", '{"gemini:1": 7}'):
        (tmp_path / NAME).write_text(text)
        assert projects_excluded(tmp_path) == {}
        forget_excluded(tmp_path, [ONE])
    note_excluded(tmp_path, {str(ONE): SECRET})
    assert projects_excluded(tmp_path) == {str(ONE): SECRET}


def lost_project(world, make):
    """Have an agent lose the project of a session that was excluded once."""
    make(world, cwd=SECRET).say(user("words"), says("answer"))
    world.configure(exclude=[SECRET])
    assert world.cli("export", "--all", "-o", str(world.home / "first")).startswith("excluded")
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
