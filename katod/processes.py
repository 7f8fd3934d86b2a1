"""Does independent pieces of work in other processes of this program, and gives back what came of them in order.

POSIX. A process is forked, so that the work needs no copy of what it reads. What comes back of a piece is a value and,
if it is large, an open file without a name: nothing is left on the disk, whoever is killed.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle, send_handle
from typing import IO, Any, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
_AHEAD: Final = 4  # pieces for each process that may be done before their turn: what comes of them takes room


class Done(NamedTuple, Generic[T]):
    """What came of a piece of work; whoever takes it closes the file."""

    value: T
    file: IO[bytes] | None = None


Work = Callable[[int], Done[T] | None]


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OrderedWork(Generic[T]):
    """Pieces of work that other processes do, numbered from 0."""

    def __init__(self, work: Work[T], total: int, processes: int) -> None:
        self._total = total
        self._next = 0
        self._at_most = _AHEAD * processes
        self._done: dict[int, Done[T] | None] = {}
        self._idle: list[Connection] = []
        self._busy: dict[Connection, int] = {}
        self._processes: list[Any] = []
        context = get_context("fork")
        for _ in range(processes):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(work, there, [here, *self._idle]), daemon=True)
            process.start()
            there.close()
            self._idle.append(here)
            self._processes.append(process)

    def result(self, number: int) -> Done[T] | None:
        """Return what came of a piece; None if it is to be done here. They are asked for in order, once each."""
        self._hand_out(number)
        while number not in self._done:
            if not self._busy:
                return None
            for connection in wait(list(self._busy)):
                self._take(connection)  # type: ignore[arg-type]
            self._hand_out(number)
        return self._done.pop(number)

    def _hand_out(self, number: int) -> None:
        while self._idle and self._next < min(self._total, number + self._at_most):
            connection, piece = self._idle.pop(), self._next
            self._next += 1
            self._busy[connection] = piece
            with suppress(OSError):  # it is gone, which is seen when its answer is read
                connection.send(piece)

    def _take(self, connection: Connection) -> None:
        """Take the answer of a process. One that was killed, or has no more memory, gets no further work."""
        number = self._busy.pop(connection)
        try:
            value, has_file = connection.recv()
            file = os.fdopen(recv_handle(connection), "rb") if has_file else None
        except (EOFError, OSError):
            self._done[number] = None
            return
        self._done[number] = Done(value[0], file) if value else None
        self._idle.append(connection)

    def close(self) -> None:
        """End the processes."""
        for done in self._done.values():
            if done is not None and done.file is not None:
                done.file.close()
        for connection in (*self._idle, *self._busy):
            connection.close()
        for process in self._processes:
            process.terminate()
            process.join()


@contextmanager
def done_elsewhere(work: Work[T], total: int, *, is_worth_it: bool) -> Iterator[Callable[[int], Done[T] | None]]:
    """Yield what returns what came of each piece, as `OrderedWork.result` does: always None if there is one processor.

    To be entered while this process has one thread.
    """
    processes = min(cores(), total) if is_worth_it else 1
    if processes < 2 or current_process().daemon:  # such a one may have no others
        yield lambda _: None
        return
    pool = OrderedWork(work, total, processes)
    try:
        yield pool.result
    finally:
        pool.close()


def _serve(work: Work[T], connection: Connection, others: list[Connection]) -> None:
    """Do pieces of work until nobody asks for more. What fails here will be done, and fail, in the first process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    for other in others:  # so that this one sees when the first process is gone
        other.close()
    with suppress(EOFError, OSError):
        while True:
            number = connection.recv()
            try:
                done = work(number)
            except Exception:  # noqa: BLE001 - whatever it is, the first process will meet it
                done = None
            _answer(connection, done)


def _answer(connection: Connection, done: Done[T] | None) -> None:
    if done is None:
        connection.send(((), False))
        return
    connection.send(((done.value,), done.file is not None))
    if done.file is not None:
        with done.file:
            send_handle(connection, done.file.fileno(), None)
