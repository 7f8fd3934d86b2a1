"""Reports the progress of a delivery to the ledger and the log, each change once."""

from collections.abc import Collection
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final

from katod.backoff import pause
from katod.delivery.exchange import Exchange, OfferedRecording, Progress
from katod.delivery.reader import RecordingReader
from katod.errors import DeliveryError
from katod.log import EventLog
from katod.store.rows import DestinationRow

_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 300.0
_LEAST_WAIT: Final = 1.0  # seconds, whatever the server says
_CALM: Final = 60.0  # seconds without a failure, after which events count as not waiting although there are more
_SERIOUS: Final = 2  # failures in a row of one recording: the next try may just work


class ProgressReporter:
    """The state of a destination and of each recording, and what was reported of it; `kind` names the delivery."""

    def __init__(self, kind: str, destination: str, exchange: Exchange, log: EventLog) -> None:
        self._kind = kind
        self._destination = destination
        self._exchange = exchange
        self._log = log
        self._failures = 0
        self._failed_at = 0.0
        self._since = ""  # since when events wait
        self._problem = ""  # why they do
        self._noted: dict[int, tuple[int, bool, str]] = {}  # what was reported of each output last

    def started(self) -> None:
        """The server can be used; that something waits is over with the next that is sent."""
        if not self._since:
            self._log.delivery_started(self._kind, self._destination)
            self._exchange.report([DestinationRow(self._destination)], now=True)

    def sent(self) -> None:
        """Something was sent, or refused for good."""
        self._failures = 0
        if self._since and monotonic() - self._failed_at > _CALM:
            self._resume()

    def idle(self) -> None:
        """Nothing waits to be sent; what was sent last is written."""
        self._exchange.report((), now=True)
        if self._since:
            self._resume()

    def _resume(self) -> None:
        self._since = ""
        self._log.delivery_resumed(self._kind)
        self._exchange.report([DestinationRow(self._destination)], now=True)

    def wait(self, error: DeliveryError) -> float:
        """Return how long to wait after an error: as long as the server asks, but longer each time."""
        wait = pause(self._failures, first=_FIRST_RETRY, longest=_LONGEST_RETRY)
        if error.wait is not None:
            wait = max(error.wait, wait, _LEAST_WAIT)
        self._failures += 1
        self._failed_at = monotonic()
        if not self._since or self._problem != error.what:
            self._since, self._problem = self._since or _now(), error.what
            self._log.delivery_waits(self._kind, error.what, wait)
            self._exchange.report([DestinationRow(self._destination, self._since, error.what)], now=True)
        return wait

    def stop(self, problem: str) -> None:
        """Nothing is sent any more."""
        self._log.delivery_stopped(self._kind, problem)
        row = DestinationRow(self._destination, self._since or _now(), problem, stopped=True)
        self._exchange.report([row], now=True)

    def note(self, reader: RecordingReader[Any]) -> None:
        """Report, once, whether all of a recording was sent, and why the rest cannot be."""
        if self._is_new(reader.recording, done=reader.done, problem=reader.problem):
            if reader.done:
                self._log.delivery_completed(self._kind, reader.recording.row.id)
            elif reader.problem:
                self._log.delivery_incomplete(self._kind, reader.recording.row.id, reader.problem)
            self._exchange.report([Progress(reader.recording, reader.done, reader.problem)], now=True)

    def keep(self, offered: Collection[int]) -> None:
        """Forget what was reported of outputs that are no longer offered: if they are again, it is reported again."""
        self._noted = {output: noted for output, noted in self._noted.items() if output in offered}

    def postponed(self, recording: OfferedRecording, problem: str, wait: float, *, failures: int) -> None:
        """Something failed with one recording, so often in a row; the others are sent meanwhile."""
        self._log.delivery_postponed(self._kind, recording.row.id, problem, wait)
        if failures >= _SERIOUS and self._is_new(recording, done=False, problem=problem):
            self._exchange.report([Progress(recording, False, problem)], now=True)

    def _is_new(self, recording: OfferedRecording, *, done: bool, problem: str) -> bool:
        """Return whether this was not reported of a recording before: what an earlier katod reported may be over."""
        state = recording.last, done, problem
        is_new = state != self._noted.get(recording.row.id)
        self._noted[recording.row.id] = state
        return is_new


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
