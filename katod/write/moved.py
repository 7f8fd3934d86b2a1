"""Finds an output that the user renamed or moved: by its inode, or by what katod wrote last if only one file has it."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from katod.errors import OutputError
from katod.model import signed
from katod.write.output import FileFingerprint, OutputPath, ends_as_known

_MOST_FILES: Final = 50_000  # of which the names are looked at
# What editors add to the name of the copy that they keep.
_COPIES: Final = ("~", ".bak", ".orig", ".tmp", ".swp")


class Moved(NamedTuple):
    """Where an output is now. `is_sure` if it is the same file, not another one with the same last bytes."""

    place: OutputPath
    is_sure: bool


def find_moved(place: OutputPath, known: FileFingerprint, intent: bytes, directories: list[OutputPath]) -> Moved | None:
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
                return Moved(there, is_sure=True)
            alike[there.path] = there
    return Moved(next(iter(alike.values())), is_sure=False) if known.size and len(alike) == 1 else None


def is_at(place: OutputPath, inode: int) -> bool:
    """Return whether the file with this inode, as the ledger stores it, has the name of an output."""
    try:
        return signed(os.lstat(place.path).st_ino) == inode
    except OSError:
        return False


class MovedFiles:
    """Finds outputs that were moved by their inodes alone; each directory is listed once."""

    def __init__(self) -> None:
        self._listed: dict[OutputPath, dict[int, OutputPath]] = {}

    def find(self, place: OutputPath, known: FileFingerprint, intent: bytes, *, deep: bool) -> OutputPath | None:
        """Return where an output is now, in its folder, or if `deep`, below its root; None if it is not found."""
        there = self._inodes(place._replace(parts=() if deep else place.parts[:-1]), deep=deep).get(known.ino)
        if there is None or there.path == place.path or there.path.suffix != place.path.suffix:
            return None
        return there if _is_it(there, known, intent, edited=True) else None

    def _inodes(self, within: OutputPath, *, deep: bool) -> dict[int, OutputPath]:
        if within not in self._listed:
            self._listed[within] = found = {}
            for there in _below([within]) if deep else _in(within):
                with suppress(OSError):
                    found[signed(os.lstat(there.path).st_ino)] = there
        return self._listed[within]


def _is_it(there: OutputPath, known: FileFingerprint, intent: bytes, *, edited: bool) -> bool:
    try:
        return ends_as_known(there, known, intent, edited=edited)
    except OutputError:
        return False


def _candidates(
    place: OutputPath, known: FileFingerprint, directories: list[OutputPath]
) -> Iterator[tuple[OutputPath, int]]:
    """Yield the files that may be the output, each with its inode as the ledger stores it."""
    for there in (*_in(place._replace(parts=place.parts[:-1])), *_below(directories)):
        if there.path.suffix != place.path.suffix:
            continue
        with suppress(OSError):
            status = os.lstat(there.path)
            inode = signed(status.st_ino)
            if inode == known.ino or status.st_size >= known.size:
                yield there, inode


def _in(folder: OutputPath) -> Iterator[OutputPath]:
    """Yield the files in a folder."""
    with suppress(OSError):
        yield from _named(folder, folder.path, os.listdir(folder.path))


def _below(directories: Iterable[OutputPath]) -> Iterator[OutputPath]:
    """Yield the files below output directories."""
    left = _MOST_FILES
    for within in directories:
        for folder, below, names in os.walk(within.root):
            below[:] = sorted(name for name in below if not name.startswith("."))
            left -= len(names)
            if left < 0:
                return
            yield from _named(within, Path(folder), names)


def _named(within: OutputPath, folder: Path, names: list[str]) -> Iterator[OutputPath]:
    for name in sorted(names):
        if not name.startswith(".") and not Path(name).stem.endswith(_COPIES):
            yield within._replace(parts=(*folder.relative_to(within.root).parts, name))
