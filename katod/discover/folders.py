"""Which folders a sweep need not read: no entry came or went in them, and no file in them changed for a day.

The time of change of a folder says whether an entry was created, renamed or deleted in it, or its permissions changed.
Only an append to an old file does not show there: the watcher reports that, and a deep sweep reads every folder. Where
an append does not change a file in the folder at all, as of sessions in a tree of files, all sweeps are deep.
"""

import os
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

COLD_AFTER_NS: Final = 86_400 * 1_000_000_000
# Times of change come from a coarse clock, of whole seconds on some file systems: an entry created just after a folder
# was read may leave its time as it is.
_SETTLED_NS: Final = 2_000_000_000

Stamp = tuple[int, int, int]  # device, inode and time of change (ns) of a folder


class _Folder(NamedTuple):
    """A folder as it was last read."""

    stamp: Stamp
    below: tuple[str, ...]  # the paths of its subfolders
    newest_ns: int  # the latest change of a file in it


class Folders:
    """The folders of a root as they were last read, by path."""

    def __init__(self) -> None:
        self._read: dict[str, _Folder] = {}
        self._was_there = False

    def look(self, *, deep: bool, there: bool) -> "FolderLook":
        """Begin a sweep of the root, if it is there; a `deep` one passes over nothing."""
        look = FolderLook(self._read, deep=deep, has_changed=deep or there != self._was_there)
        self._was_there = there
        if not there:
            self._read.clear()
        return look

    def forget(self, folder: str) -> None:
        """Read a folder in the next sweep: a file in it has changed."""
        self._read.pop(folder, None)


class FolderLook:
    """One sweep's use of what is known of the folders."""

    def __init__(self, read: dict[str, _Folder], *, deep: bool, has_changed: bool) -> None:
        self._read = read
        self._deep = deep
        self._now = time.time_ns()
        self._stamps: dict[str, Stamp | None] = {}  # of the folders that are read, from before that
        self._passed: set[str] = set()
        self.has_changed = has_changed  # whether an entry may have come or gone anywhere

    def pass_over(self, folder: str) -> Sequence[str] | None:
        """Return the subfolders of a folder that need not be read, None if it has to be."""
        known, stamp = self._read.get(folder), _stamp(folder)
        if known is not None and known.stamp == stamp:
            if not self._deep and self._now - known.newest_ns > COLD_AFTER_NS:
                self._passed.add(folder)
                return known.below
        elif known is not None or stamp is not None:
            self.has_changed = True
        self._stamps[folder] = stamp
        return None

    def note(self, folder: str, below: Sequence[str], changed_ns: Sequence[int], *, is_whole: bool) -> None:
        """Note what was read of a folder, and when each of its files changed; all of it, if `is_whole`."""
        stamp, known = self._stamps.pop(folder), self._read.get(folder)
        for gone in set(known.below).difference(below) if known is not None else ():
            self._forget_all(gone)
        if is_whole and stamp is not None and self._now - stamp[2] > _SETTLED_NS:
            self._read[folder] = _Folder(stamp, tuple(below), max(changed_ns, default=0))
        else:
            self._read.pop(folder, None)

    def _forget_all(self, folder: str) -> None:
        """Forget a folder and all below it: if it comes back, each has to be read."""
        known = self._read.pop(folder, None)
        for below in known.below if known is not None else ():
            self._forget_all(below)

    def has_passed(self, path: str) -> bool:
        """Return whether the folder of a file was not read."""
        return os.path.dirname(path) in self._passed


def _stamp(folder: str) -> Stamp | None:
    """Return the stamp of a folder; one that an agent's sessions are in may be a link."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns
