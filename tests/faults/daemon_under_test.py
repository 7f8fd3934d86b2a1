"""`katod run` that shows its current window in one byte of a shared file and is otherwise unchanged.

Usage: `python daemon_under_test.py WINDOW LOCK`. The file's second byte says whether the disk of the outputs is full.
Each window is prolonged a little, and an append is written in
pieces with pauses between them, so that a kill can hit any point. The kernel never interleaves two appends; here
the lock file provides this guarantee.
"""

import errno
import fcntl
import mmap
import os
import random
import sys
import time
from contextlib import contextmanager

from katod import durable
from katod.cli import main
from katod.discover.watch import Hints
from katod.store.ledger import Ledger
from katod.tail.reader import SourceFile
from katod.write import output

STARTING, READING, COMMITTED, INSIDE, APPENDED, IDLE = b"srcia."
NAMES = {
    STARTING: "at its start",
    READING: "while it read",
    COMMITTED: "between commit and append",
    INSIDE: "within an append",
    APPENDED: "before its sync",
    IDLE: "at rest",
}
PAUSE = 0.0004


class Window:
    """The byte through which the daemon shows its window to the test."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self._byte = mmap.mmap(file.fileno(), 2)

    def show(self, value, pause=PAUSE):
        self._byte[0] = value
        if pause:
            time.sleep(pause)

    @property
    def now(self):
        return self._byte[0]

    @property
    def full(self):
        return self._byte[1] != 0


class Pieces:
    """The durable calls of the output module, with a `write` that splits its data into pieces."""

    def __init__(self, window, lock):
        self._window, self._lock = window, lock

    def __getattr__(self, name):
        return getattr(durable, name)

    def write(self, fd, data):
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._window.show(INSIDE)
        bounds = sorted(random.randrange(len(data) + 1) for _ in range(random.randint(0, 5)))
        at = 0
        for end in bounds if self._window.full else [*bounds, len(data)]:
            while at < end:
                at += os.write(fd, data[at:end])
            time.sleep(PAUSE)
        self._window.show(APPENDED, 0)
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        if self._window.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(data)

    def sync(self, fd):
        self._window.show(APPENDED)
        durable.sync(fd)
        self._window.show(IDLE, 0)


def show_windows(window, lock):
    """Wrap the functions that delimit the windows."""
    read, transaction, save = SourceFile.read, Ledger.transaction, Ledger.save_output
    wait = Hints.wait
    staged = []

    def shown_read(*arguments):
        window.show(READING)
        return read(*arguments)

    def shown_save(ledger, row):
        stored = save(ledger, row)
        if row.intent is not None:
            staged.append(row)
        return stored

    @contextmanager
    def shown_transaction(ledger):
        staged.clear()
        with transaction(ledger):
            yield
        window.show(COMMITTED if staged else IDLE, PAUSE if staged else 0)

    def shown_wait(hints, timeout):
        window.show(IDLE, 0)
        wait(hints, timeout)

    SourceFile.read, Ledger.transaction, Ledger.save_output = shown_read, shown_transaction, shown_save
    output.durable, Hints.wait = Pieces(window, lock), shown_wait


if __name__ == "__main__":
    shown, locked = sys.argv[1:]
    show_windows(Window(shown), os.open(locked, os.O_RDWR | os.O_CLOEXEC))
    sys.argv[1:] = ["run"]
    main()
