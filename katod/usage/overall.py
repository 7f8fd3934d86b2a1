"""What many sessions used: read from their files, or taken from what is kept of them in the state directory."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.model import SessionKey
from katod.processes import each_elsewhere
from katod.store.ledger import Ledger
from katod.store.usagecache import UsageCache
from katod.usage.collect import Reading, UsageCollector
from katod.usage.counting import CountedSource, SpentCell, owners, spent
from katod.usage.grouping import UsageSum, priced
from katod.usage.packed import VERSION
from katod.usage.pricing import PriceTable

_MUCH: Final = 16_000_000  # bytes; less is read sooner than processes begin


class CollectedUsage(NamedTuple):
    """What sessions used, what names their projects, and why files could not be read, by their paths."""

    sources: list[CountedSource]
    cells: list[SpentCell]
    collector: UsageCollector
    problems: dict[str, str]


def used_by_session(found: CollectedUsage, prices: PriceTable) -> dict[SessionKey, UsageSum]:
    """Return what each session used, its sub-agents included; a session that works for another one is a part of it.

    If that one is gone, the first of those that worked for it has the sum: all sums are that of all usage.
    """
    sums: dict[bytes, UsageSum] = defaultdict(UsageSum)
    for cell in priced(found.cells, prices, lambda _project: ""):
        sums[cell.spent.session].add(cell)
    names = sorted(found.collector.names().items(), key=lambda item: bool(item[0].subagent))  # main sessions first
    used = {key: sums.pop(name) for key, name in names if name in sums and not key.subagent}
    owner = owners(found.sources) if sums else {}
    return used | {key: sums.pop(owner[name]) for key, name in names if owner.get(name) in sums}


def collected(
    sessions: Iterable[FoundSession],
    state: Path,
    zone: str,
    *,
    everything: bool = False,
    ahead: bool = False,
    kept_in: Path | None = None,
    gone: Iterable[tuple[SessionKey, str]] = (),
) -> Iterator[CollectedUsage | None]:
    """Yield None after each session, and what all of them used at the end; days are those of a time zone.

    If they are `everything`, what is known of others is dropped. What was read is kept also if the rest is given up.
    Much that is new is read `ahead`, by other processes, which is for a process of one thread. What is read is kept in
    the state directory, or is `kept_in` another one; files that are `gone` count as long as it is known there what they
    used: for its owner to forget, whatever the time zone is meanwhile.
    Raises LedgerError.
    """
    cache = UsageCache.open(kept_in or state, VERSION, zone, keeps_gone=kept_in is not None)
    with closing(cache) if cache is not None else nullcontext():
        collector = UsageCollector(zone, cache, partial(forgotten_sessions, state) if kept_in is None else _none)
        is_complete = False
        try:
            for session, reading in _read_ahead(collector, sessions) if ahead else ((one, None) for one in sessions):
                collector.take(session, reading)
                yield None
            is_complete = True
        finally:
            collector.keep(everything=everything and is_complete)
        for key, path in gone:
            collector.take_gone(key, path)
        sources = collector.counted()
        cells = spent(sources, _has_ids)  # which may need the answers of copies
    yield CollectedUsage(sources, cells, collector, collector.problems)


def _read_ahead(
    collector: UsageCollector, sessions: Iterable[FoundSession]
) -> Iterator[tuple[FoundSession, list[Reading] | None]]:
    """Yield sessions, each with what other processes read of it, if they did."""
    found = list(sessions)
    new = [session for session in found if collector.is_new(session)]
    numbers = {session.key: number for number, session in enumerate(new)}
    sizes = [session.size for session in new]
    with each_elsewhere(lambda number: collector.read_ahead(new[number]), sizes, _MUCH) as readings:
        for session in found:
            yield session, readings(numbers[session.key]) if session.key in numbers else None


def _none(_keys: Iterable[SessionKey]) -> set[SessionKey]:
    return set()


def forgotten_sessions(state: Path, keys: Iterable[SessionKey]) -> set[SessionKey]:
    """Return which of these sessions are forgotten by now."""
    ledger = Ledger.read(state)
    if ledger is None:
        return set()
    with closing(ledger):
        if not ledger.has_tombstones():
            return set()
        return {key for key in keys if ledger.tombstones.of_session(key) is not None}


def _has_ids(agent: str) -> bool:
    return AGENTS[agent].nature.has_native_ids
