"""`katod usage` counts what the agents' files say: over real sessions, it has the sums of an independent reader."""

from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

import pytest

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.model import SessionKey, Stat
from katod.usage.cells import CellKey, CostState, UsageCell, size_of
from katod.usage.collect import UsageCollector
from katod.usage.counting import spent
from katod.usage.pricetable import open_table
from katod.usage.pricing import CellPrices, PriceTable
from katod.usage.reading import UsageReader
from katod.usage.source import SourceUsage
from tests.oracle import usage
from tests.oracle.common import INVALID, records
from tests.oracle.corpus import DOCUMENTS, Source, corpus_folder, corpus_sources, fixture_sources


def found(sources: list[tuple[str, Path]]) -> list[FoundSession]:
    """Return the sessions of these files, as a sweep would find them."""
    sessions: dict[SessionKey, FoundSession] = {}
    for agent, path in sources:
        identity, status = AGENTS[agent].named(path), path.stat()
        if agent == "codex":  # the corpus does not keep the names of rollouts, which have the id of the thread
            identity = identity._replace(key=SessionKey(agent, usage.thread_of(path)[0]))
        stat = Stat(status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)
        sessions.setdefault(identity.key, FoundSession(identity.key)).files.append((str(path), identity, stat))
    return list(sessions.values())


def sums(sources: list[tuple[str, Path]]) -> dict[str, usage.Counts]:
    """Return what `katod usage` counts of these files, by agent."""
    collector = UsageCollector("UTC", None, lambda _key: False)
    counted = collector.collect(found(sources), everything=False)
    assert collector.problems == {}
    used: dict[str, list[usage.Counts]] = defaultdict(list)
    for one in spent(counted, lambda agent: AGENTS[agent].nature.has_native_ids):
        tokens = one.cell.tokens
        used[one.agent].append((tokens.input, tokens.cache_read, tokens.cache_write, tokens.output))
    return {agent: tuple(map(sum, zip(*counts, strict=True))) for agent, counts in used.items()}


def with_usage(sources: list[Source]) -> list[tuple[str, Path]]:
    """Return the files of agents that record usage, but for those with damaged lines: katod finds more in them."""
    found = [(source.agent, source.path) for source in sources if source.agent in usage.READERS]
    return [(agent, path) for agent, path in found if agent in DOCUMENTS or not is_damaged(path)]


def is_damaged(path: Path) -> bool:
    other: Counter[str] = Counter()
    for _ in records(path, other):
        pass
    return bool(other[INVALID])


@pytest.mark.slow
def test_the_tokens_of_the_fixtures_are_those_that_their_files_say() -> None:
    """Each answer once, whatever its agent counts as input and output."""
    sources = with_usage(fixture_sources())
    assert sums(sources) == usage.sums(sources)


@pytest.mark.slow
@pytest.mark.skipif(not corpus_sources(), reason=f"no real sessions under {corpus_folder()}")
def test_the_tokens_of_real_sessions_are_those_that_their_files_say() -> None:
    """Forks, snapshots of one session and repeated records count once, in all files together."""
    sources = with_usage(corpus_sources())
    assert sums(sources) == usage.sums(sources)


@pytest.mark.slow
@pytest.mark.skipif(not corpus_sources(), reason=f"no real sessions under {corpus_folder()}")
def test_a_computed_cost_is_the_recorded_one() -> None:
    """Of each model whose answers have recorded costs, half of the computed ones are within a hundredth of those."""
    pytest.importorskip("genai_prices")
    ratios = ratios_of(with_usage(corpus_sources()), open_table("auto"))
    assert len(ratios) >= 5
    assert {model: round(median(found), 4) for model, found in ratios.items() if abs(median(found) - 1) > 0.01} == {}


def ratios_of(sources: list[tuple[str, Path]], prices: PriceTable) -> dict[str, list[float]]:
    """Return, by agent and model, each computed cost divided by the recorded one, which the price does not know."""
    ratios: dict[str, list[float]] = defaultdict(list)
    reader, seen = UsageReader("UTC", hash), set[int]()
    for agent, path in sources:
        used = SourceUsage()
        reader.read(str(path), AGENTS[agent].named(path), 0, used)
        for answer in used.answers.values():
            key = CellKey(answer.day, answer.model, size_of(answer.tokens.prompt), CostState.OPEN)
            price = CellPrices(prices).of(UsageCell(key, 1, answer.tokens, 0.0))
            if answer.cost and price is not None and answer.key not in seen:
                ratios[f"{agent} {answer.model}"].append(price / answer.cost)
            seen.add(answer.key)
    return ratios
