"""The search of the page as HTML. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from katod.formats.stream.bridge import event_uuid
from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.text.when import When
from katod.search.hittime import stamp
from katod.search.run import Order, ShownHit
from katod.serve.page.frame import closing, find_in, framed, moment, name_of, opening, recorded_mark, where
from katod.serve.page.listfilter import ListChoices
from katod.serve.page.listview import (
    ALL,
    OF_SESSIONS,
    ListView,
    chip,
    filters,
    list_row,
)
from katod.serve.page.searchquery import MOST_FOUND, SearchQuery
from katod.serve.page.sessionlist import ListRow

_MOST_PROBLEMS: Final = 5
_ORDERS: Final[dict[Order, str]] = {"said": "Messages first", "newest": "Newest first", "best": "Best first"}


class SearchResult(NamedTuple):
    """One session with hits; `total`: how many there are."""

    row: ListRow
    hits: Sequence[ShownHit]
    total: int


class SearchResults(NamedTuple):
    """What was found here: sessions with the words in their names, those with hits, and what was not searched."""

    named: Sequence[ListRow]
    results: Sequence[SearchResult]
    problems: Sequence[str] = ()


def find_head(
    asked: SearchQuery, there: ListChoices, found: SearchResults, when: When, now: float, *, is_all: bool = True
) -> Markup:
    """Return the page but for its end; without words, it asks for some.

    Unless that `is_all`, other machines are searched then.
    """
    results = found.results
    chosen = filters(ListView(asked.chosen, there), asked.address, OF_SESSIONS)
    return fill(
        '{}<main id="main">\n{}{}{}<h1>{}</h1>\n{}{}',
        opening(f"{asked.text or 'Search'} · katod", "find", asked.text),
        chosen, _orders(asked) if results else NOTHING, _named(found.named, now),
        escape(_title(asked, results, is_all=is_all)), problem_lines(found.problems),
        join(_result(result, asked, when, now) for result in results),
    )  # fmt: skip


def find_foot() -> Markup:
    """Return the end of the page."""
    return fill("</main>\n{}", closing())


def problem_lines(problems: Sequence[str]) -> Markup:
    """Return what was not searched or read, a line for each of the first ones, and how many there are more."""
    left = len(problems) - _MOST_PROBLEMS
    shown = [*problems[:_MOST_PROBLEMS], *([f"and {left:,} more"] if left > 0 else [])]
    return join(fill('<p class="failed">{}</p>\n', escape(problem)) for problem in shown)


def found_in_page(
    asked: SearchQuery, row: ListRow, hits: Sequence[ShownHit], when: When, problems: Sequence[str] = ()
) -> Markup:
    """Return the page with the hits in one session, and why it was not searched as a whole."""
    count = f"{len(hits):,} {'hit' if len(hits) == 1 else 'hits'}" if hits else "Nothing"
    content = fill(
        '<h1>{}</h1>\n<p class="quiet">in <a href="/s/{}">{}</a> · <a href="{}">in all sessions</a></p>\n{}\n{}'
        '<article class="result"><ul>{}</ul></article>',
        escape(f"{count} for {asked.text}" if asked.query.words else "Search in one session"),
        escape(row.name), escape(name_of(row)), escape(asked.address()), find_in(row.name, asked.text),
        problem_lines(problems), hit_rows(f"/s/{row.name}", hits, asked.query.words, when),
    )  # fmt: skip
    return framed(f"{asked.text} · katod", "find", content, asked.text)


def _orders(asked: SearchQuery) -> Markup:
    chips = (
        chip(asked.address(order=order), words, is_made=order == asked.order, sign="")
        for order, words in _ORDERS.items()
    )
    return fill('<p class="chips"><b>Sorted</b>{}</p>\n', join(chips))


def _named(rows: Sequence[ListRow], now: float) -> Markup:
    if not rows:
        return NOTHING
    return fill(
        '<section class="group" aria-labelledby="h-named"><h2 id="h-named">In titles and projects</h2>'
        '<ul class="rows">{}</ul></section>\n',
        join(list_row(row, now) for row in rows),
    )


def _title(asked: SearchQuery, results: Sequence[SearchResult], *, is_all: bool) -> str:
    if not asked.query.words:
        return "Search in all sessions"
    scope = "" if asked.chosen.is_empty else " in these sessions"
    if not results:
        return f"Nothing found for {asked.text}{scope if is_all else ' on this machine'}"
    first = "The first " if len(results) >= MOST_FOUND else ""
    return f"{first}{len(results)} {'session' if len(results) == 1 else 'sessions'} with {asked.text}"


def _result(result: SearchResult, asked: SearchQuery, when: When, now: float) -> Markup:
    row, left, more = result.row, result.total - len(result.hits), NOTHING
    if left > 0:
        within = escape(asked.address(ALL, within=row.name))
        more = fill('<p class="quiet"><a href="{}">{:,} more</a></p>', within, left)
    hits = hit_rows(f"/s/{row.name}", result.hits, asked.query.words, when)
    return fill(
        '<article class="result"><h2><a href="/s/{name}">{title}</a></h2>'
        '<p class="where">{where} {recording} {moment}</p>\n<ul>{hits}</ul>{more}</article>\n',
        name=escape(row.name), title=escape(name_of(row)), where=where(row), recording=recorded_mark(row),
        moment=moment(row.since, now), hits=hits, more=more,
    )  # fmt: skip


def hit_rows(address: str, hits: Sequence[ShownHit], words: Sequence[str], when: When) -> Markup:
    """Return the hits in the session at an address, each as an item of a list."""
    return join(_hit(address, hit, words, when) for hit in hits)


def _hit(address: str, hit: ShownHit, words: Sequence[str], when: When) -> Markup:
    speaker = join((escape(part) for part in (hit.speaker, stamp(hit.time, "", when)) if part), fill(" "))
    return fill(
        '<li><a href="{}{}"><span class="quiet">{}</span> {}</a></li>',
        escape(address), escape(f"#{event_uuid(hit.event)}" if hit.event else ""), speaker,
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
