"""The index of a folder of HTML transcripts: a page with a link to each, by month, the newest first. Pure.

It knows of a transcript only what that says of itself: nothing is listed that is not in a file beside the index.
"""

import re
from collections.abc import Iterable, Mapping
from html import unescape
from itertools import groupby
from typing import Final, NamedTuple

from katod.formats.text.linkbase import address_of
from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.transcript.style import INDEX_STYLE, STYLE
from katod.metadata import cut_at_word

VERSION: Final = 1  # rises when the same transcripts would give another index
_TITLE: Final = re.compile(r"<title>([^<]*)</title>")
_FACT: Final = re.compile(r'<meta name="([a-z]+)" content="([^"<>]*)">')
_DAY: Final = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-[0-9]{2}(?: [0-9]{2}:[0-9]{2})?")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_LONGEST: Final = 200  # characters of a title: a file may have been edited
_DOT: Final = fill(" · ")
_PAGE: Final = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" '
    'content="no-referrer">\n<meta name="generator" content="katod">\n<title>Transcripts</title>\n'
    "<style>{style}</style>\n</head>\n<body>\n<main>\n"
    '<h1>Transcripts</h1>\n<p class="about">{about}</p>\n{months}</main>\n{nav}</body>\n</html>\n'
)
_POLICY: Final = fill("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'")
_MONTH: Final = '<h2 id="{}">{}</h2>\n<ul class="pages">\n{}</ul>\n'
_CHOICE: Final = '<li><a href="#{}">{}</a> <span class="about">{}</span></li>\n'
_ROW: Final = '<li><a href="{}">{}</a>{}{}</li>\n'


class IndexRow(NamedTuple):
    """A transcript in an index: its path from there, and what it says of itself; empty fields are unknown."""

    name: str
    title: str
    date: str = ""
    agent: str = ""
    project: str = ""
    labels: tuple[str, ...] = ()
    is_starred: bool = False

    @property
    def month(self) -> str:
        """The year and month in which it began."""
        return self.date[:7]


def row_of(name: str, head: str) -> IndexRow:
    """Return the row of a transcript, given the beginning of its page; one that says nothing is listed by its name."""
    facts = [(key, _plain(value)) for key, value in _FACT.findall(head)]
    one = dict(reversed(facts))  # the first of each name, as `Html` prints them
    title = _TITLE.search(head)
    day = _DAY.match(one.get("date", ""))
    return IndexRow(
        name, (_plain(title[1]) if title else "") or name, day[0] if day else "", one.get("agent", ""),
        one.get("project", ""), tuple(value for key, value in facts if key == "label"), one.get("starred") == "true",
    )  # fmt: skip


def index_page(rows: Iterable[IndexRow], parts: Mapping[str, list[IndexRow]]) -> Markup:
    """Return the index of transcripts; `parts` has those of sub-agents, by the path of their parent's."""
    newest = sorted(rows, key=lambda row: row.name)
    newest.sort(key=lambda row: row.date, reverse=True)
    months = [(month, list(found)) for month, found in groupby(newest, lambda row: row.month)]
    sections = (fill(_MONTH, _id(month), _named(month), _rows(found, parts)) for month, found in months)
    return fill(
        _PAGE, policy=_POLICY, style=join((STYLE, INDEX_STYLE)), about=_about(newest, parts), months=join(sections),
        nav=_nav(months),
    )  # fmt: skip


def _plain(value: str) -> str:
    return cut_at_word(" ".join(unescape(value).split()), _LONGEST)


def _about(rows: list[IndexRow], parts: Mapping[str, list[IndexRow]]) -> Markup:
    dates = [row.date[:10] for row in rows if row.date]
    between = f"{dates[-1]} to {dates[0]}" if dates and dates[-1] != dates[0] else "".join(dates[:1])
    told = (_counted(len(rows), "transcript"), between, _counted(sum(map(len, parts.values())), "sub-agent"))
    return join((escape(part) for part in told if part), _DOT)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}" if number else ""


def _nav(months: list[tuple[str, list[IndexRow]]]) -> Markup:
    """Return links to the months, nothing if there is only one."""
    if len(months) < 2:
        return NOTHING
    items = (fill(_CHOICE, _id(month), _named(month), len(found)) for month, found in months)
    return fill('<nav aria-label="Months">\n<b>Months</b>\n<ol>\n{}</ol>\n</nav>\n', join(items))


def _id(month: str) -> Markup:
    return escape(f"m{month}" if month else "undated")


def _named(month: str) -> Markup:
    return escape(f"{_MONTHS[int(month[5:]) - 1]} {month[:4]}" if month else "Without a date")


def _rows(rows: Iterable[IndexRow], parts: Mapping[str, list[IndexRow]]) -> Markup:
    return join(_row(row, parts.get(row.name, [])) for row in rows)


def _row(row: IndexRow, parts: list[IndexRow]) -> Markup:
    marks = [*(["★"] if row.is_starred else []), *(f"#{label}" for label in row.labels)]
    told = (row.date, row.project, row.agent, " ".join(marks))
    about = fill(' <span class="about">{}</span>', join((escape(part) for part in told if part), _DOT))
    return fill(_ROW, _target(row.name), escape(row.title), about if any(told) else NOTHING, _below(parts))


def _below(parts: list[IndexRow]) -> Markup:
    """Return the transcripts of sub-agents, collapsed."""
    if not parts:
        return NOTHING
    rows = _rows(sorted(parts, key=lambda row: (row.date, row.name)), {})
    summary = escape(_counted(len(parts), "sub-agent"))
    return fill("\n<details>\n<summary>{}</summary>\n<ul>\n{}</ul>\n</details>", summary, rows)


def _target(name: str) -> Markup:
    """Return a link to a file below the folder."""
    return escape(address_of(name))
