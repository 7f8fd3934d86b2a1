"""The daemon's cost while little or nothing happens, with many sessions on the disk."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from katod.discover.discovery import DEEP_EVERY
from tests.benchmarks import generate
from tests.benchmarks.daemon import Measured, world_at
from tests.benchmarks.latency import Writer
from tests.benchmarks.report import Bar, Report, median

CPU: Final = Bar(0.06, " %")
RSS: Final = Bar(80, " MB")
_FOLDER_HOLDS: Final = 50


def measure(report: Report, folder: Path, sessions: int, seconds: float) -> None:
    """Measure the first start, the next one, an idle minute and a minute with one active session."""
    report.part(f"A daemon with {sessions:,} session files", f"CPU in % of one core over {seconds:.0f} s")
    world = world_at(folder)
    fill(folder, sessions)
    with Measured(world) as daemon:
        _start(report, daemon, "first start, all of them new")
        share, rss = watch(daemon, min(seconds, 10))
        report.line("quiet, just after the first start", f"{share:.2f} % CPU, {rss:.1f} MB")
    with Measured(world) as daemon:
        _start(report, daemon, "start, all of them known")
        share, rss = watch(daemon, seconds)
        sweep = _sweep(folder, daemon, times=3 if seconds >= 60 else 1)
        share += _deep_share(sweep)
        report.line("idle", f"{share:.3f} % CPU, {rss:.1f} MB", (share, CPU), (rss, RSS))
        report.note(f"{'':<40} with a sweep of all files every ten minutes, which takes {sweep * 1000:.0f} ms of CPU")
        with _active(daemon) as append:
            share, rss = watch(daemon, seconds, append)
        report.line("one active session, an append a second", f"{share:.2f} % CPU, {rss:.1f} MB", (rss, RSS))


def fill(folder: Path, sessions: int) -> None:
    """Create small sessions: four in five of Claude Code, in project folders, the others of Codex, by day.

    Each was modified an hour before the previous one.
    """
    bodies = {agent: [b"".join(generate.session(agent, 2000, seed)) for seed in range(10)] for agent in generate.AGENTS}
    now = time.time()
    for number in range(sessions):
        agent = "codex" if number % 5 == 4 else "claude"
        made = generate.AGENTS[agent](seed=100_000 + number)
        part = number // 5 // _FOLDER_HOLDS * 5 + number % 5
        project, day = f"projects/-home-dev-work-{part}", f"sessions/2025/{part // 28 % 12 + 1:02}/{part % 28 + 1:02}"
        path = folder / f".{agent}" / (project if agent == "claude" else day) / made.name()
        if not path.parent.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bodies[agent][number % 10])
        os.utime(path, (now - (number + 1) * 3600,) * 2)


def _start(report: Report, daemon: Measured, what: str) -> None:
    wall, cpu = daemon.ready - daemon.began, daemon.cpu()
    settled = daemon.settled()
    report.line(what, f"{wall:.2f} s to ready ({cpu:.2f} s CPU), {settled:.2f} s CPU in all")


def watch(daemon: Measured, seconds: float, each_second: Callable[[], object] = lambda: None) -> tuple[float, float]:
    """Return the CPU usage in percent of a core, and the highest RSS, over some seconds."""
    began, cpu, rss = time.monotonic(), daemon.cpu(), daemon.rss()
    while (left := seconds - (time.monotonic() - began)) > 0:
        each_second()
        time.sleep(min(left, 1.0))
        rss = max(rss, daemon.rss())
    return (daemon.cpu() - cpu) / (time.monotonic() - began) * 100, rss


def deep_share(folder: Path, daemon: Measured) -> float:
    """Return the CPU usage, in percent of a core, of the sweeps of all files."""
    return _deep_share(_sweep(folder, daemon, times=1))


def _deep_share(sweep: float) -> float:
    return sweep / DEEP_EVERY * 100


def _sweep(folder: Path, daemon: Measured, times: int) -> float:
    """Return the CPU seconds of one full sweep, which a new folder triggers."""
    costs: list[float] = []
    for number in range(times):
        before = daemon.settled()
        (folder / f".claude/projects/new-{number}").mkdir()
        costs.append(daemon.settled() - before)
    return median(costs)


@contextmanager
def _active(daemon: Measured) -> Iterator[Callable[[], object]]:
    """Record one session; yield a function that appends to it."""
    writer = Writer(daemon.world, 0)
    try:
        daemon.settled()
        yield writer.append
    finally:
        writer.close()
