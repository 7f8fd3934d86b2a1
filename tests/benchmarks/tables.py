"""Tables of many small sessions: what a data set costs the first time and without news, and what engines answer."""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.daemon import world_at
from tests.benchmarks.report import Bar, Report, median
from tests.support.world import World
from tests.tables import engines, many

UNCHANGED: Final = Bar(0.5, " s")
EQUAL: Final = Bar(0, " differ")
_KINDS: Final = ("day", "project", "model", "agent")


def measure(report: Report, folder: Path, sessions: int, times: int) -> None:
    """Bring a data set up to date, ask three engines ten questions, and compare its usage with `katod usage`."""
    report.part(f"Tables of {sessions:,} sessions", f"CPU seconds, median of {times}")
    if find_spec("pyarrow") is None:
        report.note("not measured: this needs the extra `tables`")
        return
    world = world_at(folder)
    paths = many.fill(world.home, sessions)
    world.once()
    root = folder / "tables"
    report.line("first", f"{_run(world, root):.1f} s")
    unchanged = median([_run(world, root) for _ in range(times)])
    report.line("unchanged", f"{unchanged:.2f} s", (unchanged, UNCHANGED))
    grown = []
    for number in range(times):
        with paths[5 * number].open("ab") as file:
            file.write(paths[5 * number + 5].read_bytes().splitlines(keepends=True)[-1])
        grown.append(_run(world, root))
    report.line("one session grown", f"{median(grown):.2f} s")
    if all(find_spec(name) for name in ("duckdb", "polars", "chdb")):
        _ask(report, world, root)
    else:
        report.note("no engine is asked: that needs the extra `engines`")


def _ask(report: Report, world: World, root: Path) -> None:
    duckdb, clickhouse, polars = engines.duckdb_of(root), engines.clickhouse_of(root), engines.polars_of(root)
    took, answers = dict.fromkeys(("DuckDB", "ClickHouse", "Polars"), 0.0), list[Any]()
    for question in engines.questions().values():
        asked: dict[str, Callable[[], engines.Rows]] = {
            "DuckDB": lambda question=question: duckdb(question.sql),  # type: ignore[misc]
            "ClickHouse": lambda question=question: clickhouse(question.sql),  # type: ignore[misc]
            "Polars": lambda question=question: question.polars(polars).collect().rows(),  # type: ignore[misc]
        }
        for name, ask in asked.items():
            began = time.monotonic()
            answers.append(engines.normal(ask()))
            took[name] += time.monotonic() - began
    different = sum(answers[at] != answers[at - at % 3] for at in range(len(answers)))
    figure = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items())
    report.line("ten questions", f"{figure}; {different} answers differ", (different, EQUAL))
    wrong = sum(_differs(world, duckdb, by) for by in _KINDS)
    report.line("sums beside `katod usage`", f"{wrong} of {len(_KINDS)} groupings differ", (wrong, EQUAL))


def _differs(world: World, ask: Callable[[str], engines.Rows], by: str) -> bool:
    """Return whether tokens or recorded costs are not those of `katod usage`."""
    command = [sys.executable, "-m", "katod", "usage", "--by", by, "--json"]
    found = subprocess.run(command, env=world.environment, stdout=subprocess.PIPE, check=True).stdout
    rows = json.loads(found)["rows"]
    expected = {(row.get(by), row["tokens"]["total"], row["cost"].get("recorded", 0)) for row in rows}
    total = "sum(input + output + cache_read + cache_write)"
    sums = ask(f"SELECT {by}, {total}, sum(cost_usd) FROM usage GROUP BY 1")
    return {(str(name), tokens, round(cost or 0, 6)) for name, tokens, cost in sums} != expected


def _run(world: World, root: Path) -> float:
    """Return the CPU seconds of a run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "katod", "export", "--all", "-f", "parquet", "-o", str(root)]
    subprocess.run(command, env=world.environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
