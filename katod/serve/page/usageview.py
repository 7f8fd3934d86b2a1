"""The page of tokens and cost as HTML. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple
from urllib.parse import urlencode

from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.serve.page.barchart import ChartBar, bar_chart
from katod.serve.page.frame import framed
from katod.usage.grouping import BY, UsageSum, UsageTable
from katod.usage.shown import short_number, shown_cost

PERIODS: Final = {"": "All time", "today": "Today", "7d": "7 days", "30d": "30 days", "365d": "A year"}
_MOST_DAYS: Final = 92  # bars of days; of more days, each month is one
_MOST: Final = 120  # bars of months, and of years
_TITLES: Final = {by: f"By {by}" for by in BY}
_HEADS: Final = ("Sessions", "Input", "Cache read", "Cache write", "Output", "Cost")
_EVERYTHING: Final = "All sessions on this machine, recorded or not, but not those that were forgotten."
_RECORDED: Final = "Only sessions that were recorded."


class AskedUsage(NamedTuple):
    """What the address chooses: the days, in the words of `--since`, and a project; empty for all of them."""

    since: str = ""
    project: str = ""

    def address(self, **other: str) -> str:
        """Return the address of the page with this choice, or with another one in its place."""
        chosen = {name: value for name, value in self._replace(**other)._asdict().items() if value}
        return f"/usage?{urlencode(chosen, errors='replace')}" if chosen else "/usage"


class UsageFigures(NamedTuple):
    """What the page shows."""

    asked: AskedUsage
    first: str  # the day that it means
    tables: Sequence[UsageTable]  # by day at first
    notes: Sequence[str]  # what the signs of costs mean
    zone: str  # the time zone of days
    everything: bool  # whether sessions that were not recorded count


def usage_page(figures: UsageFigures) -> Markup:
    """Return the page."""
    by_day = figures.tables[0]
    if by_day.rows:
        tables = join(_table(table, figures.asked) for table in figures.tables)
        content = fill("{}{}{}", _total(by_day.total), _charts(by_day), tables)
    else:
        content = fill('<p class="quiet">No usage was found.</p>\n')
    page = fill("{}{}{}{}", _heading(figures.asked), _periods(figures.asked), _about(figures), content)
    return framed("Usage · katod", "usage", page)


def _heading(asked: AskedUsage) -> Markup:
    if not asked.project:
        return fill("<h1>Usage</h1>\n")
    every = escape(asked.address(project=""))
    words = escape(f"Usage of {asked.project}")
    return fill('<h1>{}</h1>\n<p class="quiet"><a href="{}">All projects</a></p>\n', words, every)


def _periods(asked: AskedUsage) -> Markup:
    shown = PERIODS if asked.since in PERIODS else PERIODS | {asked.since: f"Since {asked.since}"}
    return fill(
        '<section class="chips" aria-label="Period">{}</section>\n',
        join(_period(asked, given, words) for given, words in shown.items()),
    )


def _period(asked: AskedUsage, since: str, words: str) -> Markup:
    current = fill(' aria-current="true"') if since == asked.since else NOTHING
    return fill('<a class="chip" href="{}"{}>{}</a>', escape(asked.address(since=since)), current, escape(words))


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


class _Bars(NamedTuple):
    """What the bars of a chart are of: each is a day, a month or a year, and has a name. `left_out` are before them."""

    each: str
    rows: Sequence[tuple[str, UsageSum]]
    left_out: int = 0


def _charts(by_day: UsageTable) -> Markup:
    known = {day: found for day, found in by_day.rows if day}
    if not known:
        return NOTHING
    each, rows, left_out = _in_time(known)
    about = f"Each bar is a {each}; the table below has the same numbers by day."
    last = f", the last {len(rows)} {each}s" if left_out else ""
    tokens = [ChartBar(day, found.tokens.total, f"{found.tokens.total:,} tokens") for day, found in rows]
    costs = [ChartBar(day, found.cost or 0.0, shown_cost(found) or "nothing") for day, found in rows]
    charts = [bar_chart("tokens", f"Tokens by {each}{last}", about, tokens)]
    if any(bar.size for bar in costs):  # without prices there is nothing to draw
        charts.insert(0, bar_chart("cost", f"Cost by {each}, in US dollars{last}", about, costs))
    return join(charts)


def _in_time(known: Mapping[str, UsageSum]) -> _Bars:
    """Return all days from the first to the last; all months if these are too many, or else the last years."""
    first, last = (date.fromisoformat(day) for day in (min(known), max(known)))
    if last.toordinal() - first.toordinal() < _MOST_DAYS:
        days = (date.fromordinal(day).isoformat() for day in range(first.toordinal(), last.toordinal() + 1))
        return _Bars("day", [(day, known.get(day) or UsageSum()) for day in days])
    if len(months := _months(first, last)) <= _MOST:
        return _Bars("month", _summed(known, months))
    years = range(max(first.year, last.year - _MOST + 1), last.year + 1)
    return _Bars("year", _summed(known, (f"{year:04}" for year in years)), years.start - first.year)


def _months(first: date, last: date) -> list[str]:
    begin, end = (day.year * 12 + day.month - 1 for day in (first, last))
    return [f"{number // 12:04}-{number % 12 + 1:02}" for number in range(begin, end + 1)]


def _summed(known: Mapping[str, UsageSum], names: Iterable[str]) -> list[tuple[str, UsageSum]]:
    """Return what was used in each of these months or years, by their names."""
    sums = {name: UsageSum() for name in names}
    size = len(next(iter(sums)))
    for day, found in known.items():
        if (into := sums.get(day[:size])) is not None:
            into.include(found)
    return list(sums.items())


# -- tables -----------------------------------------------------------------------------------------


def _table(table: UsageTable, asked: AskedUsage) -> Markup:
    """Return the table of one way to group; those who scroll by keys can reach it."""
    title = escape(_TITLES[table.by])
    heads = join(fill('<th scope="col">{}</th>', escape(head)) for head in _HEADS)
    rows = join(_row(_name(name, table.by, asked), found) for name, found in table.rows)
    return fill(
        '<section class="figures"><h2 id="by-{by}">{title}</h2>'
        '<div class="scroll" tabindex="0" role="region" aria-labelledby="by-{by}">'
        '<table><thead><tr><th scope="col">{head}</th>{heads}</tr></thead><tbody>{rows}</tbody>'
        "<tfoot>{total}</tfoot></table></div></section>\n",
        by=escape(table.by), title=title, head=escape(table.by.capitalize()), heads=heads,
        rows=rows, total=_row(escape("Total"), table.total),
    )  # fmt: skip


def _name(name: str, by: str, asked: AskedUsage) -> Markup:
    """Return the name of a row; that of a project leads to what it used."""
    if by != "project" or not name or asked.project:
        return escape(name or "unknown")
    return fill('<a href="{}">{}</a>', escape(asked.address(project=name)), escape(name))


def _row(name: Markup, found: UsageSum) -> Markup:
    tokens = found.tokens
    counts = (found.sessions, tokens.input, tokens.cache_read, tokens.cache_write, tokens.output)
    cells = join(fill("<td>{}</td>", _number(count)) for count in counts)
    return fill('<tr><th scope="row">{}</th>{}<td>{}</td></tr>\n', name, cells, escape(shown_cost(found)))


def _number(number: int) -> Markup:
    """Return a number in a few characters, with all of its digits beside it."""
    return fill('<data value="{0}" title="{0}">{1}</data>', escape(str(number)), escape(short_number(number)))
