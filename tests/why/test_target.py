"""What is asked about."""

import os

import pytest

from katod.edits.edits import Cause, Edit
from katod.errors import SelectionError
from katod.model import SessionKey
from katod.why.places import FilePlaces
from katod.why.target import LineRange, file_in_commit, file_on_disk, parse_target
from tests.looping import each
from tests.why.test_git import folder, git

__all__ = ["folder"]


@each("text, path, lines", [
    ("a.py", "a.py", LineRange()), ("a.py:3", "a.py", LineRange(3, 3)), ("a.py:3-7", "a.py", LineRange(3, 7)),
    ("a.py:7-3", "a.py", LineRange(3, 7)), ("C:\\x", "C:\\x", LineRange()), ("a:b:2", "a:b", LineRange(2, 2)),
])  # fmt: skip
def test_lines_follow_the_name_of_a_file(text, path, lines):
    """One, or the first and the last of several."""
    assert parse_target(text) == (type(parse_target(text)[0])(path), lines)


def test_a_file_may_be_called_like_lines_of_another(tmp_path, monkeypatch):
    """Then it is meant."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py:3").touch()
    assert parse_target("a.py:3")[1] == LineRange()


def test_lines_that_a_file_does_not_have_are_refused():
    """Of a range, those that it has are shown."""
    assert list(LineRange(2, 9).of(3)) == [2, 3]
    assert list(LineRange().of(0)) == []
    with pytest.raises(SelectionError, match="has only 3 lines"):
        LineRange(4, 9).of(3)
    with pytest.raises(SelectionError, match="counted from 1"):
        parse_target("a.py:0")
    with pytest.raises(SelectionError, match="is empty"):
        LineRange(1, 1).of(0)


def test_a_file_is_found_where_other_clones_and_work_trees_have_it(folder, tmp_path):
    """Under each of its names, and through links to its folder."""
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "link").symlink_to(folder / "src")
    file = file_on_disk(tmp_path / "link" / "größe.py")
    assert file.name == "src/größe.py"
    assert {f"{folder}/src/old.py", f"{tmp_path}/tree/src/größe.py"} <= file.places
    assert file.places_elsewhere == {"a folder/src/old.py", "a folder/src/größe.py"}


def test_a_link_is_asked_about_as_what_it_links_to(folder):
    """Its own content in the repository is a path."""
    (folder / "link.py").symlink_to("src/größe.py")
    file = file_on_disk(folder / "link.py")
    assert (file.name, len(file.versions), file.path) == ("src/größe.py", 2, folder / "link.py")


def test_a_project_of_the_same_name_on_this_machine_is_another_one(folder, tmp_path):
    """A session that works elsewhere here edits other files; one of another machine may edit this one."""
    (tmp_path / "work" / "a folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    asked = FilePlaces([file_on_disk(folder / "src" / "größe.py")])
    cases = {"/home/else/a folder": [0], str(tmp_path / "link"): [0], str(tmp_path / "work" / "a folder"): [], "": [0]}
    for cwd, found in cases.items():
        assert asked.of(["x/a folder/src/größe.py", "a folder/src/größe.py"], cwd) == found, cwd
    assert asked.of([f"{folder}/src/größe.py"], "/") == [0]


def test_a_commit_has_a_file_as_it_was_and_edits_until_then(folder):
    """Later ones wrote nothing of it."""
    file = file_in_commit(
        file_on_disk(folder / "src" / "größe.py").repository, "src/old.py", git(folder, "rev-parse", "HEAD~1")
    )
    assert file.lines[-1] == "and a third"

    def edit(time):
        return Edit(Cause(SessionKey("claude", "s"), "c", "", "", time), ())

    assert file.may_have(edit("2025-12-31T00:00:00Z"))
    assert not file.may_have(edit("2026-01-02T00:00:00Z"))


def test_what_cannot_be_read_is_refused(tmp_path):
    """With what is wrong with it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin").write_bytes("schön\n".encode("latin-1"))
    assert file_on_disk(tmp_path / "latin").lines == ["sch\ufffdn"]
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(SelectionError, match="is not a file"):
            file_on_disk(path)
