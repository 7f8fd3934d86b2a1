"""A thread that reads for the event loop: short jobs, one after the other, so that long readings take turns."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import Any, Final, TypeVar

T = TypeVar("T")
_MOST: Final = 256  # jobs that wait
_SLICE: Final = 0.02  # seconds that one job of a long reading takes
_AT_ONCE: Final = 64  # items that are handed over together, at most


class Busy(Exception):
    """Too many jobs wait: try again later."""


class WorkerThread:
    """One thread with a queue. It ends with the process, whatever it is doing then."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def close(self) -> None:
        """End the thread after the jobs that wait."""
        self._jobs.put(None)

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job in the thread: returns its result, raises its error. Raises Busy if too many jobs wait.

        If the caller is cancelled before the job's turn, it is not run.
        """
        if self._jobs.qsize() >= _MOST:
            raise Busy
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            if future.cancelled():  # nobody waits for it any more
                return
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001 - raised where it was asked for
                _call_in(loop, _fail, future, error)
            else:
                _call_in(loop, _finish, future, result)

        self._jobs.put(work)
        return await future

    async def stream(self, items: Iterator[T], at_once: int = _AT_ONCE) -> AsyncGenerator[list[T], None]:
        """Yield the items of an iterator, some at a time, `at_once` at most; other jobs have their turn in between."""
        try:
            is_over = False
            while not is_over:
                some, is_over = await self.run(lambda: _take(items, at_once))
                if some:
                    yield some
        finally:
            self._end(items)

    async def last(self, steps: Iterator[T | None]) -> T | None:
        """Return the first of the items that is not None, None if there is none.

        Other jobs have their turn at each None before it, once a short time is over.
        """
        try:
            while True:
                item, is_over = await self.run(lambda: _advance(steps))
                if is_over:
                    return item
        finally:
            self._end(steps)

    def _end(self, items: Iterator[Any]) -> None:
        """Close an iterator in the thread, in which it may have opened files."""
        close = getattr(items, "close", None)
        if close is not None:
            self._jobs.put(partial(_close, close))

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _take(items: Iterator[T], at_once: int) -> tuple[list[T], bool]:
    """Return the items that come within a short time, and whether there are no more."""
    until, taken = time.monotonic() + _SLICE, list[T]()
    for item in islice(items, at_once):
        taken.append(item)
        if time.monotonic() > until:
            return taken, False
    return taken, len(taken) < at_once


def _advance(steps: Iterator[T | None]) -> tuple[T | None, bool]:
    """Return the first item that is not None, if it comes within a short time, and whether it came or nothing will."""
    until = time.monotonic() + _SLICE
    for item in steps:
        if item is not None:
            return item, True
        if time.monotonic() > until:
            return None, False
    return None, True


def _close(close: Callable[[], None]) -> None:
    with suppress(Exception):  # no caller is left
        close()


def _call_in(loop: asyncio.AbstractEventLoop, what: Callable[..., None], *arguments: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(what, *arguments)


def _finish(future: "asyncio.Future[T]", result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if isinstance(error, StopIteration):  # a future takes no such
        error = RuntimeError("a job ended an iterator")
    if not future.done():
        future.set_exception(error)
