"""Unified diffs, as clients keep them beside an edit: how many lines each file gained and lost, and where. Pure."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

_HUNK: Final = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NOWHERE: Final = ("/dev/null", "dev/null")
_MOST_RANGES: Final = 200  # of one file


def structured(diff: str, **known: str) -> dict[str, Any]:
    """Return the field `structured` of a result, empty if the diff has no hunks.

    `path` and `change` (`add`, `delete`, `update`) may be known better than from the diff, if it is of one file.
    """
    files = _files(diff)
    if len(files) == 1:
        files[0] |= {name: value for name, value in known.items() if value}
    return {"structured": {"files": files}} if files else {}


def created(path: str, content: str) -> dict[str, Any]:
    """Return what is said of a file that was created with this content."""
    lines = content.count("\n") + (content[-1:] not in ("", "\n"))
    row: dict[str, Any] = {"path": path, "change": "add", "added": lines, "removed": 0}
    return row | ({"ranges": [[1, lines]]} if lines else {})


def ranges_of(diff: str) -> dict[str, Any]:
    """Return the field `ranges` of the only file of a diff, empty if no hunk says where it adds lines."""
    row: dict[str, Any] = {"added": 0, "removed": 0}
    lines = iter(diff.split("\n"))
    for line in lines:
        if hunk := _HUNK.match(line):
            _count(lines, row, hunk)
    return {"ranges": row["ranges"]} if "ranges" in row else {}


def count_lines(lines: Iterable[str], row: dict[str, Any], first: int | None) -> None:
    """Count the lines of a hunk, and add the ranges of those it adds if the number of its first line is known."""
    ranges, at = row.get("ranges", []), first or 0
    for line in lines:
        sign = line[:1]
        if sign == "+":
            row["added"] += 1
            if first is not None:
                extend(ranges, at)
        elif sign == "-":
            row["removed"] += 1
        at += sign not in ("-", "\\")
    if ranges:
        row["ranges"] = ranges


def extend(ranges: list[list[int]], at: int) -> None:
    """Add a line to the ranges of lines, which end before it; of too many ranges, the first ones are kept."""
    if ranges and ranges[-1][1] == at - 1:
        ranges[-1][1] = at
    elif len(ranges) < _MOST_RANGES:
        ranges.append([at, at])


def _files(diff: str) -> list[dict[str, Any]]:
    """Return path, change, numbers of added and removed lines, and ranges of the added ones, of each file."""
    files: list[dict[str, Any]] = []
    before, lines = "", iter(diff.split("\n"))
    for line in lines:
        if line.startswith("--- "):
            before = _name(line, "a/")
        elif line.startswith("+++ "):
            files.append(_file(before, _name(line, "b/")))
        elif files and (hunk := _HUNK.match(line)):
            _count(lines, files[-1], hunk)
    return [row for row in files if row["added"] + row["removed"]]


def _file(before: str, after: str) -> dict[str, Any]:
    """Return a file without lines yet; the name of one side may say that the file is new or gone."""
    change = "delete" if after in _NOWHERE else "add" if before in _NOWHERE else "update"
    return {"path": before if change == "delete" else after, "change": change, "added": 0, "removed": 0}


def _count(lines: Iterator[str], row: dict[str, Any], hunk: re.Match[str]) -> None:
    """Count the lines of one hunk. Its lengths say where it ends: a line in it may look like a header."""
    old, new = (1 if length is None else int(length) for length in hunk.group(1, 3))
    taken: list[str] = []
    while old > 0 or new > 0:
        line = next(lines, None)
        if line is None:
            break
        taken.append(line)
        old -= line[:1] not in ("+", "\\")
        new -= line[:1] not in ("-", "\\")
    count_lines(taken, row, int(hunk[2]))


def _name(header: str, prefix: str) -> str:
    """Return the name in a header, without a prefix and without what follows a tab."""
    return header[4:].partition("\t")[0].strip().removeprefix(prefix)
