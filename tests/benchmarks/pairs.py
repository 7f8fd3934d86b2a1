"""Compares this checkout with another one, row by row: `python -m tests.benchmarks.pairs OTHER [--rounds 5]`.

Both run in turn on the same sessions, each as a process of its own, so that neither this machine nor its mood decides.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.discover.discovery import RESTS_AFTER
from tests.benchmarks import archive, generate, idle, latency
from tests.benchmarks.daemon import Measured, session_path
from tests.benchmarks.memory import peak_of
from tests.benchmarks.report import median
from tests.support.live import until
from tests.support.world import SOURCE, World

_PARSE: Final = "import sys, orjson\nfor path in sys.argv[1:]:\n  for line in open(path, 'rb'):\n    orjson.loads(line)"
_RARE: Final = "nowhere-to-be-found"
_FULL: Final = ("--tools", "full", "--thinking")
_GROUPS: Final = ("export", "peak", "start", "latency", "idle", "search")


class Cost(NamedTuple):
    """What a process took: CPU and wall seconds, and its peak memory in MB."""

    cpu: float
    wall: float
    peak: float


class Checkout(World):
    """A home in which the katod of a checkout runs."""

    def __init__(self, home: Path, source: Path) -> None:
        super().__init__(home, seen_empty=False)
        self.source = source

    @property
    def environment(self) -> dict[str, str]:
        """The complete environment of its processes."""
        return super().environment | {"PYTHONPATH": str(self.source)}

    def took(self, *arguments: str, code: int = 0, pin: bool = False) -> Cost:
        """Run katod, on one processor if it is to `pin`; return what it took."""
        return took([sys.executable, "-m", "katod", *arguments], self.environment, self.home, code=code, pin=pin)


Figures = dict[str, float]
Measure = Callable[[Checkout], Figures]


def took(command: list[str], environment: dict[str, str], folder: Path, *, code: int = 0, pin: bool = False) -> Cost:
    """Run a command, on one processor if it is to `pin`; return what it took."""
    prefix = ["taskset", "-c", "0"] if pin else []
    before, began = _children(), time.perf_counter()
    with subprocess.Popen(
        [*prefix, *command],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        peak = peak_of(process)
    assert process.returncode == code, command
    return Cost(_children() - before, time.perf_counter() - began, peak)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# -- the rows ----------------------------------------------------------------------------------------


def exported(checkout: Checkout) -> Figures:
    """Measure 100 MB: parsed only, and in each form that people export; CPU seconds on one processor."""
    paths = [str(path) for path in checkout.home.glob(".claude/projects/*/*.jsonl")]
    floor = took([sys.executable, "-c", _PARSE, *paths], checkout.environment, checkout.home, pin=True).cpu
    found = {"orjson.loads of the lines, CPU s": floor}
    forms = {
        "full Markdown": ("markdown", *_FULL),
        "default Markdown": ("markdown",),
        "JSONL": ("jsonl",),
        "HTML": ("html",),
    }
    for name, (form, *options) in forms.items():
        with _folder(checkout) as folder:
            cost = checkout.took("export", "--all", "-f", form, *options, "-o", folder, pin=True)
        found |= {f"{name}, CPU s": cost.cpu, f"{name}, times orjson.loads": cost.cpu / floor}
    walls = []
    for pin in (True, False):
        with _folder(checkout) as folder:
            walls.append(checkout.took("export", "--all", *_FULL, "-o", folder, pin=pin).wall)
    return found | {"export --all, one processor : all, wall": walls[0] / walls[1]}


@contextmanager
def _folder(checkout: Checkout) -> Iterator[str]:
    folder = checkout.home / "all"
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder)


def peaked(checkout: Checkout) -> Figures:
    """Measure one file of 1 GB."""
    [path] = checkout.home.glob("*.jsonl")
    output = checkout.home / "out.md"
    cost = checkout.took("export", str(path), "-o", str(output))
    output.unlink()
    return {"1 GB in one file, peak MB": cost.peak}


def started(checkout: Checkout, megabytes: int = 300) -> Figures:
    """Measure `::start` in a large session: until the first line is written, and the daemon's memory after it."""
    made = generate.AGENTS["claude"](seed=5)
    path = session_path(checkout, made)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.writelines(generate.session("claude", megabytes * 1_000_000, seed=5))
    rows: list[dict[str, Any]] = made.asked("::start big.md") + made.said("first words")
    said = [row | {"sessionId": made.id, "timestamp": "2026-12-01T12:00:00.000Z"} for row in rows]
    output = checkout.out / "lantern" / "big.md"
    with Measured(checkout) as daemon:
        daemon.settled()
        began = time.perf_counter()
        with path.open("ab") as file:
            file.write(generate.lines(said))
        until(lambda: output.exists() and b"first words" in output.read_bytes(), "the first line", 60)
        took = time.perf_counter() - began
        daemon.settled()
        return {"::start in 300 MB, first line, s": took, "::start in 300 MB, daemon's MB": daemon.rss()}


def followed(checkout: Checkout) -> Figures:
    """Measure a recorded session among 10,000 others: latency, CPU for each line, CPU at rest, and memory."""
    with Measured(checkout) as daemon:
        writer = latency.Writer(checkout, 0)
        daemon.settled()
        waits = sorted(_waits(writer) for _ in range(100))
        alone = _each_line(daemon, writer, 60, 0.5)
        many = _each_line(daemon, writer, 1000, 0.01)
        writer.close()
        time.sleep(RESTS_AFTER)
        share, rss = idle.watch(daemon, 60)
        share += idle.deep_share(checkout.home, daemon)
        return {
            "append to output, 10,000 sessions, median ms": median(waits) * 1000,
            "append to output, 10,000 sessions, p99 ms": waits[98] * 1000,
            "CPU for a line, alone, ms": alone,
            "CPU for a line, 100 a second, ms": many,
            "at rest, 10,000 sessions, % CPU": share,
            "daemon, 10,000 sessions, MB": rss,
        }


def _waits(writer: latency.Writer) -> float:
    time.sleep(0.1)
    writer.append()
    while not (found := writer.look()):
        time.sleep(0.0005)
    return found[0]


def _each_line(daemon: Measured, writer: latency.Writer, count: int, gap: float) -> float:
    """Return the CPU time in ms that each line takes, of so many appends that many seconds apart."""
    daemon.settled()
    began, cpu, lines = time.perf_counter(), daemon.cpu(), 0
    for number in range(count):
        lines += writer.append()
        time.sleep(max(0.0, began + (number + 1) * gap - time.perf_counter()))
    until(lambda: writer.look() or not writer.waiting, "the last line")
    return (daemon.cpu() - cpu) / lines * 1000


def rested(checkout: Checkout) -> Figures:
    """Measure the memory of a daemon with 1,001 sessions."""
    with Measured(checkout) as daemon:
        daemon.settled()
        return {"daemon, 1,001 sessions, MB": daemon.rss()}


def searched(checkout: Checkout) -> Figures:
    """Measure a search of 1 GB that finds nothing, in two scripts; wall seconds."""
    words = {"ASCII": _RARE, "German": "Überflüße"}
    return {
        f"search --all, 1 GB, {name}, s": checkout.took("search", "--all", word, code=1).wall
        for name, word in words.items()
    }


# -- one run -----------------------------------------------------------------------------------------


def _prepared(group: str, home: Path) -> None:
    """Write what the rows of a group are measured with."""
    if group == "export":
        archive.fill(home, 40, kinds=40)
    elif group == "search":
        archive.fill(home, 400)
    elif group == "peak":
        made = generate.GeneratedClaude(seed=5)
        home.mkdir(parents=True, exist_ok=True)
        with (home / made.name()).open("wb") as file:
            file.writelines(generate.session("claude", 1_000_000_000, seed=5))
    elif group in ("latency", "idle"):
        idle.fill(home, 10_000 if group == "latency" else 1001)


_MEASURES: Final[dict[str, Measure]] = {
    "export": exported, "peak": peaked, "start": started, "latency": followed, "idle": rested, "search": searched,
}  # fmt: skip


def _compare(group: str, sources: dict[str, Path], rounds: int, folder: Path) -> None:
    """Print the medians of both checkouts, and of what one is of the other in the same round."""
    home = folder / group
    found: dict[str, list[Figures]] = {name: [] for name in sources}
    _prepared(group, home)
    for number in range(rounds):
        for name, source in list(sources.items())[:: 1 if number % 2 == 0 else -1]:
            checkout = Checkout(home, source)
            found[name].append(_MEASURES[group](checkout))
            _clean(checkout, group)
    here, there = found.values()
    for row in here[0]:
        pairs = [(mine[row], other[row]) for mine, other in zip(here, there, strict=True) if row in other]
        ratio = median([mine / other for mine, other in pairs])
        print(
            f"| {row} | {median([o for _, o in pairs]):.3g} | {median([m for m, _ in pairs]):.3g} | {ratio:.2f} |",
            flush=True,
        )


def _clean(checkout: Checkout, group: str) -> None:
    """Remove what katod wrote, and what a row added to the sessions."""
    for path in (checkout.state, checkout.out):
        shutil.rmtree(path, ignore_errors=True)
    if group == "start":
        shutil.rmtree(checkout.home / ".claude")
    elif group == "latency":
        session_path(checkout, generate.AGENTS["claude"](seed=1000)).unlink()
        for folder in checkout.home.glob(".claude/projects/new-*"):
            folder.rmdir()


def main() -> None:
    """Print a table in Markdown: each row there and here, and the ratio."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.pairs", description=__doc__)
    parser.add_argument("other", type=Path, help="the root of another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=_GROUPS, default=_GROUPS)
    options = parser.parse_args()
    sources = {"here": SOURCE, "there": options.other.resolve()}
    print("| row | there | here | here : there |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="katod-pairs-") as folder:
        for group in options.only:
            _compare(group, sources, options.rounds, Path(os.path.realpath(folder)))


if __name__ == "__main__":
    main()
