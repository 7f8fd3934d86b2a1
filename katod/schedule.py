"""When each changed source is stepped: at once, then coalesced; one that cannot be read after growing pauses."""

from collections.abc import Iterable
from typing import Final

from katod import backoff
from katod.discover.catalog import Source

COALESCE: Final = 0.05  # seconds between two steps of one source: what comes meanwhile is one batch
RETRY_AFTER: Final = 2.0
LONGEST_RETRY: Final = 60.0
NOW: Final = float("inf")  # for `due`: everything, whatever its time


class Schedule:
    """The sources that wait for a step."""

    def __init__(self) -> None:
        self._waiting: dict[Source, None] = {}  # in the order in which they were queued

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def queue(self, sources: Iterable[Source]) -> None:
        """Have sources stepped as soon as their pace allows."""
        for source in sources:
            at = source.stepped + (RETRY_AFTER if source.failures else COALESCE)
            source.due = at if source.due is None else min(at, source.due)
            self._waiting[source] = None

    def due(self, now: float) -> list[Source]:
        """Return the sources whose time has come."""
        return [source for source in self._waiting if source.due is None or source.due <= now]

    def done(self, source: Source, now: float) -> None:
        """Note that a source was stepped to its end; one that could not be read is looked at again, changed or not."""
        del self._waiting[source]
        source.due, source.stepped = None, 0.0 if now == NOW else now
        if not source.problem or now == NOW:
            source.failures = 0
            return
        source.failures += 1
        source.due = now + backoff.pause(source.failures, first=1.0, longest=LONGEST_RETRY)
        self._waiting[source] = None

    def deadline(self) -> float:
        """Return when (monotonic) the next step is due."""
        return min((source.due or 0.0 for source in self._waiting), default=NOW)
