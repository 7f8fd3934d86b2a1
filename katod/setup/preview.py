"""Shows changes of files before they are made, and afterwards what was done. Pure."""

import difflib
from collections.abc import Iterable, Iterator
from typing import Final

from katod.setup.files import Change

_CONTEXT: Final = 2  # unchanged lines around a change


def preview(changes: Iterable[Change], *, whole: bool = False) -> str:
    """Return every change as lines that are added and removed; long files only by a note, unless `whole`."""
    return "\n".join(line for change in changes for line in _shown(change, whole=whole))


def done(change: Change) -> str:
    """Return what was done to a file."""
    return f"{_verb(change)}d {place(change)}"


def place(change: Change) -> str:
    """Return the path of a file, in one line whatever it contains."""
    path = str(change.path)
    return path if path.isprintable() else repr(path)


def _verb(change: Change) -> str:
    if change.after is None:
        return "remove"
    return "create" if change.before is None else "change"


def _shown(change: Change, *, whole: bool) -> Iterator[str]:
    note = f" ({change.note})" if change.note else ""
    yield f"{_verb(change)} {place(change)}{note}"
    if not note or (whole and _verb(change) == "create"):
        yield from (f"  {line}" for line in _compared(_lines(change.before), _lines(change.after)))


def _compared(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the lines that are removed and added, with some others around them, and "…" for those left out."""
    rows = list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT))[3:]  # without names and first numbers
    return ("…" if row.startswith("@@") else row for row in rows)


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
