"""Sources to sessions: each answer counts once, and a cost of a whole session is shared among its answers. Pure.

A copy of an answer has the same key. Where records have no ids of their own, a key is its content, so that only the
sessions that go on from one another are compared.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from katod.usage.cells import CellKey, CostState, UsageCell, cells_of
from katod.usage.counts import TokenCounts
from katod.usage.source import ALL_MODELS, SourceUsage

# How much tokens cost, compared with one of the input: what divides a cost among the answers of a model.
_WEIGHTS: Final = (1.0, 5.0, 0.1, 1.25, 0.75)  # input, output, cache read, cache write, more for an hour


class CountedSource(NamedTuple):
    """One source as it was read: who it belongs to, and what it used."""

    agent: str
    session: bytes  # a hash of its id
    project: bytes  # likewise
    parent: bytes  # likewise, of the session that it goes on from, or whose sub-agent it is
    is_subagent: bool  # of the session
    is_spawned: bool  # a sub-agent of the parent
    changed_ns: int
    path: bytes
    keys: Collection[int]
    cells: Sequence[UsageCell]  # of all answers
    costs: dict[str, float]  # of the session, by model
    marked_day: int  # the day of the last answer that these costs include
    detail: Callable[[], SourceUsage]  # called only if some of the answers are copies


class SpentCell(NamedTuple):
    """A cell of one session with its sub-agents; its state is never `SHARED`."""

    agent: str
    session: bytes
    project: bytes
    cell: UsageCell


def spent(sources: Iterable[CountedSource], has_ids: Callable[[str], bool]) -> list[SpentCell]:
    """Return what was used, each answer once; `has_ids` says whether the records of an agent have ids of their own."""
    sources = list(sources)
    lineage = _Lineage(sources)
    counted = list(_once(sorted(sources, key=lineage.order), lineage, has_ids))
    families: dict[bytes, list[tuple[CountedSource, list[UsageCell]]]] = defaultdict(list)
    for source, cells in counted:
        families[lineage.owner(source)].append((source, cells))
    return [found for owner, members in families.items() for found in _of_session(owner, members)]


def owners(sources: Iterable[CountedSource]) -> dict[bytes, bytes]:
    """Return for each session the one that it counts for: itself, or the one that it works for."""
    sources = list(sources)
    lineage = _Lineage(sources)
    return {source.session: lineage.owner(source) for source in sources}


class _Lineage:
    """Which session goes on from which, and which belongs to which."""

    def __init__(self, sources: Iterable[CountedSource]) -> None:
        self._parents: dict[bytes, tuple[bytes, bool]] = {}
        for source in sources:
            if source.parent and source.parent != source.session:
                self._parents.setdefault(source.session, (source.parent, source.is_spawned))

    def owner(self, source: CountedSource) -> bytes:
        """Return the session that a source counts for: of a sub-agent, the one that it works for."""
        if source.session not in self._parents:  # as most are
            return source.session
        *_, last = self._above(source.session, spawned_only=True)
        return last

    def root(self, source: CountedSource) -> bytes:
        """Return the session that all others go on from."""
        *_, last = self._above(source.session)
        return last

    def order(self, source: CountedSource) -> tuple[int, bool, int, bytes]:
        """Return a key that sorts what was copied before its copies."""
        depth = sum(1 for _ in self._above(source.session)) if source.session in self._parents else 1
        return depth, source.is_subagent, source.changed_ns, source.path

    def _above(self, session: bytes, *, spawned_only: bool = False) -> Iterator[bytes]:
        """Yield a session and those above it, none twice."""
        passed = set[bytes]()
        while session not in passed:
            passed.add(session)
            yield session
            parent, is_spawned = self._parents.get(session, (b"", False))
            if not parent or (spawned_only and not is_spawned):
                return
            session = parent


def _once(
    ordered: Iterable[CountedSource], lineage: _Lineage, has_ids: Callable[[str], bool]
) -> Iterator[tuple[CountedSource, list[UsageCell]]]:
    """Yield the sources with the cells of what no source before them has."""
    passed: dict[tuple[str, bytes], set[int]] = defaultdict(set)
    for source in ordered:
        seen = passed[source.agent, b"" if has_ids(source.agent) else lineage.root(source)]
        is_new = seen.isdisjoint(source.keys)
        yield source, list(source.cells) if is_new else cells_of(source.detail(), seen)
        seen.update(source.keys)


def _of_session(owner: bytes, members: list[tuple[CountedSource, list[UsageCell]]]) -> Iterator[SpentCell]:
    """Yield the cells of a session, its recorded cost among them."""
    agent, project = members[0][0].agent, next((source.project for source, _ in members if source.project), b"")
    costs, day = _session_costs(members)
    shares = [_Share(name, cost, _sharing(members, day)) for name, cost in costs.items()]
    for source, cells in members:
        for cell in cells:
            yield SpentCell(agent, owner, source.project or project, _with_cost(source, cell, shares, day))
    yield from (SpentCell(agent, owner, project, share.alone(day)) for share in shares if not share.weight)


def _sharing(members: Iterable[tuple[CountedSource, list[UsageCell]]], day: int) -> list[UsageCell]:
    return [cell for source, _ in members for cell in source.cells if _shares(source, cell, day)]


def _session_costs(members: Iterable[tuple[CountedSource, list[UsageCell]]]) -> tuple[dict[str, float], int]:
    costs: dict[str, float] = {}
    day = 0
    for source, _ in members:
        for name, cost in source.costs.items():
            costs[name] = costs.get(name, 0.0) + cost
        day = max(day, source.marked_day)
    return costs, day


def _shares(source: CountedSource, cell: UsageCell, day: int) -> bool:
    """Return whether the cost of the session includes a cell: of a sub-agent's, up to the day that it was recorded."""
    if cell.key.state == CostState.SHARED:
        return True
    is_below = source.is_subagent or source.is_spawned
    return is_below and cell.key.state == CostState.OPEN and cell.key.day <= day


class _Share:
    """What the answers of one model cost together, divided among them."""

    def __init__(self, model: str, cost: float, cells: Iterable[UsageCell]) -> None:
        self._cost = cost
        self._model = model
        self.weight = sum(_weight(cell.tokens) for cell in cells if self.includes(cell))

    def alone(self, day: int) -> UsageCell:
        """Return a cell of the cost alone, of answers that are in no file, such as those for titles."""
        return UsageCell(CellKey(day, self._model, 0, CostState.RECORDED), 0, TokenCounts(), self._cost)

    def includes(self, cell: UsageCell) -> bool:
        """Return whether a cell is of the model; its name in a cost may have a variant in brackets behind it."""
        return self._model == ALL_MODELS or self._model.partition("[")[0] == cell.key.model

    def of(self, cell: UsageCell) -> float:
        """Return what a cell cost."""
        return self._cost * _weight(cell.tokens) / self.weight if self.weight else 0.0


def _with_cost(source: CountedSource, cell: UsageCell, shares: Iterable[_Share], day: int) -> UsageCell:
    """Return a cell with its part of what the session cost, open if its model has none."""
    if not _shares(source, cell, day):
        return cell
    own = [share for share in shares if share.includes(cell)]
    state = CostState.RECORDED if own else CostState.OPEN
    return cell._replace(key=cell.key._replace(state=state), cost=sum(share.of(cell) for share in own))


def _weight(tokens: TokenCounts) -> float:
    return sum(weight * count for weight, count in zip(_WEIGHTS, tokens, strict=False))
