"""`katod usage`: tokens and cost over all sessions."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click
import orjson

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Choice
from katod.cli.layout import Line, TextSpan, in_home, line, one_text, show, table, terminal_width
from katod.cli.printing import say, say_as_it_is
from katod.config import local_zone
from katod.errors import SelectionError, with_extra
from katod.model import SessionKey
from katod.search.since import since_seconds
from katod.usage.grouping import BY, Period, PricedCell, UsageSum, UsageTable, document, grouped, priced
from katod.usage.packed import VERSION
from katod.usage.pricetable import EXTRA, open_table
from katod.usage.pricing import PriceTable

_NUMBERS: Final = ("sessions", "input", "cache read", "cache write", "output", "cost")
_OPTIONAL: Final = (4, 3, 1, 2)  # columns that may be left out, in this order
_UNITS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_WHEN: Final = "today, yesterday, an age (7d, 2w) or a date (2026-02-01)."
_UNPRICED: Final = "unpriced"
_UNKNOWN: Final = "unknown"


@click.command()
@click.option("--by", type=Choice(BY), default="day", show_default=True, help="What each line sums up.")
@click.option("--since", metavar="WHEN", help=f"Count from the day of WHEN on: {_WHEN}")
@click.option("--until", metavar="WHEN", help="Count up to the day of WHEN, which is included.")
@click.option("--project", default="", help="Count only sessions whose project path contains this text.")
@click.option("--agent", type=Choice(sorted(AGENTS)), metavar="NAME", help="Count only sessions of this agent.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def usage(
    context: Context, by: str, since: str | None, until: str | None, project: str, agent: str | None, as_json: bool
) -> None:
    """Show tokens and cost over all sessions on this machine, recorded or not.

    Each answer counts once, even if it is also in a fork, or was written again. Sub-agents count as a part of their
    session. A cost is what the agent recorded. If it recorded none, it is computed from the prices of that day and
    marked with ~, provided that the extra `prices` is installed; otherwise the tokens are unpriced. Nothing is
    downloaded.

    In a pipe, the columns are separated by tabs: what --by says, sessions, input, cache read, cache write, output,
    cost.
    """
    zone = local_zone()
    wanted = WantedUsage(agent, project.casefold(), Period(_day(since, "--since"), _day(until, "--until")))
    prices = open_table(context.settings.prices.source)
    with uncollected():
        sums = grouped(_cells(context, zone, wanted, prices, named=by == "project"), by)
    for folder, problem in context.problems.items():
        say(f"katod: {folder}: {problem}", err=True)
    if as_json:
        click.echo(orjson.dumps(document(sums, wanted.period, zone, prices)))
    elif not sums.rows:
        say("katod: no usage found", err=True)
    else:
        _print(sums, prices, context.settings.prices.source)


@contextmanager
def uncollected() -> Iterator[None]:
    """Have Python look for no garbage: of ten thousand sessions, a few hundred thousand tuples stay to the end.

    To look through them again and again takes longer than all else.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class WantedUsage(NamedTuple):
    """What is counted."""

    agent: str | None
    project: str  # case-folded
    period: Period

    def has(self, cell: PricedCell) -> bool:
        """Return whether a cell is counted."""
        return self.period.has(cell.spent.cell.key.day) and self.project in cell.project.casefold()


def _day(when: str | None, option: str) -> int:
    """Return a day as `date.toordinal` counts them, 0 for none. Raises BadParameter."""
    try:
        seconds = since_seconds(when)
    except SelectionError as error:
        raise click.BadParameter(error.what, param_hint=option) from None
    return datetime.fromtimestamp(seconds).astimezone().toordinal() if when else 0


def _cells(context: Context, zone: str, wanted: WantedUsage, prices: PriceTable, *, named: bool) -> list[PricedCell]:
    """Return what is counted. Projects have names only if that is needed: a session is opened for each."""
    from katod.store.usagecache import UsageCache  # noqa: PLC0415 - `katod usage --help` needs none of it
    from katod.usage.collect import UsageCollector  # noqa: PLC0415
    from katod.usage.counting import spent  # noqa: PLC0415

    sessions = [found for found in context.found().values() if wanted.agent in (None, found.key.agent)]
    cache = UsageCache.open(context.state, VERSION, zone)
    with closing(cache) if cache is not None else nullcontext():
        collector = UsageCollector(zone, cache, partial(_forgotten, context))
        sources = collector.collect(sessions, everything=wanted.agent is None and not context.problems)
        context.problems.update(collector.problems)
        cells = [cell for cell in spent(sources, _has_ids) if wanted.period.has(cell.cell.key.day)]
        names = collector.project if named or wanted.project else _no_name
        return [cell for cell in priced(cells, prices, names) if wanted.has(cell)]


def _forgotten(context: Context, keys: Iterable[SessionKey]) -> set[SessionKey]:
    """Return which of these sessions are forgotten by now."""
    with context.reading() as ledger:
        if ledger is None or not ledger.has_tombstones():
            return set()
        return {key for key in keys if ledger.tombstones.of_session(key) is not None}


def _has_ids(agent: str) -> bool:
    return AGENTS[agent].nature.has_native_ids


def _no_name(_project: bytes) -> str:
    return ""


# -- for people -----------------------------------------------------------------------------------


def _print(sums: UsageTable, prices: PriceTable, source: str) -> None:
    """Print a table on a terminal, and what its signs mean; in a pipe, one tab-separated line for each row."""
    width = terminal_width()
    if width is None:
        for name, found in sums.rows:
            say_as_it_is("\t".join([one_text(name), *_plain(found)]))
        return
    show(usage_table(sums, width, str(Path.home())))
    show([(), *(line(text, "dim") for text in _notes(sums.total, prices, source))])


def usage_table(sums: UsageTable, width: int, home: str) -> list[Line]:
    """Return the header, a line for each row, and the total."""
    names = [name for name, _ in sums.rows]
    names = [name or _UNKNOWN for name in (short_paths(names, home) if sums.by == "project" else names)]
    cells = [_shown(found) for _, found in sums.rows] + [_shown(sums.total)]
    sizes = [max(len(cell) for cell in column) for column in zip(_NUMBERS, *cells, strict=True)]
    right = [[cell.rjust(size) for cell, size in zip(row, sizes, strict=True)] for row in (_NUMBERS, *cells)]
    lines = [_spans(sums.by, right[0], "dim"), *(map(_spans, names, right[1:-1])), _spans("total", right[-1], "bold")]
    return _table(lines, width)


def _table(rows: list[list[TextSpan]], width: int) -> list[Line]:
    """Return a table in which no two names look alike, if there is one that fits."""
    tables, names = list(_tables(rows, width)), {row[0].text for row in rows}
    return next((found for found in tables if len({line[0].text for line in found}) == len(names)), tables[0])


def _tables(rows: list[list[TextSpan]], width: int) -> Iterator[list[Line]]:
    """Yield a table, then with ever fewer columns: there is more room for names, which may be cut to the same."""
    yield table(rows, width=width, flexible=(0,), optional=_OPTIONAL)
    for number in _OPTIONAL:
        rows = [[*row[:number], TextSpan(""), *row[number + 1 :]] for row in rows]
        yield table(rows, width=width, flexible=(0,), optional=_OPTIONAL)


def short_paths(paths: Sequence[str], home: str) -> list[str]:
    """Return the shortest end of each path that no other one has; `~` is the home directory."""
    parts = [("~" if path == home else in_home(path, home)).split("/") for path in paths]
    ends = Counter(end for path in parts for end in _ends(path))
    return [next((end for end in _ends(path) if ends[end] == 1), "/".join(path)) for path in parts]


def _ends(parts: Sequence[str]) -> Iterator[str]:
    """Yield the ends of a path that have a name, the shortest first."""
    yield from ("/".join(parts[start:]) for start in reversed(range(len(parts))) if any(parts[start:]))


def _spans(name: str, numbers: Sequence[str], style: str = "") -> list[TextSpan]:
    return [TextSpan(name, style), *(TextSpan(number, style) for number in numbers)]


def _shown(found: UsageSum) -> tuple[str, ...]:
    tokens = found.tokens
    counts = (tokens.input, tokens.cache_read, tokens.cache_write, tokens.output)
    return (f"{found.sessions:,}", *map(short_number, counts), shown_cost(found))


def _plain(found: UsageSum) -> Iterator[str]:
    tokens = found.tokens
    yield from map(str, (found.sessions, tokens.input, tokens.cache_read, tokens.cache_write, tokens.output))
    yield shown_cost(found)


def short_number(number: int) -> str:
    """Return a number in at most five characters: `999`, `1.2k`, `34M`."""
    for unit, sign in _UNITS:
        if number >= 0.9995 * unit:
            scaled = number / unit
            return f"{scaled:.1f}{sign}" if scaled < 99.95 else f"{scaled:.0f}{sign}"
    return str(number)


def shown_cost(found: UsageSum) -> str:
    """Return a cost, with ~ if a part of it is computed, and + if some tokens have no price."""
    if found.cost is None:
        return _UNPRICED if found.tokens.total else ""
    begin = "~" if found.computed is not None else ""
    return f"{begin}${found.cost:,.2f}{'+' if found.unpriced else ''}"


def _notes(total: UsageSum, prices: PriceTable, source: str) -> Iterator[str]:
    """Yield what the signs in the table mean."""
    if total.recorded is not None:
        yield "A cost without ~ is as the agents recorded it."
    if total.computed is not None:
        yield f"~ is computed, in part or as a whole, with the prices of each day ({prices.label})."
    if total.unpriced:
        sign = "+ and unpriced: " if total.cost is not None else ""
        yield f"{sign}{short_number(total.unpriced)} tokens have no price{_why(prices, source)}."


def _why(prices: PriceTable, source: str) -> str:
    if prices.label:
        return f" in {prices.label}"
    if source == "none":
        return ": `prices.source` is none"
    return f": the extra `{EXTRA}` is not installed ({with_extra(EXTRA)})"
