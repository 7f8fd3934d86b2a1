"""Real sessions are written again, slice by slice, beside a daemon that is killed: what it recorded is what is exported."""

import json
import os
import random
import time
from collections.abc import Iterator
from itertools import count, cycle, islice
from pathlib import Path
from typing import Final

import pytest

from tests.oracle.corpus import READERS, Source
from tests.record.test_auto_corpus import PLACES, is_spawned, real_sessions
from tests.support.live import Live
from tests.support.world import World

SESSIONS: Final = 30
SLICES: Final = 8
KILLS: Final = 30
LARGEST: Final = 400_000  # bytes of a session
PAUSE: Final = 0.05  # seconds between two slices, at most
# The lists of the documents that agents rewrite with each message.
LISTS: Final = ("messages", "requests")
# A session of OpenCode is many files; the real ones of zot are streams that katod does not follow.
NOT_PLAYED: Final = {"opencode", "zot"}
MADE_UP: Final = {"modern-kind2-insert.jsonl"}  # a journal that changes an answer after its end


def states(source: Source, rng: random.Random) -> list[bytes]:
    """Return what a session's file contains, one time after the other: more and more of it, cut anywhere."""
    data = source.path.read_bytes()
    if source.path.suffix == ".json":
        value = json.loads(data)
        name = next((name for name in LISTS if name in value), "")
        whole = len(value.get(name, ()))
        sizes = sorted(rng.sample(range(whole), min(SLICES, whole)))
        return [*(json.dumps(value | {name: value[name][:size]}).encode() for size in sizes), data]
    return [*(data[:size] for size in sorted(rng.sample(range(len(data)), min(SLICES, len(data))))), data]


def write(path: Path, state: bytes) -> None:
    """Write the next state of a file as agents do: what follows is appended, and a document replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".json":
        with path.open("ab") as file:
            file.write(state[file.tell() :])
        return
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(state)
    os.replace(fresh, path)


def slices(world: World, agent: str, rng: random.Random) -> Iterator[tuple[Path, bytes]]:
    """Yield what is written where, of all sessions at the same time."""
    sources = [
        source for source in real_sessions(agent)
        if 0 < source.path.stat().st_size <= LARGEST and source.path.name not in MADE_UP and not is_spawned(source)
    ]  # fmt: skip
    if not sources:
        pytest.skip("there are no real sessions of this agent: see KATOD_CORPUS")
    played = zip(islice(cycle(sources), SESSIONS), count(1), strict=False)
    rows = [(world.home / PLACES[agent](source, number), states(source, rng)) for source, number in played]
    while rows:
        path, left = rng.choice(rows)
        yield path, left.pop(0)
        rows = [row for row in rows if row[1]]


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted(READERS.keys() - NOT_PLAYED))
def test_what_a_daemon_that_is_killed_recorded_is_what_is_exported(world: World, agent: str) -> None:
    """Every output equals the export of its recording, byte for byte."""
    rng = random.Random(agent)
    world.config.write_text("[recording]\nauto = true\nnotify = false\n")
    steps = list(slices(world, agent, rng))
    live = Live(world)
    for n, (path, state) in enumerate(steps):
        if n % (len(steps) // KILLS + 1) == 0:
            if n:
                live.kill()
            live.start()
        write(path, state)
        time.sleep(rng.uniform(0, PAUSE))  # the daemon is killed in the middle of anything
    live.kill()
    print(f"{KILLS} kills; {sum(map(len, world.written().values()))} characters were written until the last one")
    world.once()
    assert world.assert_live_is_batch() > 0
