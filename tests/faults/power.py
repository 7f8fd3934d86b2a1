"""A model of power loss: unsynced data may be on the disk, missing, or replaced by NUL bytes."""

import os
import shutil

from katod import durable
from katod.write import output
from tests.support.world import CUT

# What the disk may have kept of an append.
FATES = NOTHING, ALL, CUT_OFF, NUL, CUT_OFF_AND_NUL = (
    "nothing had reached the disk", "all had", "only a prefix had", "only NUL bytes had", "a prefix and NUL bytes had",
)  # fmt: skip


class Cut:
    """A power cut: in the append after `size` bytes (below 1: that fraction of it), or before or after its sync."""

    def __init__(self, number, when, size):
        self._number, self.when, self._size = number, when, size

    def on(self, disk):
        """Return a function that makes the process exit at the cut and reports each earlier sync to the disk."""

        def cut():
            written, sync = output._write, durable.sync
            left = self._number

            def write(fd, data, path):
                nonlocal left
                left -= 1
                if left == 0 and self.when == "inside":
                    os.write(fd, bytes(data)[: int(self._size if self._size >= 1 else self._size * len(data))])
                    os._exit(CUT)
                written(fd, data, path)
                disk.synced(path)
                if left == 0:
                    os._exit(CUT)

            def lost(fd):
                if left == 0 and self.when == "before":
                    os._exit(CUT)
                sync(fd)

            output._write, durable.sync = write, lost

        return cut


class Disk:
    """The outputs, and the synced content of each."""

    def __init__(self, folder):
        self._folder, self._safe = folder, folder.with_name("synced")
        self._safe.mkdir(exist_ok=True)
        for path in self._outputs():
            self.synced(path)

    def _outputs(self):
        return [path for path in self._folder.rglob("[!.]*") if path.is_file()]

    def synced(self, path):
        """Record that the current content of a file is safely on the disk."""
        shutil.copyfile(path, self._safe / path.name)

    def lose(self, choose):
        """Leave what a disk may have kept of the last run; `choose(low, high)` draws numbers. Yields the fates."""
        for path in self._outputs():
            kept, after = self._safe / path.name, path.read_bytes()
            before = kept.read_bytes() if kept.exists() else None
            if before != after:
                fate = FATES[choose(0, len(FATES) - 1)]
                _lose(path, before, after, fate, choose)
                yield fate


def _lose(path, before, after, fate, choose):
    """Apply a fate to a file; its earlier content is safe."""
    safe = common(before or b"", after)
    kept = choose(safe, len(after)) if fate in (CUT_OFF, CUT_OFF_AND_NUL) else safe
    nul = choose(0, len(after) - kept) if fate == CUT_OFF_AND_NUL else len(after) - kept
    if fate == NOTHING and before is None:
        path.unlink()
    elif fate == NOTHING:
        replace(path, before)
    elif fate == CUT_OFF:
        replace(path, after[:kept])
    elif fate != ALL:
        replace(path, after[:kept] + bytes(nul))


def common(left, right):
    """Return the length of the common prefix of two contents."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(left), len(right)))


def replace(path, content):
    """Replace a file's content in place, keeping its inode."""
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(content)
