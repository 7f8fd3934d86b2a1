"""`katod usage` for each agent: what its sessions cost to read the first time, and what many unchanged files cost."""

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from tests.benchmarks.daemon import world_at
from tests.benchmarks.database import Store
from tests.benchmarks.idle import fill as fill_with_files
from tests.benchmarks.report import Bar, Report, median
from tests.benchmarks.texts import Texts
from tests.support.records import (
    Claude,
    CodexLegacy,
    Gemini,
    GeminiDocument,
    Kimi,
    Maker,
    Qwen,
    Said,
    calls,
    result,
    says,
    user,
)
from tests.support.world import World

READING: Final = Bar(5, " s for a gigabyte")
UNCHANGED: Final = Bar(0.5, " s")
_MAKERS: Final[tuple[Callable[..., Maker], ...]] = (
    Claude, CodexLegacy, Gemini, GeminiDocument, Kimi, Qwen,
)  # fmt: skip
_STEPS: Final = 300  # calls in a session
_POOL_SEED: Final = 7
_COUNTS: Final = {"input": 900, "output": 40, "cached": 700, "thoughts": 9, "tool": 0, "total": 949}


def measure(report: Report, folder: Path, megabytes: int, sessions: int, times: int) -> None:
    """Measure the first reading of so many megabytes of each agent's sessions, and a run over unchanged files."""
    report.part(f"Usage: {megabytes:,} MB of each agent", "CPU seconds, without those of a run that finds nothing")
    if (free := shutil.disk_usage(folder.parent).free / 1e6) < megabytes * 2.5:
        report.note(f"not measured: {free:.0f} MB are free here, {megabytes * 2.5:.0f} MB are needed")
        return
    empty = median([_run(_world(folder / "empty")) for _ in range(times)])
    for make in _MAKERS:
        world = _world(folder / make.__name__)
        _first(report, world, make.__name__, _fill(world, make, megabytes * 1_000_000), empty)
    world = _world(folder / "OpenCode")
    store = Store(world.home / ".local/share/opencode")
    store.fill(megabytes)
    store.close()
    _first(report, world, "OpenCode", store.path.stat().st_size, empty)
    world = _world(folder / "many")
    fill_with_files(world.home, sessions)
    _set_apart(world.home)
    world.once()  # without a state directory, nothing is kept
    _run(world)
    again = median([_run(world) for _ in range(times)])
    report.line(f"{sessions:,} unchanged files", f"{again:.2f} s with the start of Python", (again, UNCHANGED))


def _world(folder: Path) -> World:
    """Return a world without prices: to load them takes as long for a session as for a thousand."""
    world = world_at(folder)
    world.configure(**{"prices.source": "none"})
    return world


def _first(report: Report, world: World, agent: str, size: int, empty: float) -> None:
    """Measure the first run over sessions of this size, and delete them."""
    took = (_run(world) - empty) / size * 1e9
    report.line(agent, f"{took:.1f} s for a gigabyte", (took, READING))
    shutil.rmtree(world.home)


def _fill(world: World, make: Callable[..., Maker], size: int) -> int:
    """Write sessions of this size, and return it as it is on the disk."""
    texts, made, number = Texts(_POOL_SEED), 0, 0
    while made < size:
        number += 1
        session = make(world, f"{number:08x}-8a53-4c3e-9b5e-{number:012x}", start=number * 10_000)
        session.put(*(row | _used(row) for said in islice(_said(texts), 3 * _STEPS) for row in session.records(said)))
        made += session.path.stat().st_size
    return made


def _said(texts: Texts) -> Iterator[Said]:
    """Yield what is said in a session without end."""
    number = 0
    while True:
        number += 1
        yield user(texts.request()) if number % 20 == 1 else says(texts.prose())
        yield calls(f"call_{number}", f"pytest -q {texts.path()}")
        yield result(f"call_{number}", texts.source() if number % 3 else texts.printed())


def _used(row: dict[str, object]) -> dict[str, object]:
    """Return what is missing in a record of the tests: Gemini CLI says what an answer with calls used, too."""
    return {"tokens": _COUNTS} if row.get("type") == "gemini" else {}


def _set_apart(home: Path) -> None:
    """Give the messages of each file ids of their own: its content is that of others, and they would be copies."""
    for number, path in enumerate(sorted(home.rglob("*.jsonl"))):
        path.write_bytes(path.read_bytes().replace(b'"msg_', b'"msg_%06x' % number))


def _run(world: World) -> float:
    """Return the CPU seconds of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "katod", "usage"]
    subprocess.run(
        command, env=world.environment, cwd=world.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
