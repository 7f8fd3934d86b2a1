"""When each changed source is stepped: at once, then coalesced; unreadable sources are retried with a backoff."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from katod import backoff
from katod.discover.source import Source

COALESCE: Final = 0.05  # seconds between two steps of one source: everything that arrives in between is one batch
RETRY_AFTER: Final = 2.0
LONGEST_RETRY: Final = 60.0
NOW: Final = float("inf")  # for `due`: everything, whenever it is due


class Schedule:
    """The sources waiting for a step."""

    def __init__(self) -> None:
        self._waiting: dict[Source, float] = {}  # when (monotonic) each is due, in the order in which they were queued
        self._stepped: dict[Source, float] = {}  # when each was last stepped, of those whose next step has to wait
        self._failures: dict[Source, int] = {}  # how many times in a row each could not be read

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def queue(self, sources: Iterable[Source]) -> None:
        """Queue sources to be stepped as soon as their pace allows."""
        for source in sources:
            pause = RETRY_AFTER if source in self._failures else COALESCE
            at = self._stepped.get(source, 0.0) + pause
            self._waiting[source] = min(at, self._waiting.get(source, NOW))

    def forget(self, sources: Iterable[Source]) -> None:
        """Step these sources no more."""
        for source in sources:
            for known in (self._waiting, self._stepped, self._failures):
                known.pop(source, None)

    def due(self, now: float) -> list[Source]:
        """Return the sources that are due."""
        return [source for source, at in self._waiting.items() if at <= now]

    def done(self, source: Source, now: float) -> None:
        """Note that a source was read to its end; an unreadable one is retried, unless only a change can help."""
        del self._waiting[source]
        self._note_step(source, now)
        if not source.problem or source.unusable or now == NOW:
            self._failures.pop(source, None)
            return
        failures = self._failures[source] = self._failures.get(source, 0) + 1
        self._waiting[source] = now + backoff.pause(failures, first=1.0, longest=LONGEST_RETRY)

    def _note_step(self, source: Source, now: float) -> None:
        """Remember when a source was stepped, and forget the steps that no longer delay the next one."""
        self._stepped.pop(source, None)
        if now == NOW:
            return
        for other in list(takewhile(lambda other: now - self._stepped[other] > RETRY_AFTER, self._stepped)):
            del self._stepped[other]
        self._stepped[source] = now

    def deadline(self) -> float:
        """Return when (monotonic) the next step is due."""
        return min(self._waiting.values(), default=NOW)
