"""The seam through which katod changes the disk, where it can be killed and where the disk can be full."""

import errno
import os
import sys
from contextlib import contextmanager
from unittest import mock

from katod import durable
from katod.store.ledger import Ledger

CHANGING = frozenset(
    {"open", "write", "pwrite", "ftruncate", "fsync", "fdatasync", "rename", "link", "unlink", "mkdir", "rmdir"}
)


class Killed(BaseException):
    """katod is dead: nothing that it still does may have an effect."""


class Seam:
    """The durable calls and the transactions of a katod in this process, which dies at a given one of them."""

    def __init__(self):
        self.full = ""  # `all`: the disk takes nothing; `outputs`: that of the outputs does not
        self.calls = 0
        self._dies_at = None
        self._dead = self._tears = False

    def kill_at(self, number, *, tears=False):
        """Let katod die at a call from now on, counted from 1; with `tears`, when half of its data is written."""
        self._dies_at, self._tears = self.calls + number, tears

    def revive(self):
        """Let the next katod live."""
        self._dies_at, self._dead = None, False

    def _pass(self, act=None):
        """Pass one point at which katod may die, after some effect."""
        if self._dead:
            raise Killed
        self.calls += 1
        if self.calls == self._dies_at:
            self._dead = True
            if act is not None and self._tears:
                act()
            raise Killed

    def _call(self, name, real, given, named):
        half = None
        if name in ("write", "pwrite"):
            half = lambda: real(given[0], bytes(given[1])[: len(given[1]) // 2], *given[2:])  # noqa: E731
        self._pass(half)
        if name in ("open", "write", "pwrite", "mkdir") and self._is_full():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = real(*given, **named)
        try:
            self._pass()
        except Killed:
            if name == "open":
                os.close(done)
            raise
        return done

    def _is_full(self):
        """Return whether the disk takes nothing of whoever calls."""
        frame = sys._getframe() if self.full == "outputs" else None
        while frame is not None and frame.f_globals["__name__"] != "katod.write.output":
            frame = frame.f_back
        return self.full == "all" or frame is not None

    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in CHANGING:
            return real
        if name == "open":
            return lambda *given, **named: (
                self._call(name, real, given, named) if given[1] & os.O_CREAT else real(*given, **named)
            )
        return lambda *given, **named: self._call(name, real, given, named)

    @contextmanager
    def in_place(self):
        """Let everything go through it within the block."""
        real = Ledger.transaction

        @contextmanager
        def transaction(ledger):
            self._pass()
            with real(ledger):
                yield
                self._pass()
            self._pass()

        with mock.patch.object(durable, "os", self), mock.patch.object(Ledger, "transaction", transaction):
            yield self
