"""What a search found, as HTML. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from katod.formats.stream.bridge import event_uuid
from katod.formats.when import When
from katod.search.run import ShownHit
from katod.serve.page.board import Row
from katod.serve.page.frame import closing, opening, text
from katod.serve.page.listview import moment, name_of, recording, where

MOST_FOUND: Final = 40  # sessions of one search


class Result(NamedTuple):
    """One session with hits; `total`: how many there are."""

    row: Row
    hits: Sequence[ShownHit]
    total: int


def find_page(query: str, words: Sequence[str], results: Sequence[Result], when: When, now: float) -> str:
    """Return the page; without words, it asks for some."""
    head = opening(f"{query or 'Search'} · katod", "find", query)
    return (
        f'{head}<main id="main">\n'
        f"<h1>{text(_title(query, words, results))}</h1>\n"
        f"{''.join(_result(result, words, when, now) for result in results)}</main>\n{closing()}"
    )


def _title(query: str, words: Sequence[str], results: Sequence[Result]) -> str:
    if not words:
        return "Search in all sessions"
    if not results:
        return f"Nothing found for {query}"
    latest = "The latest " if len(results) >= MOST_FOUND else ""
    return f"{latest}{len(results)} {'session' if len(results) == 1 else 'sessions'} with {query}"


def _result(result: Result, words: Sequence[str], when: When, now: float) -> str:
    row = result.row
    hits = "".join(_hit(row, hit, words, when) for hit in result.hits)
    left = result.total - len(result.hits)
    more = f'<p class="quiet">{left:,} more</p>' if left > 0 else ""
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
