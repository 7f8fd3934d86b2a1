"""The search of the page: the sessions with some words, and the messages with them, as HTML."""

import asyncio
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import quote_plus

from katod.formats.stream.bridge import event_uuid
from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.text.ownlines import SIGN
from katod.formats.text.when import When
from katod.search.query import Query
from katod.search.run import Match, Search, ShownHit, Terms
from katod.serve.feed.hub import Hub
from katod.serve.index.entry import SessionEntry
from katod.serve.page.frame import framed
from katod.serve.page.listview import list_row, moment, name_of, recording, where
from katod.serve.page.sessionlist import ListRow
from katod.serve.page.trigrams import TrigramIndex
from katod.serve.worker import Busy

MOST_FOUND: Final = 40  # sessions of one search
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


class SessionSearch:
    """Searches, and from the first search on indexes what is recorded. For the event loop."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._trigrams = TrigramIndex()
        hub.searching.at_end(self._trigrams.close)
        self._indexing: asyncio.Task[None] | None = None

    async def find(self, words: list[str]) -> list[tuple[SessionEntry, Match]]:
        """Return the sessions that have all words, those with the newest hits first. Raises LedgerError, Busy."""
        entries = await self._hub.reading.run(
            lambda: [entry for entry in self._hub.index.all().values() if entry.paths]
        )
        matches = await self._hub.searching.run(lambda: self._matches(words, entries))
        self._take([entry for entry in entries if entry.number])
        return [(match.place, match) for match in matches if isinstance(match.place, SessionEntry)]

    async def find_in(self, words: list[str], entry: SessionEntry) -> list[ShownHit]:
        """Return the hits in one session, newest first. Raises Busy."""
        terms = Terms(most=1, each=_EACH_OF_ONE, width=_WIDTH)
        matches = await self._hub.searching.run(lambda: Search(Query(words), terms).run([entry]))
        return [hit for match in matches for hit in match.hits]

    def _matches(self, words: list[str], entries: list[SessionEntry]) -> list[Match]:
        terms = Terms(most=MOST_FOUND, each=_EACH, width=_WIDTH)
        return Search(Query(words), terms).run(self._trigrams.narrowed(words, entries))

    def _take(self, entries: list[SessionEntry]) -> None:
        """Begin to index sessions, unless that goes on already; those that still change have to wait."""
        if self._indexing is None or self._indexing.done():
            quiet = [entry for entry in entries if time.time() - entry.changed_ns / 1e9 >= _QUIET]
            self._indexing = asyncio.get_running_loop().create_task(self._index_entries(quiet))

    async def _index_entries(self, entries: list[SessionEntry]) -> None:
        with suppress(Busy):
            async for _ in self._hub.searching.stream(self._trigrams.take(entries)):
                pass


def shown_hits(match: Match) -> list[ShownHit]:
    """Return the hits that are shown, newest first: those in calls and results only if there are few in messages."""
    spoken = [hit for hit in match.hits if SIGN not in hit.speaker]
    others = [hit for hit in match.hits if SIGN in hit.speaker][: max(0, _EACH - len(spoken))]
    return [hit for hit in match.hits if hit in spoken or hit in others]


# -- as HTML ----------------------------------------------------------------------------------------------


class SearchResult(NamedTuple):
    """One session with hits; `total`: how many there are."""

    row: ListRow
    hits: Sequence[ShownHit]
    total: int


class SearchQuery(NamedTuple):
    """What was searched: the query as it was typed, and its words."""

    query: str
    words: Sequence[str]


def find_page(
    asked: SearchQuery, named: Sequence[ListRow], results: Sequence[SearchResult], when: When, now: float
) -> Markup:
    """Return the page; without words, it asks for some. `named` are the sessions with the words in their names."""
    content = fill(
        "{}<h1>{}</h1>\n{}",
        _named(named, now), escape(_title(asked, results)),
        join(_result(result, asked, when, now) for result in results),
    )  # fmt: skip
    return framed(f"{asked.query or 'Search'} · katod", "find", content, asked.query)


def found_in_page(asked: SearchQuery, row: ListRow, hits: Sequence[ShownHit], when: When) -> Markup:
    """Return the page with the hits in one session."""
    count = f"{len(hits):,} {'hit' if len(hits) == 1 else 'hits'}" if hits else "Nothing"
    content = fill(
        '<h1>{}</h1>\n<p class="quiet">in <a href="/s/{}">{}</a> · <a href="{}">in all sessions</a></p>\n'
        '<article class="result"><ul>{}</ul></article>',
        escape(f"{count} for {asked.query}"), escape(row.name), escape(name_of(row)), _address(asked),
        join(_hit(row, hit, asked.words, when) for hit in hits),
    )  # fmt: skip
    return framed(f"{asked.query} · katod", "find", content, asked.query)


def _named(rows: Sequence[ListRow], now: float) -> Markup:
    if not rows:
        return NOTHING
    return fill(
        '<section class="group" aria-labelledby="h-named"><h2 id="h-named">In titles and projects</h2>'
        '<ul class="rows">{}</ul></section>\n',
        join(list_row(row, now) for row in rows),
    )


def _address(asked: SearchQuery) -> Markup:
    return fill("/find?q={}", escape(quote_plus(asked.query)))


def _title(asked: SearchQuery, results: Sequence[SearchResult]) -> str:
    query = asked.query
    if not asked.words:
        return "Search in all sessions"
    if not results:
        return f"Nothing found for {query}"
    latest = "The latest " if len(results) >= MOST_FOUND else ""
    return f"{latest}{len(results)} {'session' if len(results) == 1 else 'sessions'} with {query}"


def _result(result: SearchResult, asked: SearchQuery, when: When, now: float) -> Markup:
    row, left, more = result.row, result.total - len(result.hits), NOTHING
    if left > 0:
        more = fill(
            '<p class="quiet"><a href="{}&amp;in={}">{:,} more</a></p>', _address(asked), escape(row.name), left
        )
    return fill(
        '<article class="result"><h2><a href="/s/{name}">{title}</a></h2>'
        '<p class="where">{where} {recording} {moment}</p>\n<ul>{hits}</ul>{more}</article>\n',
        name=escape(row.name), title=escape(name_of(row)), where=where(row), recording=recording(row),
        moment=moment(row.since, now), hits=join(_hit(row, hit, asked.words, when) for hit in result.hits), more=more,
    )  # fmt: skip


def _hit(row: ListRow, hit: ShownHit, words: Sequence[str], when: When) -> Markup:
    speaker = join((escape(part) for part in (hit.speaker, when.stamp(hit.time, "")) if part), fill(" "))
    return fill(
        '<li><a href="/s/{}{}"><span class="quiet">{}</span> {}</a></li>',
        escape(row.name), escape(f"#{event_uuid(hit.event)}" if hit.event else ""), speaker,
        join(_marked(hit.snippet, words)),
    )  # fmt: skip


def _marked(snippet: str, words: Sequence[str]) -> Iterator[Markup]:
    """Yield a snippet with the words that were looked for marked."""
    longest_first = sorted(map(re.escape, words), key=len, reverse=True)
    at = 0
    for found in re.finditer("|".join(longest_first), snippet, re.IGNORECASE) if words else ():
        yield escape(snippet[at : found.start()])
        yield fill("<mark>{}</mark>", escape(found[0]))
        at = found.end()
    yield escape(snippet[at:])
