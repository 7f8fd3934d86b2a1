"""Measure throughput, latency, idle cost and memory, and print them in a table next to their bars."""

import argparse
import os
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Final

from katod import __version__
from tests.benchmarks import archive, commands, database, idle, latency, memory, serving, tables, throughput, usage
from tests.benchmarks.report import Report

PARTS: Final = (
    "throughput",
    "latency",
    "idle",
    "commands",
    "database",
    "memory",
    "archive",
    "serve",
    "usage",
    "tables",
)


def main() -> int:
    """Run the requested parts; return 0 even if bars are missed, unless `--strict`."""
    options = _options()
    signal.signal(signal.SIGTERM, _stop)
    began, report = time.monotonic(), Report()
    print(
        f"katod {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()},"
        f" {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory(prefix="katod-bench-") as folder:
        for part in PARTS:
            if part in options.only:
                _measure(part, report, Path(os.path.realpath(folder)), options)
    report.end()
    print(f"took {time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f} at the end")
    return 1 if report.misses and options.strict else 0


def _measure(part: str, report: Report, folder: Path, options: argparse.Namespace) -> None:
    quick: bool = options.quick
    if part == "throughput":
        throughput.measure(report, folder / "corpus", 2 if quick else 5, 4_000_000 if quick else 24_000_000)
    elif part == "latency":
        latency.measure(report, _made(folder / part), 40 if quick else 100, 50, 3 if quick else 12)
    elif not Path("/proc/self/status").exists():
        report.part(part)
        report.note("not measured: this needs Linux and its /proc")
    elif part == "idle":
        idle.measure(report, folder / part, options.sessions, options.seconds)
    elif part == "commands":
        commands.measure(report, folder / part, options.sessions, 3 if quick else 9)
    elif part == "database":
        database.measure(report, folder / part, options.database_mb, options.seconds, 20 if quick else 100)
    elif part == "memory":
        memory.measure(report, folder / part, options.big_mb)
    elif part == "usage":
        usage.measure(report, folder / part, options.usage_mb, options.sessions, 3 if quick else 9)
    elif part == "tables":
        tables.measure(report, folder / part, options.sessions, 3 if quick else 9)
    elif part == "serve":
        serving.measure(report, _made(folder / part), options.sessions, 4 if quick else 25, 20 if quick else 100)
    else:
        archive.measure(report, folder / part, options.archive_mb, 3 if quick else 9)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes: at most a minute in all")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a bar is missed")
    parser.add_argument("--seconds", type=float, help="how long the daemon is watched (60; quick: 4)")
    parser.add_argument("--sessions", type=int, help="how many session files the daemon has (10000; quick: 2000)")
    parser.add_argument("--big-mb", type=int, help="the size of the exported session in MB (1000; quick: 60)")
    parser.add_argument("--database-mb", type=int, help="the size of the database in MB (2000; quick: 100)")
    parser.add_argument("--archive-mb", type=int, help="the size of all exported sessions in MB (1000; quick: 25)")
    parser.add_argument("--usage-mb", type=int, help="the size of each agent's sessions in MB (100; quick: 20)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="only these parts")
    options = parser.parse_args()
    for name, full, quick in (
        ("seconds", 60.0, 4.0),
        ("sessions", 10_000, 2000),
        ("big_mb", 1000, 60),
        ("database_mb", 2000, 100),
        ("archive_mb", 1000, 25),
        ("usage_mb", 100, 20),
    ):
        if getattr(options, name) is None:
            setattr(options, name, quick if options.quick else full)
    return options


def _stop(_number: int, _frame: FrameType | None) -> None:
    """Exit normally, so that every process and folder created here is cleaned up."""
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main())
