"""`katod usage` counts what the agents' files say: over real sessions, it has the sums of an independent reader."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.model import SessionKey, Stat
from katod.usage.collect import UsageCollector
from katod.usage.counting import spent
from tests.oracle import usage
from tests.oracle.common import INVALID, records
from tests.oracle.corpus import Source, corpus_folder, corpus_sources, fixture_sources


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
    return [(agent, path) for agent, path in found if not (path.suffix == ".jsonl" and is_damaged(path))]


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
