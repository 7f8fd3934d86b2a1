"""Notifies the event loop of files that may have changed: at once by hints, and every second without one."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from katod.agents import AGENTS
from katod.discover.roots import Root
from katod.discover.watch import Hints, Watcher, folders_of
from katod.log import EventLog

LOOK_EVERY: Final = 1.0  # seconds
_RENEW_EVERY: Final = 15.0
_PAUSE: Final = 0.02  # between two looks, however many hints there are
Notify = Callable[[set[str]], None]


class FileChanges:
    """A thread that waits for hints about the files below some roots. `close` ends it."""

    def __init__(self, roots: Iterable[Root], log: EventLog, *, watch: bool) -> None:
        self._roots = list(roots)
        self._hints = Hints({root.agent: AGENTS[root.agent] for root in self._roots}.values())
        self._watcher = Watcher(self._hints, log)
        self._watches = watch and self._watcher.start()
        self._is_over = threading.Event()

    def start(self, loop: asyncio.AbstractEventLoop, notify: Notify) -> None:
        """Have `notify` called in the loop, with the paths that changed, or none when it is time to look at all."""
        threading.Thread(target=self._wait, args=(loop, notify), name="katod-changes", daemon=True).start()

    def close(self) -> None:
        """Stop watching."""
        self._is_over.set()
        self._hints.wake()
        self._watcher.stop()

    def _wait(self, loop: asyncio.AbstractEventLoop, notify: Notify) -> None:
        renewed = looked = -_RENEW_EVERY
        while not self._is_over.is_set():
            now = time.monotonic()
            if self._watches and now - renewed >= _RENEW_EVERY:
                renewed = now
                self._watcher.renew(folders_of(self._roots))
            self._hints.wait(max(0.0, looked + LOOK_EVERY - now))
            paths, lost = self._hints.take()
            is_due = lost or time.monotonic() - looked >= LOOK_EVERY
            with suppress(RuntimeError):  # the loop is closed
                if paths:
                    loop.call_soon_threadsafe(notify, paths)
                if is_due:
                    looked = time.monotonic()
                    loop.call_soon_threadsafe(notify, set())
            time.sleep(_PAUSE)
