"""Tokens and cost of the sessions that are served. Nothing is kept but what `katod usage` keeps: numbers."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from katod.discover.found import FoundSession
from katod.errors import PricesError, SelectionError
from katod.formats.redact.redactor import redact
from katod.search.since import day_number, since_seconds
from katod.serve.feed.hub import Hub
from katod.serve.http import html_response
from katod.serve.page.frame import plain
from katod.serve.page.pages import guarded
from katod.serve.page.usageview import AskedUsage, UsageFigures, usage_page
from katod.usage.grouping import BY, Period, UsageTable, grouped, priced
from katod.usage.overall import CollectedUsage, collected
from katod.usage.pricetable import open_table
from katod.usage.pricing import NoPrices, PriceTable
from katod.usage.shown import notes

_LONGEST: Final = 40  # characters of a time in an address,
_LONGEST_PROJECT: Final = 4096  # and of a project


class UsagePages:
    """The page of what is served.

    `state` is where katod keeps what it knows, `prices` the source of prices, and `zone` the time zone of days: it is
    that of `katod usage`, as what is kept is of one.
    """

    def __init__(
        self, hub: Hub, state: Path, prices: str, zone: str, *, redacted: bool,
        shared: Callable[[], Iterable[FoundSession]] = tuple,
    ) -> None:  # fmt: skip
        """`shared` returns the sessions of other machines that count, too."""
        self._hub = hub
        self._others = shared
        self._state = state
        self._prices = prices
        self._zone = zone
        self._shown = redact if redacted else str

    def routes(self) -> list[Route]:
        """Return the address of the page."""
        return [Route("/usage", guarded(self._usage))]

    async def _usage(self, request: Request) -> Response:
        since = request.query_params.get("since", "")[:_LONGEST]
        try:
            first = day_number(since_seconds(since)) if since else 0
        except (SelectionError, ValueError, OverflowError, OSError):
            return html_response(plain("Not a time", "There is no such period.", "/usage"), 400)
        sessions = await self._hub.reading.run(self._sessions)
        asked = AskedUsage(since, request.query_params.get("project", "")[:_LONGEST_PROJECT])
        figures = partial(self._figures, sessions, asked, Period(first))
        found = await self._hub.searching.last(figures())
        assert found is not None  # the last of the steps
        return html_response(usage_page(found))

    def _sessions(self) -> list[FoundSession]:
        """Return all sessions that are served, and those of other machines that are not here."""
        here = list(self._hub.index.all().values())
        keys = {entry.key for entry in here}
        return [*here, *(found for found in self._others() if found.key not in keys)]

    def _figures(
        self, sessions: Iterable[FoundSession], asked: AskedUsage, period: Period
    ) -> Iterator[UsageFigures | None]:
        """Yield None after each session that was read, and the figures at the end."""
        for found in collected(sessions, self._state, self._zone):
            yield self._of(found, asked, period) if found is not None else None

    def _table(self) -> tuple[PriceTable, list[str]]:
        """Return the prices, and why there are none if their file cannot be read."""
        try:
            return open_table(self._prices), []
        except PricesError as error:
            return NoPrices(), [f"{error.what}."]

    def _of(self, found: CollectedUsage, asked: AskedUsage, period: Period) -> UsageFigures:
        prices, problems = self._table()
        chosen = [cell for cell in found.cells if period.has(cell.cell.key.day)]
        cells = priced(chosen, prices, lambda project: self._shown(found.collector.project(project)))
        cells = [cell for cell in cells if asked.project in ("", cell.project)]
        tables: list[UsageTable] = [grouped(cells, by) for by in BY]
        first = date.fromordinal(period.first).isoformat() if period.first else ""
        said = [*problems, *notes(tables[0].total, prices, self._prices)]
        return UsageFigures(asked, first, tables, said, self._zone, self._hub.index.serves_everything)
