"""The page of tokens and cost as HTML. Pure."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple
from urllib.parse import urlencode

from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.serve.page.barchart import ChartBar, bar_chart
from katod.serve.page.frame import framed
from katod.usage.grouping import UsageSum, UsageTable
from katod.usage.shown import short_number, shown_cost

PERIODS: Final = {"": "All time", "today": "Today", "7d": "7 days", "30d": "30 days", "365d": "A year"}
_MOST_DAYS: Final = 92  # bars of days; of more days, each month is one
_TITLES: Final = {"day": "By day", "project": "By project", "model": "By model", "agent": "By agent"}
_HEADS: Final = ("Sessions", "Input", "Cache read", "Cache write", "Output", "Cost")
_EVERYTHING: Final = "All sessions on this machine, recorded or not."
_RECORDED: Final = "Only sessions that were recorded."


class UsageFigures(NamedTuple):
    """What the page shows."""

    since: str  # as the address says it, empty for all time
    first: str  # the day that it means
    tables: Sequence[UsageTable]  # by day at first
    notes: Sequence[str]  # what the signs of costs mean
    zone: str  # the time zone of days
    everything: bool  # whether sessions that were not recorded count


def usage_page(figures: UsageFigures) -> Markup:
    """Return the page."""
    by_day = figures.tables[0]
    if by_day.rows:
        content = fill("{}{}{}", _total(by_day.total), _charts(by_day), join(map(_table, figures.tables)))
    else:
        content = fill('<p class="quiet">No usage was found.</p>\n')
    page = fill("<h1>Usage</h1>\n{}{}{}", _periods(figures.since), _about(figures), content)
    return framed("Usage · katod", "usage", page)


def _periods(since: str) -> Markup:
    shown = PERIODS if since in PERIODS else PERIODS | {since: f"Since {since}"}
    return fill(
        '<section class="chips" aria-label="Period">{}</section>\n',
        join(_period(given, words, is_chosen=given == since) for given, words in shown.items()),
    )


def _period(since: str, words: str, *, is_chosen: bool) -> Markup:
    target = f"/usage?{urlencode({'since': since})}" if since else "/usage"
    current = fill(' aria-current="true"') if is_chosen else NOTHING
    return fill('<a class="chip" href="{}"{}>{}</a>', escape(target), current, escape(words))


def _about(figures: UsageFigures) -> Markup:
    since = f"Since {figures.first}. " if figures.first else ""
    scope = _EVERYTHING if figures.everything else _RECORDED
    said = (f"{since}{scope} Days are those of {figures.zone}.", *figures.notes)
    return join(fill('<p class="quiet">{}</p>\n', escape(words)) for words in said)


def _total(total: UsageSum) -> Markup:
    tokens = total.tokens
    facts = (
        ("Cost", escape(shown_cost(total))), ("Tokens", _number(tokens.total)), ("Sessions", _number(total.sessions)),
        ("Answers", _number(total.answers)),
    )  # fmt: skip
    shown = join(fill("<div><dt>{}</dt><dd>{}</dd></div>", escape(name), value) for name, value in facts)
    return fill('<dl id="total">{}</dl>\n', shown)


# -- charts -----------------------------------------------------------------------------------------


def _charts(by_day: UsageTable) -> Markup:
    rows = list(_in_time(by_day.rows))
    each = "month" if rows and len(rows[0][0]) < len("2026-02-10") else "day"
    about = "Each bar is a {}; the table below has the same numbers by day."
    tokens = [ChartBar(day, found.tokens.total, f"{found.tokens.total:,} tokens") for day, found in rows]
    costs = [ChartBar(day, found.cost or 0.0, shown_cost(found) or "nothing") for day, found in rows]
    charts = [bar_chart("tokens", f"Tokens by {each}", about.format(each), tokens)] if rows else []
    if any(bar.size for bar in costs):  # without prices there is nothing to draw
        charts.insert(0, bar_chart("cost", f"Cost by {each}, in US dollars", about.format(each), costs))
    return join(charts)


def _in_time(rows: Sequence[tuple[str, UsageSum]]) -> Iterator[tuple[str, UsageSum]]:
    """Yield all days from the first to the last, or all months if these are too many."""
    known = {day: found for day, found in rows if day}
    days = [date.fromisoformat(day).toordinal() for day in known]
    if not days:
        return
    if max(days) - min(days) < _MOST_DAYS:
        names = (date.fromordinal(day).isoformat() for day in range(min(days), max(days) + 1))
        yield from ((name, known.get(name) or UsageSum()) for name in names)
        return
    first, last = date.fromordinal(min(days)), date.fromordinal(max(days))
    months = {
        f"{number // 12:04}-{number % 12 + 1:02}": UsageSum()
        for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    }
    for day, found in known.items():
        months[day[:7]].include(found)
    yield from months.items()


# -- tables -----------------------------------------------------------------------------------------


def _table(table: UsageTable) -> Markup:
    """Return the table of one way to group; those who scroll by keys can reach it."""
    title = escape(_TITLES[table.by])
    heads = join(fill('<th scope="col">{}</th>', escape(head)) for head in _HEADS)
    rows = [(name or "unknown", found) for name, found in table.rows]
    return fill(
        '<section class="figures"><h2 id="by-{by}">{title}</h2>'
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="by-{by}">'
        '<table><thead><tr><th scope="col">{head}</th>{heads}</tr></thead><tbody>{rows}</tbody>'
        "<tfoot>{total}</tfoot></table></div></section>\n",
        by=escape(table.by), title=title, head=escape(table.by.capitalize()), heads=heads,
        rows=join(_row(name, found) for name, found in rows), total=_row("Total", table.total),
    )  # fmt: skip


def _row(name: str, found: UsageSum) -> Markup:
    tokens = found.tokens
    counts = (found.sessions, tokens.input, tokens.cache_read, tokens.cache_write, tokens.output)
    cells = join(fill("<td>{}</td>", _number(count)) for count in counts)
    return fill('<tr><th scope="row">{}</th>{}<td>{}</td></tr>\n', escape(name), cells, escape(shown_cost(found)))


def _number(number: int) -> Markup:
    """Return a number in a few characters, with all of its digits beside it."""
    return fill('<data value="{0}" title="{0}">{1}</data>', escape(str(number)), escape(short_number(number)))
