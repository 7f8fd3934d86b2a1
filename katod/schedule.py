"""When each changed source is stepped: at once, then coalesced; unreadable sources are retried with a backoff."""

from collections.abc import Iterable
from typing import Final

from katod import backoff
from katod.discover.catalog import Source

COALESCE: Final = 0.05  # seconds between two steps of one source: everything that arrives in between is one batch
RETRY_AFTER: Final = 2.0
LONGEST_RETRY: Final = 60.0
NOW: Final = float("inf")  # for `due`: everything, whenever it is due


class Schedule:
    """The sources waiting for a step."""

    def __init__(self) -> None:
        self._waiting: dict[Source, None] = {}  # in the order in which they were queued

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def queue(self, sources: Iterable[Source]) -> None:
        """Queue sources to be stepped as soon as their pace allows."""
        for source in sources:
            at = source.stepped + (RETRY_AFTER if source.failures else COALESCE)
            source.due = at if source.due is None else min(at, source.due)
            self._waiting[source] = None

    def forget(self, sources: Iterable[Source]) -> None:
        """Step these sources no more."""
        for source in sources:
            self._waiting.pop(source, None)

    def due(self, now: float) -> list[Source]:
        """Return the sources that are due."""
        return [source for source in self._waiting if source.due is None or source.due <= now]

    def done(self, source: Source, now: float) -> None:
        """Note that a source was read to its end; an unreadable one is retried, unless only a change can help."""
        del self._waiting[source]
        source.due, source.stepped = None, 0.0 if now == NOW else now
        if not source.problem or source.unusable or now == NOW:
            source.failures = 0
            return
        source.failures += 1
        source.due = now + backoff.pause(source.failures, first=1.0, longest=LONGEST_RETRY)
        self._waiting[source] = None

    def deadline(self) -> float:
        """Return when (monotonic) the next step is due."""
        return min((source.due or 0.0 for source in self._waiting), default=NOW)
