"""A model of lost power: what was not synced to the disk may be there, or not, or be NUL bytes."""

import os
from pathlib import Path

from katod.write import output

from .world import CUT


class Cut:
    """The power goes out in an append: after `size` bytes of it, or with all of it before or behind the sync."""

    def __init__(self, number, when, size):
        self.number, self.when, self.size = number, when, size

    def __call__(self):
        """Have this process end there."""
        written = output._write
        output._sync, sync = self._sync, output._sync
        self._done = sync

        def write(fd, data, path):
            self.number -= 1
            if self.number == 0 and self.when == "inside":
                os.write(fd, bytes(data)[: self.size])
                os._exit(CUT)
            written(fd, data, path)

        output._write = write

    def _sync(self, fd):
        if self.number == 0 and self.when == "before":
            os._exit(CUT)
        self._done(fd)
        if self.number == 0:
            os._exit(CUT)


class Disk:
    """The outputs as they were when all was synced."""

    def __init__(self, folder):
        self._folder = folder
        self._before = self._now()

    def _now(self):
        return {path: path.read_bytes() for path in Path(self._folder).rglob("*") if path.is_file()}

    def lose(self, choose):
        """Leave of the last run what a disk may have kept; `choose(low, high)` draws numbers."""
        for path, after in self._now().items():
            before = self._before.get(path)
            if before == after:
                continue
            safe = len(os.path.commonprefix([before or b"", after]))
            fate = choose(0, 5)
            if fate == 0 and before is None:
                path.unlink()
            elif fate == 1 and before is not None:
                path.write_bytes(before)
            elif fate >= 2:
                kept = choose(safe, len(after))
                nul = choose(0, len(after) - kept) if fate >= 4 else 0
                replace(path, after[:kept] + bytes(nul))


def replace(path, content):
    """Give a file this content; it stays the same file."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(content)
