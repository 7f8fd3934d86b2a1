"""What a search found, as HTML. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote_plus

from katod.formats.stream.bridge import event_uuid
from katod.formats.when import When
from katod.search.run import ShownHit
from katod.serve.page.board import Row
from katod.serve.page.frame import closing, opening, text
from katod.serve.page.listview import list_row, moment, name_of, recording, where

MOST_FOUND: Final = 40  # sessions of one search


class Result(NamedTuple):
    """One session with hits; `total`: how many there are."""

    row: Row
    hits: Sequence[ShownHit]
    total: int


class Asked(NamedTuple):
    """What was searched: the query as it was typed, and its words."""

    query: str
    words: Sequence[str]


def find_page(asked: Asked, named: Sequence[Row], results: Sequence[Result], when: When, now: float) -> str:
    """Return the page; without words, it asks for some. `named` are the sessions that are called so."""
    head = opening(f"{asked.query or 'Search'} · katod", "find", asked.query)
    return (
        f'{head}<main id="main">\n'
        f"<h1>{text(_title(asked, results))}</h1>\n{_named(named, now)}"
        f"{''.join(_result(result, asked, when, now) for result in results)}</main>\n{closing()}"
    )


def found_in_page(asked: Asked, row: Row, hits: Sequence[ShownHit], when: When) -> str:
    """Return the page with the hits in one session."""
    count = f"{len(hits):,} {'hit' if len(hits) == 1 else 'hits'}" if hits else "Nothing"
    listed = "".join(_hit(row, hit, asked.words, when) for hit in hits)
    head = opening(f"{asked.query} · katod", "find", asked.query)
    where_from = (
        f'in <a href="/s/{row.name}">{text(name_of(row))}</a> · <a href="{_address(asked)}">in all sessions</a>'
    )
    return (
        f'{head}<main id="main">\n<h1>{text(f"{count} for {asked.query}")}</h1>\n'
        f'<p class="quiet">{where_from}</p>\n<article class="result"><ul>{listed}</ul></article></main>\n{closing()}'
    )


def _named(rows: Sequence[Row], now: float) -> str:
    if not rows:
        return ""
    listed = "".join(list_row(row, now) for row in rows)
    return (
        '<section class="group"><h2>Called so, or in a project that is</h2>'
        f'<ul class="rows">{listed}</ul></section>\n<h2 class="unseen">Said</h2>\n'
    )


def _address(asked: Asked) -> str:
    return f"/find?q={quote_plus(asked.query)}"


def _title(asked: Asked, results: Sequence[Result]) -> str:
    query = asked.query
    if not asked.words:
        return "Search in all sessions"
    if not results:
        return f"Nothing found for {query}"
    latest = "The latest " if len(results) >= MOST_FOUND else ""
    return f"{latest}{len(results)} {'session' if len(results) == 1 else 'sessions'} with {query}"


def _result(result: Result, asked: Asked, when: When, now: float) -> str:
    row = result.row
    hits = "".join(_hit(row, hit, asked.words, when) for hit in result.hits)
    left = result.total - len(result.hits)
    more = f'<p class="quiet"><a href="{_address(asked)}&amp;in={row.name}">{left:,} more</a></p>' if left > 0 else ""
    return (
        f'<article class="result"><h2><a href="/s/{row.name}">{text(name_of(row))}</a></h2>'
        f'<p class="where">{where(row)} {recording(row)} {moment(row.since, now)}</p>\n<ul>{hits}</ul>'
        f"{more}</article>\n"
    )


def _hit(row: Row, hit: ShownHit, words: Sequence[str], when: When) -> str:
    at = f"#{event_uuid(hit.event)}" if hit.event else ""
    shown = "".join(_marked(hit.snippet, words))
    said = " ".join(text(part) for part in (hit.speaker, when.stamp(hit.time, "")) if part)
    return f'<li><a href="/s/{row.name}{at}"><span class="quiet">{said}</span> {shown}</a></li>'


def _marked(snippet: str, words: Sequence[str]) -> Iterator[str]:
    """Yield a snippet with the words that were looked for marked."""
    longest_first = sorted(map(re.escape, words), key=len, reverse=True)
    at = 0
    for found in re.finditer("|".join(longest_first), snippet, re.IGNORECASE) if words else ():
        yield text(snippet[at : found.start()])
        yield f"<mark>{text(found[0])}</mark>"
        at = found.end()
    yield text(snippet[at:])
