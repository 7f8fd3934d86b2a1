"""katod's components assembled by hand: a ledger in memory, a catalog of a world, sessions, and the captured log."""

import sqlite3
from pathlib import Path
from typing import Any

from katod.agents import AGENTS
from katod.config import load
from katod.discover.catalog import Catalog
from katod.discover.roots import find_roots
from katod.discover.source import Source
from katod.events import Event
from katod.log import EventLog
from katod.model import Line
from katod.record.naming import OutputNaming
from katod.record.output import Output
from katod.record.policy import Policy
from katod.record.session import ActiveSession, ActiveSessions
from katod.record.stream import EventDedup
from katod.store.ledger import Ledger
from katod.store.tables import SCHEMA
from katod.tail.decode import frame
from tests.support.records import line
from tests.support.world import World


class MemoryDatabase(sqlite3.Connection):
    """An in-memory database that is closed with the test that created it."""

    def __init__(self, script: str = "") -> None:
        super().__init__(":memory:", isolation_level=None, check_same_thread=False)  # collected in any thread
        self.executescript(script)

    def __del__(self) -> None:
        self.close()


def put(owner: Source | Output | ActiveSession, **columns: Any) -> None:
    """Put a source, an output or a session into a state, as its row has it."""
    owner.row = owner.row._replace(**columns)


def next_tick(folder: Path) -> None:
    """Return when the clock of file times has gone on: what happens now has another time than what happened before."""
    probe = folder / "probe"
    probe.touch()
    before = probe.stat().st_mtime_ns
    while probe.stat().st_mtime_ns == before:
        probe.touch()


def memory_ledger() -> Ledger:
    """Return an empty in-memory ledger."""
    return Ledger(MemoryDatabase(SCHEMA))


def lines(*records: Any, at: int = 0) -> list[Line]:
    """Return records as the lines of a file, the first one at offset `at`."""
    return frame(b"".join(map(line, records)), at)


class Parts:
    """The components of a pipeline. Unless `swept` is false, the world is swept before its first session exists."""

    def __init__(self, world: World, *, swept: bool = True, **settings: Any) -> None:
        self.world = world
        self.logged: list[tuple[str, dict[str, Any]]] = []
        self.log = EventLog(lambda _level, name, fields: self.logged.append((name, fields)), "debug")
        self.ledger = memory_ledger()
        self.catalog = Catalog(self.ledger, self.log)
        self.sessions = ActiveSessions(self.ledger, self.catalog, self.log)
        self.configure(**settings)
        if swept:
            self.sweep()

    def configure(self, **settings: Any) -> None:
        """Use these settings from now on."""
        self.world.configure(**settings)
        loaded = load(self.world.config)
        self.roots = find_roots(loaded, AGENTS)
        self.policy = Policy.of(loaded, tuple(root.path for root in self.roots))

    def sweep(self) -> list[Source]:
        """Return the new and changed sources."""
        return self.catalog.sweep(self.roots)

    def source(self) -> Source:
        """Return the only new or changed source."""
        [found] = self.sweep()
        return found

    def load(self, source: Source) -> ActiveSession:
        """Return a source's session as stored in the ledger."""
        return self.sessions.load(source.session, {})

    def read(self, session: ActiveSession, source: Source) -> list[Event]:
        """Read a source to its end, as a step without commands does; return the session's new events."""
        with source.spec.open(source.path) as file, self.ledger.transaction():
            batch = file.read(source.cursor, 1 << 20)
            found = []
            for event in session.stream.events(source, batch.lines):
                found.append(event)
                for output in session.live:
                    output.take(event, session.metadata)
            source.translated_to(batch.cursor)
            session.save(self.ledger)
        session.saved()
        return found

    def output(self, session: ActiveSession, name: str = "n") -> Output:
        """Return a new output of a session, with nothing recorded to it yet."""
        naming = OutputNaming(self.ledger, self.policy)
        return session.keep(Output(naming.make(session.row, naming.named(name, session.metadata), session.metadata)))

    def said(self, name: str) -> list[dict[str, Any]]:
        """Return the fields of each log event with this name."""
        return [fields for event, fields in self.logged if event == name]


def admits(seen: EventDedup, event: Event, source: Any) -> bool:
    """Return whether an event is new, and add it if so."""
    is_new = seen.is_new(event, source)
    if is_new:
        seen.add(event, source)
    return is_new
