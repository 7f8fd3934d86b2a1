"""`katod usage`: tokens and cost over all sessions."""

import gc
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import click
import orjson

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.groups import Choice
from katod.cli.layout import Line, TextSpan, line, one_text, show, table, terminal_width
from katod.cli.printing import say, say_as_it_is, say_to_programs
from katod.config import local_zone
from katod.discover.found import FoundSession
from katod.errors import SelectionError
from katod.model import SessionKey
from katod.paths import short_paths
from katod.search.since import day_number, last_second, since_seconds
from katod.usage.grouping import BY, Period, PricedCell, UsageSum, UsageTable, document, grouped, priced
from katod.usage.pricetable import open_table
from katod.usage.pricing import PriceTable
from katod.usage.shown import notes, short_number, shown_cost

_NUMBERS: Final = ("sessions", "input", "cache read", "cache write", "output", "cost")
_OPTIONAL: Final = (4, 3, 1, 2)  # columns that may be left out, in this order
_WHEN: Final = "today, yesterday, an age (7d, 2w), a date (2026-02-01) or a month (2026-02)."
_UNKNOWN: Final = "unknown"


@click.command()
@click.option("--by", type=Choice(BY), default="day", show_default=True, help="What each line sums up.")
@click.option("--since", metavar="WHEN", help=f"Count from the beginning of WHEN on: {_WHEN}")
@click.option("--until", metavar="WHEN", help="Count up to the end of WHEN, which is included.")
@click.option("--project", default="", help="Count only sessions whose project path contains this text.")
@click.option("--agent", type=Choice(sorted(AGENTS)), metavar="NAME", help="Count only sessions of this agent.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def usage(
    context: Context, by: str, since: str | None, until: str | None, project: str, agent: str | None, as_json: bool
) -> None:
    """Show tokens and cost over all sessions on this machine, recorded or not.

    Sessions of other machines count, too, if these share them as JSONL (`archive.folders`).
    Each answer counts once, even if it is also in a fork, or was written again. Sub-agents count as a part of their
    session. A cost is what the agent recorded. If it recorded none, it is computed from the prices of that day and
    marked with ~, provided that the extra `prices` is installed; otherwise the tokens are unpriced. Nothing is
    downloaded.

    In a pipe, the columns are separated by tabs: what --by says, sessions, input, cache read, cache write, output,
    cost.
    """
    zone = local_zone()
    period = Period(_day(since, "--since", since_seconds), _day(until, "--until", last_second))
    wanted = WantedUsage(agent, project.casefold(), period)
    prices = open_table(context.settings.prices.source)
    with uncollected():
        sums = grouped(_cells(context, zone, wanted, prices, named=by == "project"), by)
    for folder, problem in (context.problems | context.shared.problems).items():
        say(f"katod: {folder}: {problem}", err=True)
    if as_json:
        say_to_programs(orjson.dumps(document(sums, wanted.period, zone, prices)))
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


def _day(when: str | None, option: str, meant: Callable[[str], float]) -> int:
    """Return the day that is meant as `date.toordinal` counts them, 0 for none. Raises BadParameter."""
    if when is None:
        return 0
    try:
        seconds = meant(when)
    except SelectionError as error:
        raise click.BadParameter(error.what, param_hint=option) from None
    return day_number(seconds)


def _cells(context: Context, zone: str, wanted: WantedUsage, prices: PriceTable, *, named: bool) -> list[PricedCell]:
    """Return what is counted. Projects have names only if that is needed: a session is opened for each."""
    from katod.usage.overall import collected  # noqa: PLC0415 - `katod usage --help` needs none of it

    here = context.found()
    every = (*here.values(), *(one for one in context.archived(here) if one.has_events))
    sessions = [found for found in every if wanted.agent in (None, found.key.agent)]
    everything = wanted.agent is None and not context.problems
    for found in collected(sessions, context.state, zone, everything=everything, ahead=True):
        if found is not None:
            context.problems.update(found.problems)
            cells = [cell for cell in found.cells if wanted.period.has(cell.cell.key.day)]
            names = found.collector.project if named or wanted.project else _no_name
            return [cell for cell in priced(cells, prices, names) if wanted.has(cell)]
    return []


def usage_of(context: Context, sessions: Collection[FoundSession]) -> dict[SessionKey, UsageSum]:
    """Return what each session used. All of them are read for that, as an answer counts where it was first."""
    from katod.usage.overall import collected, used_by_session  # noqa: PLC0415 - few lists need it

    prices = open_table(context.settings.prices.source)
    with uncollected():
        found = [used for used in collected(sessions, context.state, local_zone(), ahead=True) if used is not None]
        context.problems.update(found[0].problems)
        return used_by_session(found[0], prices)


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
    show([(), *(line(text, "dim") for text in notes(sums.total, prices, source))])


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
