"""What was used, by day, project, model or agent. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from typing import Any, Final, NamedTuple

from katod.usage.cells import CostState
from katod.usage.counting import SpentCell
from katod.usage.counts import TokenCounts
from katod.usage.pricing import CellPrices, PriceTable

BY: Final = ("day", "month", "project", "model", "agent")
_IN_TIME: Final = ("day", "month")


class PricedCell(NamedTuple):
    """A cell with the name of its project, and what it cost if that is recorded or can be computed."""

    spent: SpentCell
    project: str
    recorded: float | None
    computed: float | None


class UsageSum:
    """The sum over some cells. Costs are None as long as there are none; they are never 0 for want of a price."""

    def __init__(self) -> None:
        self.tokens = TokenCounts()
        self.answers = 0
        self.recorded: float | None = None
        self.computed: float | None = None
        self.unpriced = 0  # tokens
        self.unpriced_models: set[str] = set()
        self.owners: set[bytes] = set()  # the sessions, sub-agents not counted

    @property
    def sessions(self) -> int:
        """How many sessions there are, sub-agents not counted."""
        return len(self.owners)

    @property
    def cost(self) -> float | None:
        """What is known of the cost, None if nothing is."""
        known = [cost for cost in (self.recorded, self.computed) if cost is not None]
        return sum(known) if known else None

    def add(self, cell: PricedCell) -> None:
        """Add a cell."""
        used = cell.spent.cell
        self.tokens = self.tokens.plus(used.tokens)
        self.answers += used.answers
        self.owners.add(cell.spent.session)
        if cell.recorded is not None:
            self.recorded = (self.recorded or 0.0) + cell.recorded
        elif cell.computed is not None:
            self.computed = (self.computed or 0.0) + cell.computed
        else:
            self.unpriced += used.tokens.total
            self.unpriced_models.update([used.key.model] if used.tokens.total else [])

    def include(self, other: "UsageSum") -> None:
        """Add what another one has."""
        self.tokens, self.answers = self.tokens.plus(other.tokens), self.answers + other.answers
        self.owners |= other.owners
        if other.recorded is not None:
            self.recorded = (self.recorded or 0.0) + other.recorded
        if other.computed is not None:
            self.computed = (self.computed or 0.0) + other.computed
        self.unpriced += other.unpriced
        self.unpriced_models |= other.unpriced_models

    def to_json(self) -> dict[str, Any]:
        """Return the sum as it is printed for programs."""
        tokens = self.tokens
        costs = {"recorded": self.recorded, "computed": self.computed}
        return {
            "sessions": self.sessions,
            "answers": self.answers,
            "tokens": {
                "input": tokens.input, "cacheRead": tokens.cache_read, "cacheWrite": tokens.cache_write,
                "output": tokens.output, "reasoning": tokens.reasoning, "total": tokens.total,
            },
            "cost": {name: round(cost, 6) for name, cost in costs.items() if cost is not None},
            "unpricedTokens": self.unpriced,
            **({"unpricedModels": sorted(self.unpriced_models)} if self.unpriced_models else {}),
        }  # fmt: skip


class UsageTable(NamedTuple):
    """The sums by one of `BY`, in their order, and the sum of all."""

    by: str
    rows: list[tuple[str, UsageSum]]
    total: UsageSum


class Period(NamedTuple):
    """Days from one to another, both included; 0 is no limit."""

    first: int = 0
    last: int = 0

    def has(self, day: int) -> bool:
        """Return whether a day is in it."""
        return self.first <= day and (not self.last or day <= self.last)


def priced(cells: Iterable[SpentCell], prices: PriceTable, name_of: Callable[[bytes], str]) -> list[PricedCell]:
    """Return the cells with their costs; `name_of` returns the name of a project, and is called once for each."""
    names: dict[bytes, str] = {}
    price = CellPrices(prices)
    out = []
    for spent in cells:
        if spent.project not in names:
            names[spent.project] = name_of(spent.project)
        is_recorded = spent.cell.key.state == CostState.RECORDED
        recorded = spent.cell.cost if is_recorded else None
        computed = None if is_recorded else price.of(spent.cell)
        out.append(PricedCell(spent, names[spent.project], recorded, computed))
    return out


def grouped(cells: Iterable[PricedCell], by: str) -> UsageTable:
    """Return the sums: days and months in their order, everything else with the most expensive first."""
    sums: dict[str, UsageSum] = defaultdict(UsageSum)
    total, name_of = UsageSum(), _NAMES[by]
    for cell in cells:
        sums[name_of(cell)].add(cell)
    for found in sums.values():
        total.include(found)
    rows = sorted(sums.items(), key=(lambda row: row[0]) if by in _IN_TIME else _largest_first)
    return UsageTable(by, rows, total)


@cache
def _iso(day: int) -> str:
    """Return a day as `2026-02-10`, empty if it is unknown."""
    return date.fromordinal(day).isoformat() if day else ""


def _largest_first(row: tuple[str, UsageSum]) -> Any:
    name, found = row
    return -(found.cost or 0.0), -found.tokens.total, name


_NAMES: Final[dict[str, Callable[[PricedCell], str]]] = {
    "day": lambda cell: _iso(cell.spent.cell.key.day),
    "month": lambda cell: _iso(cell.spent.cell.key.day)[:7],
    "project": lambda cell: cell.project,
    "model": lambda cell: cell.spent.cell.key.model,
    "agent": lambda cell: cell.spent.agent,
}


def document(table: UsageTable, period: Period, zone: str, prices: PriceTable) -> dict[str, Any]:
    """Return all of it as one JSON object."""
    limits = {"since": period.first, "until": period.last}
    return {
        "by": table.by,
        **{name: _iso(day) for name, day in limits.items() if day},
        "timeZone": zone,
        **({"prices": prices.label} if prices.label else {}),
        "rows": [({table.by: name} if name else {}) | found.to_json() for name, found in table.rows],
        "total": table.total.to_json(),
    }
