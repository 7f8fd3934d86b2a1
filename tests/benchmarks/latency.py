"""The latency from a writer's `write()` until the text appears in the output."""

import heapq
import math
import os
import re
import time
from pathlib import Path
from random import Random
from typing import Final

from tests.benchmarks.daemon import PATIENCE, Measured, session_path, world_at
from tests.benchmarks.generate import AGENTS, lines
from tests.benchmarks.report import Bar, Report, median, percentile
from tests.support.world import World

MEDIAN: Final = Bar(20, " ms")
P99: Final = Bar(150, " ms")
_POLL: Final = 0.0005
_LOST_AFTER: Final = 10.0
_MARKER: Final = re.compile(rb"marker-(\d+)-end")


class Writer:
    """A recorded session and its output."""

    def __init__(self, world: World, number: int) -> None:
        self._session = list(AGENTS.values())[number % 2](seed=1000 + number)
        name = f"w{number:02}.md"
        self._output = world.out / "lantern" / name
        self._pending: dict[int, float] = {}
        self._read = 0
        self._rest = b""
        self._count = 0
        path = session_path(world, self._session)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._fd, lines(self._session.opening() + self._session.asked(f"::start {name}")))

    def close(self) -> None:
        """Close the session file."""
        os.close(self._fd)

    @property
    def waiting(self) -> bool:
        """Return whether something written is not visible in the output yet."""
        return bool(self._pending)

    def append(self) -> int:
        """Write a message, often preceded by a tool call; return how many lines that is."""
        rows = self._session.worked() if self._session.random.random() < 0.4 else []
        rows += self._session.said(f"{self._session.texts.prose()}\n\nmarker-{self._count}-end")
        data = lines(rows)
        self._pending[self._count] = time.perf_counter()
        self._count += 1
        os.write(self._fd, data)
        return len(rows)

    def look(self) -> list[float]:
        """Return the latencies of new messages in the output, in seconds; infinity for lost ones."""
        try:
            size = os.stat(self._output).st_size
        except FileNotFoundError:
            size = 0
        now = time.perf_counter()
        seen = self._news(size) if size > self._read else []
        found = [now - self._pending.pop(number) for number in seen if number in self._pending]
        lost = [number for number, at in self._pending.items() if now - at > _LOST_AFTER]
        for number in lost:
            del self._pending[number]
        return found + [math.inf] * len(lost)

    def _news(self, size: int) -> list[int]:
        with self._output.open("rb") as file:
            file.seek(self._read)
            data = self._rest + file.read(size - self._read)
        self._read = size
        whole, newline, self._rest = data.rpartition(b"\n")
        return [int(number) for number in _MARKER.findall(whole + newline)]


def measure(report: Report, folder: Path, single: int, writers: int, seconds: float) -> None:
    """Measure one writer with `single` appends, and many writers, each appending once a second."""
    report.part("Append to output", "from write() to the bytes in the output, a recorded session, real daemon")
    _line(report, folder / "one", 1, single, (0.05, 0.15))
    _line(report, folder / "many", writers, round(seconds), (0.5, 1.5))


def _line(report: Report, folder: Path, count: int, each: int, gap: tuple[float, float]) -> None:
    with Measured(world_at(folder)) as daemon:
        writers = [Writer(daemon.world, number) for number in range(count)]
        try:
            _run(writers, 1, (0.0, 0.5))
            cpu, began = daemon.cpu(), time.monotonic()
            found = [latency * 1000 for latency in _run(writers, each, gap)]
            share = (daemon.cpu() - cpu) / (time.monotonic() - began)
        finally:
            for writer in writers:
                writer.close()
    half, most = median(found), percentile(found, 0.99)
    what = f"{count} writer{'s' if count > 1 else ''}, {len(found)} appends"
    figure = f"median {half:.1f} ms, p99 {most:.1f} ms, most {max(found, default=math.nan):.1f} ms"
    report.line(what, figure, (half, MEDIAN), (most, P99))
    report.note(f"{'':<40} the daemon took {share:.0%} of a core")


def _run(writers: list[Writer], each: int, gap: tuple[float, float]) -> list[float]:
    """Let every writer append `each` times while watching outputs that lag behind; return the latencies."""
    random = Random(3)
    begin = time.perf_counter()
    due = [(begin + random.uniform(0, gap[1]), number, each) for number in range(len(writers))]
    heapq.heapify(due)
    behind: list[Writer] = []
    found: list[float] = []
    deadline = begin + each * gap[1] + PATIENCE
    while (due or behind) and time.perf_counter() < deadline:
        while due and due[0][0] <= time.perf_counter():
            at, number, left = heapq.heappop(due)
            writers[number].append()
            behind.append(writers[number])
            if left > 1:
                heapq.heappush(due, (at + random.uniform(*gap), number, left - 1))
        for writer in dict.fromkeys(behind):
            found += writer.look()
        behind = [writer for writer in dict.fromkeys(behind) if writer.waiting]
        pause = due[0][0] - time.perf_counter() if due else _POLL
        time.sleep(max(0.0, min(pause, _POLL if behind else 0.05)))
    return found
