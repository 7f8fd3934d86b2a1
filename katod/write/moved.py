"""Finds an output that a person renamed or moved: by its inode, or by what katod wrote last if only one file has it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod.errors import OutputError
from katod.model import signed
from katod.write.output import FileFingerprint, OutputPath, ends_as_known

_MOST_FILES: Final = 50_000  # of which the names are looked at
# What editors add to the name of the copy that they keep.
_COPIES: Final = ("~", ".bak", ".orig", ".tmp", ".swp")


def find_moved(
    place: OutputPath, known: FileFingerprint, intent: bytes, directories: list[OutputPath]
) -> OutputPath | None:
    """Return where an output is now, None if that cannot be determined.

    It is looked for in its own folder and below output directories (places without a file name). It keeps its suffix,
    is not hidden, is no copy that an editor keeps, and still has what katod wrote last; the open intent, or a part of
    it, may follow.
    """
    alike = {}
    for there, inode in _candidates(place, known, directories):
        ours = inode == known.ino
        if there.path != place.path and _is_it(there, known, intent, edited=ours):
            if ours:
                return there
            alike[there.path] = there
    return next(iter(alike.values())) if known.size and len(alike) == 1 else None


def _is_it(there: OutputPath, known: FileFingerprint, intent: bytes, *, edited: bool) -> bool:
    try:
        return ends_as_known(there, known, intent, edited=edited)
    except OutputError:
        return False


def _candidates(
    place: OutputPath, known: FileFingerprint, directories: list[OutputPath]
) -> Iterator[tuple[OutputPath, int]]:
    """Yield the files that may be the output, each with its inode as the ledger stores it."""
    for there in _files(place, directories):
        with suppress(OSError):
            status = os.lstat(there.path)
            inode = signed(status.st_ino)
            if inode == known.ino or status.st_size >= known.size:
                yield there, inode


def _files(place: OutputPath, directories: list[OutputPath]) -> Iterator[OutputPath]:
    """Yield the files in the output's folder, and below the output directories, that have its suffix."""
    own = place._replace(parts=place.parts[:-1])
    with suppress(OSError):
        yield from _named(own, own.path, os.listdir(own.path), place.path.suffix)
    left = _MOST_FILES
    for within in directories:
        for folder, below, names in os.walk(within.root):
            below[:] = sorted(name for name in below if not name.startswith("."))
            left -= len(names)
            if left < 0:
                return
            yield from _named(within, Path(folder), names, place.path.suffix)


def _named(within: OutputPath, folder: Path, names: list[str], suffix: str) -> Iterator[OutputPath]:
    for name in sorted(names):
        path = Path(name)
        if path.suffix == suffix and not name.startswith(".") and not path.stem.endswith(_COPIES):
            yield within._replace(parts=(*folder.relative_to(within.root).parts, name))
