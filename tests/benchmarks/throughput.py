"""The speed of scanning, translating and rendering whole sessions, relative to `orjson.loads` of their lines."""

import gc
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import orjson

from katod.agents import AGENTS
from katod.command.scan import find_command
from katod.config import Settings
from katod.log import EventLog
from katod.model import Cursor, Identity, Options, Stat
from katod.pipeline import STEP_BYTES
from katod.record.export import Stretch, render_all, replay
from katod.record.policy import Policy
from katod.rescue.folder import RescueFolder
from katod.rescue.saving import NativeFile, SavingTerms, Subject, save
from katod.tail.reader import open_source
from tests.benchmarks import generate
from tests.benchmarks.report import Bar, Report, median

FLOOR: Final = "plain orjson.loads"
_NOW: Final = "2026-01-05T08:00:00+00:00"
_NOT_SESSIONS: Final = frozenset(("history.jsonl", "session_index.jsonl", "marks.jsonl", "log.jsonl"))


@dataclass(frozen=True, slots=True)
class Source:
    """One session file, its lines in memory, and a log without output."""

    path: Path
    identity: Identity
    lines: list[bytes]
    size: int
    log: EventLog


def load(source: Source) -> None:
    """Parse every line and do nothing else; the other stages are compared with this."""
    for line in source.lines:
        try:
            orjson.loads(line)
        except orjson.JSONDecodeError:
            continue


def scan(source: Source) -> None:
    """Search for commands as the pipeline does in a session that is not recorded."""
    cursor, more = Cursor(), True
    while more:
        with open_source(str(source.path)) as file:
            file.verify_anchor(cursor)
            batch = file.read(cursor, STEP_BYTES)
            find_command(source.identity, batch)
            cursor, more = batch.cursor, batch.more


def translate(source: Source) -> None:
    """Replay the session without rendering it."""
    for _ in replay(source.identity.key, [Stretch(str(source.path), source.identity)], source.log):
        pass


def render(format_name: str, source: Source, *, redact: bool = True) -> None:
    """Render the session with the default options."""
    stream = replay(source.identity.key, [Stretch(str(source.path), source.identity)], source.log)
    for _ in render_all(stream, format_name, Options(redact=redact)):
        pass


def saved(source: Source) -> None:
    """Save the session from deletion: a transcript and the agent's own records, both without secrets."""
    status = source.path.stat()
    seen = Stat(status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)
    file = NativeFile(str(source.path), f"files/{source.path.name}", seen, source.identity)
    terms = SavingTerms(Policy.of(Settings(), ()), _NOW, 0, redacts=True)
    with tempfile.TemporaryDirectory(prefix="katod-bench-") as folder:
        for _ in save(Subject(source.identity.key, _NOW, (file,)), RescueFolder(Path(folder)), terms, source.log):
            pass


STAGES: Final[dict[str, Callable[[Source], None]]] = {
    FLOOR: load,
    "scanning": scan,
    "translating": translate,
    "Markdown": partial(render, "markdown"),
    "JSONL": partial(render, "jsonl"),
    "JSONL, unredacted": partial(render, "jsonl", redact=False),
    "saving from deletion": saved,
}
_SCANNING: Final = Bar(1, least=True)
_MARKDOWN: Final = Bar(0.25, least=True)


def measure(report: Report, folder: Path, repetitions: int, generated: int) -> None:
    """Measure the real corpus, if there is one, and a generated one."""
    note = f"MB a second of CPU time, median of {repetitions}; ratio to the plain parse in the same run"
    report.part("Throughput", note)
    corpus = Path(os.environ.get("KATOD_CORPUS") or "../shared/corpus")
    real = [(agent, path) for agent in generate.AGENTS for path in sorted((corpus / agent).rglob("*.jsonl"))]
    real = [(agent, path) for agent, path in real if path.name not in _NOT_SESSIONS]
    if real:
        _table(report, "real", real, repetitions, {"scanning": _SCANNING, "Markdown": _MARKDOWN})
    else:
        report.note("no real corpus here: KATOD_CORPUS names its folder")
    _table(report, "generated", generate.corpus(folder, generated), repetitions, {"scanning": _SCANNING})


def _table(report: Report, name: str, paths: list[tuple[str, Path]], repetitions: int, bars: dict[str, Bar]) -> None:
    sources = [_source(agent, path) for agent, path in paths]
    megabytes = sum(source.size for source in sources) / 1e6
    report.note(f"{name} corpus: {megabytes:.1f} MB in {len(sources)} files")
    rounds = [_round(sources) for _ in range(repetitions)]
    for stage in STAGES:
        speeds = [megabytes / times[stage] for times in rounds]
        ratio = median([times[FLOOR] / times[stage] for times in rounds])
        figure = f"{median(speeds):7.1f} MB/s (best {max(speeds):.1f})"
        bar = bars.get(stage)
        report.line(f"  {stage}", f"{figure:<30} ratio {ratio:.3f}", *([(ratio, bar)] if bar else []))


def _round(sources: list[Source]) -> dict[str, float]:
    """Run all stages file by file, so that disturbances of the machine affect every stage."""
    times = dict.fromkeys(STAGES, 0.0)
    gc.collect()
    for source in sources:
        for stage, run in STAGES.items():
            began = time.process_time()
            run(source)
            times[stage] += time.process_time() - began
    return times


def _source(agent: str, path: Path) -> Source:
    data = path.read_bytes()
    lines = [line for line in data.split(b"\n") if line.strip()]
    return Source(path, AGENTS[agent].named(path.absolute()), lines, len(data), EventLog())
