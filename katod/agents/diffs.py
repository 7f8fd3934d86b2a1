"""Unified diffs, as clients keep them beside an edit: how many lines were added to and removed from each file. Pure."""

import re
from collections.abc import Iterator
from typing import Any, Final

_HUNK: Final = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_NOWHERE: Final = "/dev/null"


def structured(diff: str, path: str = "") -> dict[str, Any]:
    """Return the field `structured` of a result, empty if the diff has no hunks.

    `path` is the file's own path, for a diff of one file that names it in another way.
    """
    files = _files(diff)
    if path and len(files) == 1:
        files[0]["path"] = path
    return {"structured": {"files": files}} if files else {}


def _files(diff: str) -> list[dict[str, Any]]:
    """Return path, added and removed lines of each file."""
    files: list[dict[str, Any]] = []
    before, lines = "", iter(diff.split("\n"))
    for line in lines:
        if line.startswith("--- "):
            before = _name(line, "a/")
        elif line.startswith("+++ "):
            after = _name(line, "b/")
            files.append({"path": before if after == _NOWHERE else after, "added": 0, "removed": 0})
        elif files and (hunk := _HUNK.match(line)):
            _count(lines, files[-1], *(1 if length is None else int(length) for length in hunk.groups()))
    return [row for row in files if row["added"] + row["removed"]]


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
    name = header[4:].partition("\t")[0].strip()
    return name.removeprefix(prefix) if name != _NOWHERE else name
