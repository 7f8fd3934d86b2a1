"""The rows of `usage`: what `katod usage` counts, by session, day and model. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from hashlib import blake2b
from typing import Any, NamedTuple

from katod.model import SessionKey
from katod.usage.cells import CostState
from katod.usage.counting import CountedSource, SpentCell, owners
from katod.usage.counts import TokenCounts

Row = dict[str, Any]


class UsageGroup(NamedTuple):
    """What the answers of a row have in common."""

    project: str
    day: int
    model: str
    has_cost: bool


class _UsageTotal:
    """The sum over the cells of a row."""

    def __init__(self) -> None:
        self.answers = 0
        self.tokens = TokenCounts()
        self.cost = 0.0

    def add(self, cell: SpentCell) -> None:
        """Add a cell."""
        self.answers += cell.cell.answers
        self.tokens = self.tokens.plus(cell.cell.tokens)
        self.cost += cell.cell.cost


def sessions_of(
    sources: Iterable[CountedSource], names: Mapping[SessionKey, bytes], is_known: Callable[[SessionKey], bool]
) -> dict[bytes, SessionKey]:
    """Return the session of each hash for which answers count: a known one if possible, else one that works for it."""
    found: dict[bytes, SessionKey] = {}
    owner = owners(sources)
    for key in sorted(names, key=lambda key: (bool(key.subagent), key)):
        for name, there in ((names[key], key._replace(subagent="")), (owner.get(names[key], b""), key)):
            if name and (name not in found or (is_known(there) and not is_known(found[name]))):
                found[name] = there
    return found


def usage_rows(
    cells: Iterable[SpentCell], sessions: Mapping[bytes, SessionKey], project_of: Callable[[bytes], str]
) -> dict[SessionKey, list[Row]]:
    """Return the rows of each session, in an order that depends on nothing else."""
    sums: dict[SessionKey, dict[UsageGroup, _UsageTotal]] = defaultdict(lambda: defaultdict(_UsageTotal))
    for cell in sorted(cells, key=lambda spent: (spent.session, spent.cell)):
        key, known = cell.cell.key, sessions.get(cell.session)
        if known is not None:
            group = UsageGroup(project_of(cell.project), key.day, key.model, key.state == CostState.RECORDED)
            sums[known][group].add(cell)
    return {
        session: [_row(session, *one) for one in sorted(found.items(), key=_first)] for session, found in sums.items()
    }


def _first(item: tuple[UsageGroup, _UsageTotal]) -> UsageGroup:
    return item[0]


def _row(session: SessionKey, group: UsageGroup, total: _UsageTotal) -> Row:
    tokens = total.tokens
    return {
        "session": str(session), "project": group.project or None, "model": group.model or None,
        "day": date.fromordinal(group.day) if group.day else None, "answers": total.answers,
        "input": tokens.input, "output": tokens.output, "cache_read": tokens.cache_read,
        "cache_write": tokens.cache_write, "cache_write_1h": tokens.cache_hour, "reasoning": tokens.reasoning,
        "has_cost": group.has_cost, "cost_usd": total.cost if group.has_cost else None,
    }  # fmt: skip


def digest_of(rows: Iterable[Row]) -> str:
    """Return a short hash of rows."""
    hashed = blake2b(digest_size=8)
    for row in rows:
        hashed.update(repr(list(row.values())).encode("utf-8", "replace"))
    return hashed.hexdigest()
