"""Does independent pieces of work in other processes of this program, and gives back what came of them in order.

POSIX. A process is forked, so that the work needs no copy of what it reads. What comes back of a piece is a value and,
if it is large, an open file without a name: nothing is left on the disk, whoever is killed.
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle, send_handle
from pickle import PicklingError
from typing import IO, Any, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
_MOST: Final = 8  # processes
# What may be done before its turn, as what comes of it takes room: so many pieces for each process, of such a size.
_AHEAD: Final = 4
_ROOM: Final = 64_000_000
_PIECE: Final = 8_000_000  # bytes; to hand out a piece takes as long as to read some of them


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
    """Pieces of work that other processes do, numbered from 0, of these sizes in bytes."""

    def __init__(self, work: Work[T], sizes: Sequence[int], processes: int, held: Sequence[int] = ()) -> None:
        self._sizes = sizes
        self._held = held
        self._next = 0
        self._at_most = _AHEAD * processes
        self._done: dict[int, Done[T] | None] = {}
        self._idle: list[Connection] = []
        self._busy: dict[Connection, int] = {}
        self._processes: list[Any] = []
        with suppress(OSError):  # there are too many processes or files: those that began do what they can
            for _ in range(processes):
                self._begin(work)

    def _begin(self, work: Work[T]) -> None:
        context = get_context("fork")
        here, there = context.Pipe()
        with there:
            held = [*self._held, here.fileno(), *(other.fileno() for other in self._idle)]
            process = context.Process(target=_serve, args=(work, there, held), daemon=True)
            try:
                process.start()
            except OSError:
                here.close()
                raise
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
        while self._idle and self._may_be_next(number):
            connection, piece = self._idle.pop(), self._next
            self._next += 1
            self._busy[connection] = piece
            with suppress(OSError):  # it is gone, which is seen when its answer is read
                connection.send(piece)

    def _may_be_next(self, number: int) -> bool:
        """Return whether there is a next piece, and room for it and all that may wait for this one."""
        if self._next >= min(len(self._sizes), number + self._at_most):
            return False
        return self._next <= number or sum(self._sizes[number : self._next + 1]) <= _ROOM

    def _take(self, connection: Connection) -> None:
        """Take the answer of a process. One that was killed, or has no more memory, gets no further work."""
        number = self._busy.pop(connection)
        try:
            value, has_file = connection.recv()
            file = os.fdopen(recv_handle(connection), "rb") if has_file else None
        except (EOFError, OSError, RuntimeError):  # the last one: there are too many open files
            connection.close()
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
def done_elsewhere(
    work: Work[T], sizes: Sequence[int], least: int, held: Sequence[int] = ()
) -> Iterator[Callable[[int], Done[T] | None]]:
    """Yield what returns what came of each piece, as `OrderedWork.result` does; of work of so many bytes at least.

    Less of it is to be done here, and all of it if there is one processor. To be entered while this process has one
    thread; the work must not use a database that is open then. What is `held` by a lock (the descriptors) is not held
    by other processes.
    """
    processes = min(cores(), len(sizes), _MOST) if sum(sizes) >= least else 1
    if processes < 2 or current_process().daemon:  # such a one may have no others
        yield lambda _: None
        return
    pool = OrderedWork(work, sizes, processes, held)
    try:
        yield pool.result
    finally:
        pool.close()


@contextmanager
def each_elsewhere(work: Callable[[int], T], sizes: Sequence[int], least: int) -> Iterator[Callable[[int], T | None]]:
    """Yield what returns what came of each of very many pieces of work; None if that one is to be done here.

    It is as `done_elsewhere`, but several are done in one go. Their answers are small; they are asked for in order, but
    not all of them need be.
    """
    pieces = _pieces(sizes)
    of = [(number, place - piece.start) for number, piece in enumerate(pieces) for place in piece]
    totals = [sum(sizes[place] for place in piece) for piece in pieces]
    with done_elsewhere(lambda number: Done([work(place) for place in pieces[number]]), totals, least) as done:
        answers = cache(done)

        def answer(place: int) -> T | None:
            number, at = of[place]
            found = answers(number)
            return found.value[at] if found is not None else None

        yield answer


def _pieces(sizes: Sequence[int]) -> list[range]:
    """Return numbers from 0 in ranges that are large enough to be worth an answer."""
    pieces, begin, total = list[range](), 0, 0
    for number, size in enumerate(sizes):
        total += size
        if total >= _PIECE or number == len(sizes) - 1:
            pieces.append(range(begin, number + 1))
            begin, total = number + 1, 0
    return pieces


def _serve(work: Work[T], connection: Connection, held: Sequence[int]) -> None:
    """Do pieces of work until nobody asks for more. What fails here will be done, and fail, in the first process.

    This one is no reason why another program has to wait for a lock, and sees when the first process is gone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in held:
        os.dup2(nothing, number, inheritable=False)  # its number is not used for anything else
    with suppress(EOFError, OSError):
        while True:
            number = connection.recv()
            try:
                done = work(number)
            except Exception:  # noqa: BLE001 - whatever it is, the first process will meet it
                done = None
            try:
                _answer(connection, done)
            except (TypeError, AttributeError, PicklingError):  # nothing was sent yet
                _answer(connection, None)


def _answer(connection: Connection, done: Done[T] | None) -> None:
    if done is None:
        connection.send(((), False))
        return
    connection.send(((done.value,), done.file is not None))
    if done.file is not None:
        with done.file:
            send_handle(connection, done.file.fileno(), None)
