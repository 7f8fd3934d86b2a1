"""Unified diffs, as clients keep them beside an edit: how many lines were added to and removed from each file. Pure."""

import re
from collections.abc import Iterator
from typing import Any, Final

_HUNK: Final = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_NOWHERE: Final = ("/dev/null", "dev/null")


def structured(diff: str, **known: str) -> dict[str, Any]:
    """Return the field `structured` of a result, empty if the diff has no hunks.

    `path` and `change` (`add`, `delete`, `update`) may be known better than from the diff, if it is of one file.
    """
    files = _files(diff)
    if len(files) == 1:
        files[0] |= {name: value for name, value in known.items() if value}
    return {"structured": {"files": files}} if files else {}


def _files(diff: str) -> list[dict[str, Any]]:
    """Return path, change, and numbers of added and removed lines of each file."""
    files: list[dict[str, Any]] = []
    before, lines = "", iter(diff.split("\n"))
    for line in lines:
        if line.startswith("--- "):
            before = _name(line, "a/")
        elif line.startswith("+++ "):
            files.append(_file(before, _name(line, "b/")))
        elif files and (hunk := _HUNK.match(line)):
            _count(lines, files[-1], *(1 if length is None else int(length) for length in hunk.groups()))
    return [row for row in files if row["added"] + row["removed"]]


def _file(before: str, after: str) -> dict[str, Any]:
    """Return a file without lines yet; the name of one side may say that the file is new or gone."""
    change = "delete" if after in _NOWHERE else "add" if before in _NOWHERE else "update"
    return {"path": before if change == "delete" else after, "change": change, "added": 0, "removed": 0}


def _count(lines: Iterator[str], row: dict[str, Any], old: int, new: int) -> None:
    """Count the lines of one hunk. Its lengths say where it ends: a line in it may look like a header."""
    while old > 0 or new > 0:
        line = next(lines, None)
        if line is None:
            return
        sign = line[:1]
        row["added"] += sign == "+"
        row["removed"] += sign == "-"
        old -= sign not in ("+", "\\")
        new -= sign not in ("-", "\\")


def _name(header: str, prefix: str) -> str:
    """Return the name in a header, without a prefix and without what follows a tab."""
    return header[4:].partition("\t")[0].strip().removeprefix(prefix)
