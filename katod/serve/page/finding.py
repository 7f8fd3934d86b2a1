"""A search for people: in what was said, with the sessions that it was said in."""

import asyncio
import shlex
import time
from contextlib import suppress
from typing import Final

from katod.formats.ownlines import SIGN
from katod.search.query import Query
from katod.search.run import Match, Search, ShownHit, Terms
from katod.serve.hub import Hub
from katod.serve.known import Known
from katod.serve.page.findview import MOST_FOUND
from katod.serve.page.index import Index
from katod.serve.worker import Busy

LONGEST: Final = 500  # characters of a query
_EACH: Final = 3  # hits of each kind in a session,
_EACH_OF_ONE: Final = 200  # and if only that one is searched
_WIDTH: Final = 240
_QUIET: Final = 60.0  # seconds


def words_of(query: str) -> list[str]:
    """Return the words of a query; those in quotes stand together."""
    try:
        words = shlex.split(query[:LONGEST])
    except ValueError:  # a quote is open
        words = query[:LONGEST].split()
    return [word for word in words if word.strip()]


class Finder:
    """Searches, and from the first search on indexes what is recorded. For the event loop."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._index = Index()
        hub.searching.at_end(self._index.close)
        self._indexing: asyncio.Task[None] | None = None

    async def find(self, words: list[str]) -> list[tuple[Known, Match]]:
        """Return the sessions that have all words, those with the newest hits first. Raises LedgerError, Busy."""
        known = await self._hub.reading.run(lambda: [one for one in self._hub.shelf.all().values() if one.paths])
        matches = await self._hub.searching.run(lambda: self._matches(words, known))
        self._take([one for one in known if one.number])
        return [(match.place, match) for match in matches if isinstance(match.place, Known)]

    async def find_in(self, words: list[str], one: Known) -> list[ShownHit]:
        """Return the hits in one session, newest first. Raises Busy."""
        terms = Terms(most=1, each=_EACH_OF_ONE, width=_WIDTH)
        matches = await self._hub.searching.run(lambda: Search(Query(words), terms).run([one]))
        return [hit for match in matches for hit in match.hits]

    def _matches(self, words: list[str], places: list[Known]) -> list[Match]:
        terms = Terms(most=MOST_FOUND, each=_EACH, width=_WIDTH)
        return Search(Query(words), terms).run(self._index.narrowed(words, places))

    def _take(self, places: list[Known]) -> None:
        """Have the index take up sessions, unless it does already; those that still change have to wait."""
        if self._indexing is None or self._indexing.done():
            quiet = [place for place in places if time.time() - place.changed_ns / 1e9 >= _QUIET]
            self._indexing = asyncio.get_running_loop().create_task(self._index_all(quiet))

    async def _index_all(self, places: list[Known]) -> None:
        with suppress(Busy):
            async for _ in self._hub.searching.stream(self._index.take(places)):
                pass


def telling(match: Match) -> list[ShownHit]:
    """Return the hits that are shown, newest first: what tools were given and returned only if little was said."""
    said = [hit for hit in match.hits if SIGN not in hit.speaker]
    others = [hit for hit in match.hits if SIGN in hit.speaker][: max(0, _EACH - len(said))]
    return [hit for hit in match.hits if hit in said or hit in others]
