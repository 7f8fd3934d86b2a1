"""The search of the page: the sessions with some words, and the hits in each."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from katod.errors import LedgerError
from katod.formats.text.ownlines import SIGN
from katod.search.query import Query
from katod.search.run import Match, Search, ShownHit, Terms
from katod.serve.feed.hub import Hub
from katod.serve.index.entry import SessionEntry
from katod.serve.page.searchquery import MOST_FOUND, SearchQuery
from katod.serve.page.trigrams import TrigramIndex
from katod.serve.worker import Busy

_EACH: Final = 3  # hits of each kind in a session,
_EACH_OF_ONE: Final = 200  # and if only that one is searched
_WIDTH: Final = 240
_QUIET: Final = 60.0  # seconds


class SearchOutcome(NamedTuple):
    """What was found, and what could not be searched, each with the reason."""

    matches: list[Match]
    problems: list[str]

    @property
    def sessions(self) -> list[tuple[SessionEntry, Match]]:
        """The sessions with hits."""
        return [(match.place, match) for match in self.matches if isinstance(match.place, SessionEntry)]


class SessionSearch:
    """Searches, and from the first search on indexes what is recorded. For the event loop.

    Days are those of a time zone, of the machine's without a name.
    """

    def __init__(self, hub: Hub, zone: str = "") -> None:
        self._hub = hub
        self._zone = zone
        self._trigrams = TrigramIndex()
        self._indexing: asyncio.Task[None] | None = None

    async def find(self, asked: SearchQuery, wants: Callable[[SessionEntry], bool]) -> SearchOutcome:
        """Return the sessions that are wanted and have what is asked for, in its order. Raises LedgerError, Busy."""
        job = Search(asked.query, terms_of(asked, self._zone))
        entries = await self._hub.reading.last(self._wanted(wants)) or []
        narrowed = partial(self._trigrams.narrowed, asked.query.groups, entries)
        matches = await self._hub.searching.last(_steps(job, narrowed)) or []
        self._take([entry for entry in entries if entry.number])
        return SearchOutcome(matches, problems_of(job))

    async def find_in(self, query: Query, entry: SessionEntry) -> SearchOutcome:
        """Return the hits in one session, newest first. Raises Busy."""
        job = Search(query, Terms(each=_EACH_OF_ONE, width=_WIDTH, zone=self._zone))
        matches = await self._hub.searching.last(_steps(job, lambda: [entry])) or []
        return SearchOutcome(matches, problems_of(job))

    def _wanted(self, wants: Callable[[SessionEntry], bool]) -> Iterator[list[SessionEntry] | None]:
        """Yield None for each session, as deciding may read it, and at last those that are searched."""
        entries = list[SessionEntry]()
        for entry in list(self._hub.index.all().values()):
            if entry.paths and wants(entry):
                entries.append(entry)
            yield None
        yield entries

    def _take(self, entries: list[SessionEntry]) -> None:
        """Begin to index sessions, unless that goes on already; those that still change have to wait."""
        if self._indexing is None or self._indexing.done():
            quiet = [entry for entry in entries if time.time() - entry.changed_ns / 1e9 >= _QUIET]
            self._indexing = asyncio.get_running_loop().create_task(self._index_entries(quiet))

    async def _index_entries(self, entries: list[SessionEntry]) -> None:
        with suppress(Busy, LedgerError):
            keys = await self._hub.reading.run(lambda: {entry.key for entry in self._hub.index.all().values()})
            await self._hub.searching.run(lambda: self._trigrams.keep(keys))
            await self._hub.searching.last(self._trigrams.take(entries))


def _steps(job: Search, places: Callable[[], list[SessionEntry]]) -> Iterator[list[Match] | None]:
    yield from job.steps(job.possible(places()))


def problems_of(job: Search) -> list[str]:
    """Return what a search could not read, each with the reason."""
    return [f"{path}: {problem}" for path, problem in job.problems.items()]


def terms_of(asked: SearchQuery, zone: str) -> Terms:
    """Return what hits have to be like, and how many are wanted; days are those of a time zone."""
    return Terms(order=asked.order, most=MOST_FOUND, each=_EACH, width=_WIDTH, zone=zone)


def shown_hits(match: Match) -> list[ShownHit]:
    """Return the hits that are shown, as in the match: those in calls and results only if there are few in messages."""
    spoken = [hit for hit in match.hits if SIGN not in hit.speaker]
    others = [hit for hit in match.hits if SIGN in hit.speaker][: max(0, _EACH - len(spoken))]
    return [hit for hit in match.hits if hit in spoken or hit in others]
