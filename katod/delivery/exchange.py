"""What the daemon's loop and the sending thread pass to each other. Neither waits for the other.

The loop alone uses the ledger: it offers what is to be sent, answers what was sent already, and writes what is sent.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterable
from math import inf
from typing import Final, NamedTuple

from katod.model import SessionKey
from katod.record.follow import Limited
from katod.store.rows import DestinationRow, OutputRow

_WAKE_EVERY: Final = 0.25  # seconds: more often, the loop is not woken for what was sent


class OfferedRecording(NamedTuple):
    """A recording of which not all was sent, as it is in the ledger: nobody changes it.

    `row` has only the ranges that are delivered, and `last` is the number of the last one of these. The sources end
    where katod has read them; those of a recording that has ended do not.
    """

    session: int
    key: SessionKey
    row: OutputRow
    last: int
    sources: tuple[Limited, ...]

    @property
    def identity(self) -> Hashable:
        """What no other recording has: another one may have the numbers of one that was forgotten."""
        first = self.row.ranges[0]
        return self.session, self.key, self.row.id, self.row.path, first.start, first.start_time, first.mark_at

    def goes_on(self, before: "OfferedRecording") -> bool:
        """Return whether it is what was offered before, with no other ranges."""
        return self.identity == before.identity and len(self.row.ranges) == len(before.row.ranges)


class Sent(NamedTuple):
    """An event or a span was sent, or refused (without an id)."""

    recording: OfferedRecording
    txn: str
    event: str


class Uploaded(NamedTuple):
    """Content was uploaded beside what is sent, or refused (without an address)."""

    recording: OfferedRecording
    sha256: str
    address: str


class Progress(NamedTuple):
    """All of a recording was sent, or the rest cannot be (`problem`), or it can be again."""

    recording: OfferedRecording
    done: bool
    problem: str = ""


Report = Sent | Uploaded | Progress | DestinationRow


class SentQuery(NamedTuple):
    """Which of these lines, and which content, was sent already, and which line of the output last?"""

    session: int
    output: int
    txns: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()


class SentAlready(NamedTuple):
    """The answer: the server's ids by transaction, its addresses by hash, the transaction of the last line.

    `has_any`: whether the server ever took anything.
    """

    sent: dict[str, str]
    uploaded: dict[str, str]
    last: str = ""
    has_any: bool = False


class Stopping(Exception):
    """Not an error: katod ends, or its settings changed, and the thread is to end."""


class Withdrawn(Exception):
    """Not an error: a recording was forgotten, its project is excluded now, or it has another range."""


class Exchange:
    """Both ends; `wake` wakes the daemon's loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._changed = threading.Condition()
        self._wake = wake
        self._offered: dict[int, OfferedRecording] = {}
        self._reports: list[Report] = []
        self._asked: SentQuery | SentAlready | None = None  # the question, or its answer
        self._stopped = inf  # when the thread was told to end
        self._woken = -inf  # by a clock that may have begun a moment ago
        self.is_over = False  # whether the thread has ended

    # -- the loop's end -------------------------------------------------------------------------------

    def offer(self, recordings: dict[int, OfferedRecording]) -> None:
        """Replace what is to be sent, by the number of the output."""
        with self._changed:
            self._offered = recordings
            self._changed.notify_all()

    def take(self) -> tuple[list[Report], SentQuery | None]:
        """Return what happened since the last call, and the open question."""
        with self._changed:
            reports, self._reports = self._reports, []
            question = self._asked if isinstance(self._asked, SentQuery) else None
        return reports, question

    def answer(self, known: SentAlready) -> None:
        """Answer the question, after what was reported before it is in the ledger."""
        with self._changed:
            self._asked = known
            self._changed.notify_all()

    def stop(self) -> None:
        """Have the thread end after the request that it is making."""
        with self._changed:
            self._stopped = min(self._stopped, time.monotonic())
            self._changed.notify_all()

    @property
    def is_stopping(self) -> bool:
        """Whether the thread is to end."""
        return self._stopped < inf

    @property
    def stopped(self) -> float:
        """When (monotonic) the thread was told to end, infinity if it was not."""
        return self._stopped

    # -- the thread's end -----------------------------------------------------------------------------

    def offered(self) -> dict[int, OfferedRecording]:
        """Return the recordings that are to be sent, by the number of the output. Raises Stopping."""
        with self._changed:
            self._check()
            return self._offered

    def require(self, recording: OfferedRecording) -> None:
        """Make sure that a recording is still to be sent, before each request. Raises Withdrawn, Stopping."""
        found = self.offered().get(recording.row.id)
        if found is None or not found.goes_on(recording):
            raise Withdrawn

    def ask(self, question: SentQuery) -> SentAlready:
        """Wait for the answer to a question. Raises Stopping."""
        with self._changed:
            self._asked = question
            self._wake()
            while not isinstance(self._asked, SentAlready):
                self._check()
                self._changed.wait()
            return self._asked

    def report(self, reports: Iterable[Report], *, now: bool = False) -> None:
        """Tell what happened; the loop is woken `now`, or at times."""
        moment = time.monotonic()
        with self._changed:
            self._reports += reports
        if now or moment - self._woken >= _WAKE_EVERY:
            self._woken = moment
            self._wake()

    def wait(self, seen: dict[int, OfferedRecording], seconds: float) -> None:
        """Return once something else is offered than what was seen, or after some time. Raises Stopping."""
        self._wait(lambda: self._offered is not seen, seconds)

    def pause(self, seconds: float) -> None:
        """Return after some time. Raises Stopping."""
        self._wait(lambda: False, seconds)

    def end(self) -> None:
        """Tell that the thread ends; nothing follows."""
        self.is_over = True
        self._wake()

    def _wait(self, is_over: Callable[[], bool], seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self.is_stopping or is_over(), seconds)
            self._check()

    def _check(self) -> None:
        if self.is_stopping:
            raise Stopping
