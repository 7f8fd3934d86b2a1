"""The changes of a session, by file."""

import pytest

from katod.serve.page import changedfiles
from katod.serve.page.changedfiles import FileEdit, _by_file


def edit(path: str, event: str, lines: str) -> FileEdit:
    return FileEdit(path, event, "", 1, 0, lines)


def test_lines_are_kept_until_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """After that, only how many they were; each file is where it was changed first."""
    monkeypatch.setattr(changedfiles, "_MOST", 8)
    found = _by_file([edit("b", "1", "+1\n"), edit("a", "2", "+2\n"), edit("b", "3", "+3"), edit("a", "4", "+")])
    assert [(file.path, [(one.event, one.lines) for one in file.edits]) for file in found] == [
        ("b", [("1", "+1\n"), ("3", "")]), ("a", [("2", "+2\n"), ("4", "")]),
    ]  # fmt: skip
