"""The cost of a large OpenCode database: while idle, and the latency from the write of a part to the output."""

import json
import sqlite3
import time
from pathlib import Path
from typing import Final

from tests.benchmarks.daemon import Measured, world_at
from tests.benchmarks.idle import watch
from tests.benchmarks.report import Bar, Report, median, percentile
from tests.support.live import until

IDLE: Final = Bar(0.5, " %")
LATENCY: Final = Bar(150, " ms")
_TABLES: Final = (
    "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id, directory, title, version, revert, time_created, time_updated)",
    "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT)",
    "CREATE TABLE part (id TEXT PRIMARY KEY, message_id, session_id, time_created INTEGER, time_updated INTEGER, data)",
    "CREATE INDEX message_idx ON message (session_id, time_created, id)",
    "CREATE INDEX part_message_idx ON part (message_id, id)",
    "CREATE INDEX part_session_idx ON part (session_id)",
)
_TURNS: Final = 40
_OUTPUT: Final = 16_000


def measure(report: Report, folder: Path, megabytes: int, seconds: float, parts: int) -> None:
    """Measure a daemon next to a database of this size, idle and with one recorded session."""
    world = world_at(folder)
    store = Store(folder / ".local" / "share" / "opencode")
    store.fill(megabytes)
    size = store.path.stat().st_size / 1e6
    report.part("OpenCode", f"a database of {size:,.0f} MB, {store.sessions:,} sessions; CPU over {seconds:.0f} s")
    with Measured(world) as daemon:
        daemon.settled()
        share, rss = watch(daemon, seconds)
        report.line("idle", f"{share:.2f} % CPU, {rss:.1f} MB", (share, IDLE))
        store.begin()
        output = world.out / "lantern" / "store.md"
        _await(output, "first words")
        before = daemon.cpu()
        delays = [_delay(store, output, number) for number in range(parts)]
        cpu = (daemon.cpu() - before) / parts * 1000
    figure = f"median {median(delays):.1f} ms, p99 {percentile(delays, 99):.1f} ms, {cpu:.1f} ms of CPU each"
    report.line(f"{parts} parts, write to output", figure, (median(delays), LATENCY))
    store.close()


class Store:
    """The database, written as its owner does."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.path = folder / "opencode.db"
        self.sessions = 0
        self._count = 0
        self._database = sqlite3.connect(self.path, isolation_level=None)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", *_TABLES):
            self._database.execute(statement)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def fill(self, megabytes: int) -> None:
        """Write old sessions until the database has this size."""
        while self.path.stat().st_size < megabytes * 1_000_000:
            self._database.execute("BEGIN")
            for _ in range(10):
                self._session(1_700_000_000_000 + self.sessions * 1000)
            self._database.execute("COMMIT")
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def begin(self) -> None:
        """Begin a session and start recording it."""
        self._new(_now())
        self._turn("::start store.md\nfirst words", _now())

    def say(self, text: str) -> None:
        """Write a completed answer with this text."""
        self._answer({"type": "text", "text": text}, _now())

    def _session(self, at: int) -> None:
        self._new(at)
        for turn in range(_TURNS):
            self._turn(f"prompt {turn}", at)
            state = {"status": "completed", "input": {"command": "make"}, "output": "x" * _OUTPUT, "time": {}}
            self._answer({"type": "tool", "tool": "bash", "callID": f"c{self._count}", "state": state}, at)

    def _new(self, at: int) -> None:
        self.sessions += 1
        self._name = f"ses_{self.sessions:08}"
        row = (self._name, None, "/home/me/lantern", "t", "1.18.33", None, at, at)
        self._insert("session", row)

    def _turn(self, text: str, at: int) -> None:
        self._prompt = self._message({"role": "user", "time": {"created": at}}, at)
        self._part(self._prompt, {"type": "text", "text": text}, at)

    def _answer(self, part: dict[str, object], at: int) -> None:
        data: dict[str, object] = {"role": "assistant", "parentID": self._prompt, "modelID": "m"}
        data |= {"time": {"created": at, "completed": at}, "finish": "tool-calls"}
        data |= {"tokens": {"input": 900, "output": 40, "reasoning": 9, "cache": {"read": 700, "write": 0}}}
        self._part(self._message(data, at), part | {"time": {"start": at, "end": at}}, at)

    def _message(self, data: dict[str, object], at: int) -> str:
        self._count += 1
        name = f"msg_{self._count:010}"
        self._insert("message", (name, self._name, at, at, json.dumps(data)))
        return name

    def _part(self, message: str, data: dict[str, object], at: int) -> None:
        self._count += 1
        self._insert("part", (f"prt_{self._count:010}", message, self._name, at, at, json.dumps(data)))

    def _insert(self, table: str, row: tuple[object, ...]) -> None:
        self._database.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _delay(store: Store, output: Path, number: int) -> float:
    """Write one answer and return the milliseconds until it appears in the output."""
    time.sleep(0.1)
    began = time.perf_counter()
    store.say(f"marker-{number}-end")
    _await(output, f"marker-{number}-end")
    return (time.perf_counter() - began) * 1000


def _await(output: Path, text: str) -> None:
    until(lambda: output.exists() and text in output.read_text(errors="replace")[-4000:], text, poll=0.0005)
