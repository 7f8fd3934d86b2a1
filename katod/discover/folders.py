"""Which folders a sweep need not read: no entry came or went in them, and no file in them changed for a day.

The time of change of a folder says whether an entry was created, renamed or deleted in it, or its permissions changed.
Only an append to an old file does not show there: the watcher reports that, and a deep sweep reads every folder.
"""

import os
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

COLD_AFTER_NS: Final = 86_400 * 1_000_000_000
# Times of change come from a coarse clock: an entry created just after a folder was read may leave its time as it is.
_SETTLED_NS: Final = 20_000_000

Stamp = tuple[int, int, int]  # device, inode and time of change (ns) of a folder


class _Folder(NamedTuple):
    """A folder as it was last read."""

    stamp: Stamp
    below: tuple[str, ...]  # the paths of its subfolders
    newest_ns: int  # the latest change of a file in it


class Folders:
    """The folders as they were last read, by path."""

    def __init__(self) -> None:
        self._read: dict[str, _Folder] = {}

    def look(self, *, deep: bool) -> "FolderLook":
        """Begin a sweep; a `deep` one passes over nothing."""
        return FolderLook(self._read, deep=deep)


class FolderLook:
    """One sweep's use of what is known of the folders."""

    def __init__(self, read: dict[str, _Folder], *, deep: bool) -> None:
        self._read = read
        self._deep = deep
        self._now = time.time_ns()
        self._stamps: dict[str, Stamp | None] = {}  # of the folders that are read, from before that
        self._passed: set[str] = set()
        self.has_changed = deep  # whether an entry may have come or gone anywhere

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
        stamp = self._stamps.pop(folder)
        if is_whole and stamp is not None and self._now - stamp[2] > _SETTLED_NS:
            self._read[folder] = _Folder(stamp, tuple(below), max(changed_ns, default=0))
        else:
            self._read.pop(folder, None)

    def has_passed(self, path: str) -> bool:
        """Return whether the folder of a file was not read."""
        return os.path.dirname(path) in self._passed


def _stamp(folder: str) -> Stamp | None:
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns
