"""The ledger: one SQLite file that remembers sources, sessions, outputs, applied commands and seen event ids.

There is one writer (the daemon, under a lock) and any number of readers. Of a session that is not recorded, the ledger
has paths, offsets, hashes and ids, but no content. Queries never write.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import orjson

from katod.errors import LedgerDamaged, LedgerError, LedgerUnreleased, hint_for
from katod.log import EventLog
from katod.model import Identity, Range, SessionKey, Stat
from katod.store import integrity
from katod.store.collections import Markers, Personal, Projects, Samples, Tombstones
from katod.store.deliveries import Deliveries
from katod.store.edits import RecordedEdits
from katod.store.rows import (
    NearMissRow,
    OutputRow,
    RefusalRow,
    RootRow,
    SeenRow,
    SessionRow,
    SourceRow,
    TombstoneRow,
)  # fmt: skip
from katod.store.statefolder import advice_for, trouble_with
from katod.store.tables import (
    ADDED,
    APPLIED,
    NEAR_MISSES,
    OUTPUTS,
    RANGES,
    REFUSALS,
    ROOTS,
    SCHEMA,
    SEEN,
    SESSIONS,
    SOURCES,
    TOMBSTONES,
    encode_json,
)  # fmt: skip

LEDGER_NAME: Final = "ledger.db"
MOST_REFUSALS: Final = 200


def id_hash(text: str) -> int:
    """Return the 8 bytes that represent an id in the ledger, as a signed integer."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


class Ledger:
    """The open ledger. Writes happen inside `transaction()`; an error rolls all of them back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.db = connection
        self._rewritten = False  # whether there is no trace of deleted rows in the file; its log may have one

    @classmethod
    def open(cls, directory: Path, log: EventLog) -> "Ledger":
        """Open or create the ledger for writing; a damaged or unreleased one is quarantined and a new one created.

        Raises LedgerError if a newer katod wrote it, or if it cannot be used at present.
        """
        path = directory / LEDGER_NAME
        try:
            found = cls._existing(path, log)
            return found if found is not None else cls(integrity.create(path, SCHEMA))
        except (OSError, sqlite3.Error) as error:
            if (trouble := trouble_with(directory)) is not None:
                raise LedgerError(trouble.what, path=trouble.path, hint=trouble.hint) from error
            reason = error.strerror if isinstance(error, OSError) else integrity.safe_database_message(error)
            hint = hint_for(error) if isinstance(error, OSError) else ""
            raise LedgerError(f"cannot be used: {reason}", path=path, hint=hint) from error

    @classmethod
    def _existing(cls, path: Path, log: EventLog) -> "Ledger | None":
        """Open the existing ledger, None if there is none or it was quarantined."""
        integrity.refuse_link(path)
        if not path.exists():
            return None
        try:
            integrity.check_files(path)
            integrity.make_private(path)
            integrity.refuse_newer(path, SCHEMA)
            return cls._checked(path)
        except LedgerUnreleased as error:
            integrity.quarantine(path, error, log)
        except Exception as error:
            if not integrity.is_damage(error):
                raise
            integrity.quarantine(path, LedgerDamaged(integrity.safe_database_message(error)), log)
        return None

    @classmethod
    def _checked(cls, path: Path) -> "Ledger":
        """Open a ledger after checking that its pages are consistent and its rows readable."""
        connection = integrity.connect(path)
        try:
            integrity.check_database(connection, path, SCHEMA)
            integrity.create_tables(connection, SCHEMA, ADDED)
            ledger = cls(connection)
            ledger.read_all()
            _ = ledger.tombstones  # only a writer can be sure that there is such a table
        except BaseException:
            connection.close()
            raise
        return ledger

    def read_all(self) -> None:
        """Read the state of every session once. Raises LedgerDamaged for anything that katod did not write."""
        self.roots()
        self.sessions()
        self.outputs()
        for _ in self.sources():
            pass

    @classmethod
    def read(cls, directory: Path) -> "Ledger | None":
        """Open the ledger for reading while a daemon may write, None if there is none yet. Raises LedgerError."""
        path = directory / LEDGER_NAME
        connection = integrity.connect_read_only(path, SCHEMA)
        return None if connection is None else cls(connection)

    @classmethod
    def examine(cls, directory: Path) -> "Ledger | None":
        """Check the ledger and open it for reading, without changing any file; None if there is none yet.

        Raises LedgerError with the reason if it cannot be used, or not as it is.
        """
        path = directory / LEDGER_NAME
        try:
            integrity.refuse_link(path)
            if path.exists():
                integrity.check_files(path)
            connection = integrity.connect_read_only(path, SCHEMA, untouched=True)
            if connection is None:
                return None
            ledger = cls(connection)
            ledger.check()
        except LedgerDamaged as error:
            raise LedgerDamaged(f"damaged: {error.what}", path=path, hint=integrity.HOW_TO_REPAIR) from error
        except OSError as error:
            raise LedgerError(
                f"cannot be read: {error.strerror}", path=path, hint="check its owner and mode"
            ) from error
        return ledger

    def check(self) -> None:
        """Check a ledger that is open for reading, and close it if it is damaged. Raises LedgerDamaged."""
        try:
            integrity.check_quickly(self.db)
            self.read_all()
        except Exception as error:
            self.close()
            if isinstance(error, LedgerError) or not integrity.is_damage(error):
                raise
            raise LedgerDamaged(integrity.safe_database_message(error)) from error

    @property
    def name(self) -> str:
        """A name that no other ledger on this machine has: the path of its file."""
        return str(self.db.execute("PRAGMA database_list").fetchone()[2])

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block as a transaction, which is on disk when the block ends. Raises LedgerError if it cannot be."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield
            self.db.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
                self.projects.reload()
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                hint = "" if integrity.is_damage(error) else advice_for(self.name)
                raise LedgerError(
                    f"the ledger cannot be written: {integrity.safe_database_message(error)}", hint=hint
                ) from error
            raise

    # -- roots ------------------------------------------------------------------------------------

    def roots(self) -> dict[str, int]:
        """Return each known root, with the time (ns) when its last completed sweep started."""
        return {row.path: row.swept_ns for row in map(ROOTS.read, self.db.execute(ROOTS.select))}

    def save_root(self, row: RootRow) -> None:
        """Store when a root was swept."""
        self.db.execute(f"{ROOTS.insert} ON CONFLICT (path) DO UPDATE SET swept_ns = excluded.swept_ns", row)

    # -- sessions ---------------------------------------------------------------------------------

    def session(self, session_id: int) -> SessionRow:
        """Return one session."""
        return SESSIONS.read(self.db.execute(f"{SESSIONS.select} WHERE id = ?", (session_id,)).fetchone())

    def sessions(self) -> list[SessionRow]:
        """Return all sessions."""
        return list(map(SESSIONS.read, self.db.execute(f"{SESSIONS.select} ORDER BY id")))

    def find_session(self, key: SessionKey) -> SessionRow | None:
        """Return the session with this key, None if katod does not know it."""
        row = self.db.execute(f"{SESSIONS.select} WHERE key = ?", (encode_json(key),)).fetchone()
        return SESSIONS.read(row) if row else None

    def add_session(self, key: SessionKey) -> SessionRow:
        """Create a session."""
        row = SessionRow(0, key)
        return row._replace(id=self._insert(SESSIONS.insert, SESSIONS.values(row)))

    def save_session(self, row: SessionRow) -> None:
        """Store a session."""
        self.db.execute(SESSIONS.update, SESSIONS.changes(row))

    # -- sources ----------------------------------------------------------------------------------

    def sources(self) -> Iterator[SourceRow]:
        """Yield all sources, without their states (those are loaded when a session is translated)."""
        for values in self.db.execute(f"{SOURCES.select} ORDER BY id"):
            row = SOURCES.read(values)
            yield row if row.state is None else row._replace(state=None)

    def count_sources(self) -> int:
        """Return how many sources there are."""
        return int(self.db.execute("SELECT count(*) FROM sources").fetchone()[0])

    def source_problems(self) -> list[tuple[str, str]]:
        """Return the path and the problem of each source that has one."""
        return self.db.execute("SELECT path, problem FROM sources WHERE problem != '' ORDER BY id").fetchall()

    def contained(self, root: str, suffix: str) -> Iterator[SourceRow]:
        """Yield the sources below a root that still exist in containers with this suffix."""
        query = f"{SOURCES.select} WHERE substr(path, 1, ?) = ? AND instr(path, ?) AND NOT gone"
        yield from map(SOURCES.read, self.db.execute(query, (len(root), root, f"{suffix}#")))

    def sources_of(self, session_id: int) -> list[SourceRow]:
        """Return the sources of one session, oldest first, with their states."""
        return list(
            map(SOURCES.read, self.db.execute(f"{SOURCES.select} WHERE session = ? ORDER BY id", (session_id,)))
        )

    def add_source(self, row: SourceRow) -> SourceRow:
        """Create a source; return the row with its id."""
        return row._replace(id=self._insert(SOURCES.insert, SOURCES.values(row)))

    def save_source(self, row: SourceRow) -> None:
        """Store how far a source was read."""
        self.db.execute(SOURCES.update, SOURCES.changes(row))

    # -- outputs ----------------------------------------------------------------------------------

    def add_output(self, row: OutputRow) -> OutputRow:
        """Create an output; return the row with its id."""
        return row._replace(id=self._insert(OUTPUTS.insert, OUTPUTS.values(row)))

    def rename_output(self, row: OutputRow) -> None:
        """Store an output with what never changes otherwise: its options."""
        self.db.execute(OUTPUTS.insert.replace("INSERT", "INSERT OR REPLACE", 1), OUTPUTS.values(row))

    def save_output(self, row: OutputRow) -> OutputRow:
        """Store an output with its intent and its ranges; return the row with the ids of the ranges."""
        self.db.execute(OUTPUTS.update, OUTPUTS.changes(row))
        stored = sum(item.id != 0 for item in row.ranges)
        kept = max(0, stored - 1)  # only the last one ever changes
        return row._replace(ranges=(*row.ranges[:kept], *(self._save_range(row, item) for item in row.ranges[kept:])))

    def _save_range(self, row: OutputRow, item: Range) -> Range:
        item = item._replace(output=row.id)
        upsert = RANGES.insert.replace("INSERT", "INSERT OR REPLACE", 1)
        return item._replace(id=self._insert(upsert, RANGES.values(item)) or item.id)

    def outputs(self, session_id: int | None = None) -> list[OutputRow]:
        """Return all outputs, or those of one session, each with its ranges."""
        where, values = ("", ()) if session_id is None else (" WHERE session = ?", (session_id,))
        rows = list(map(OUTPUTS.read, self.db.execute(f"{OUTPUTS.select}{where} ORDER BY id", values)))
        return [row._replace(ranges=self._ranges_of(row)) for row in rows]

    def _ranges_of(self, row: OutputRow) -> tuple[Range, ...]:
        found = self.db.execute(f"{RANGES.select} WHERE output = ? ORDER BY id", (row.id,))
        return tuple(map(RANGES.read, found))

    def recorded_sessions(self) -> list[tuple[int, SessionKey, bool, bool]]:
        """Return the sessions that have an output, whether one is being recorded to, and whether one has its name."""
        is_open = "outputs.id IN (SELECT output FROM ranges WHERE \"end\" = '')"
        query = (
            f"SELECT sessions.id, sessions.key, max({is_open}), max(held IS NULL) FROM outputs"
            " JOIN sessions ON sessions.id = session GROUP BY session ORDER BY session"
        )
        rows = self.db.execute(query)
        return [(number, SessionKey(*orjson.loads(key)), bool(now), bool(named)) for number, key, now, named in rows]

    def recorded_metadata(self, first: int, last: int) -> Iterator[tuple[int, dict[str, Any], int]]:
        """Yield what recorded sessions are about, from one number to another, and how many events each has.

        Raises LedgerDamaged for anything that katod did not write.
        """
        head = "SELECT head FROM outputs WHERE session = sessions.id AND held IS NULL ORDER BY id LIMIT 1"
        query = f"SELECT id, seq, metadata, ({head}) FROM sessions WHERE id BETWEEN ? AND ?"
        for number, count, metadata, began in self.db.execute(query, (first, last)):
            if began is not None:
                yield number, _about(metadata, began), count

    def recorded_files(self, first: int, last: int) -> Iterator[tuple[int, str, Identity, Stat]]:
        """Yield the sources of sessions, by their numbers, that are not gone: as they were seen last, the oldest first.

        Raises LedgerDamaged for anything that katod did not write.
        """
        query = (
            "SELECT session, path, identity, seen FROM sources WHERE session BETWEEN ? AND ? AND NOT gone ORDER BY id"
        )
        for number, path, identity, seen in self.db.execute(query, (first, last)):
            yield number, path, *_place(identity, seen)

    def output_at(self, path: Path) -> OutputRow | None:
        """Return the output with this path, without its ranges; None if katod created none there."""
        row = self.db.execute(f"{OUTPUTS.select} WHERE path = ?", (str(path),)).fetchone()
        return OUTPUTS.read(row) if row else None

    def busy_sessions(self) -> list[int]:
        """Return the sessions with an open output, an intent or an output catching up, or to be auto-recorded."""
        query = (
            "SELECT session FROM outputs WHERE intent IS NOT NULL OR behind IS NOT NULL OR id IN"
            " (SELECT output FROM ranges WHERE \"end\" = '') UNION SELECT id FROM sessions WHERE auto = 'wanted'"
        )
        return [row[0] for row in self.db.execute(query)]

    # -- events, commands, refusals ------------------------------------------------------------

    def place(self, session_id: int, hashed: int) -> tuple[int, int] | None:
        """Return the number of the first occurrence of an event in a session, and its source; None if never seen."""
        query = "SELECT seq, source FROM seen WHERE session = ? AND id = ? ORDER BY seq LIMIT 1"
        row: tuple[int, int] | None = self.db.execute(query, (session_id, hashed)).fetchone()
        return row

    def places(self, session_id: int) -> dict[int, list[int]]:
        """Return the hashes of all events seen in a session, each with its numbers in ascending order."""
        found: dict[int, list[int]] = {}
        query = "SELECT id, seq FROM seen WHERE session = ? ORDER BY id, seq"
        for hashed, seq in self.db.execute(query, (session_id,)):
            found.setdefault(hashed, []).append(seq)
        return found

    def add_seen(self, rows: Iterable[SeenRow]) -> None:
        """Remember events."""
        self.db.executemany(SEEN.insert.replace("INSERT", "INSERT OR IGNORE", 1), rows)

    def is_applied(self, dedup_key: str) -> bool:
        """Return whether a command was carried out, or the near misses of a message reported, in any session."""
        query = f"{APPLIED.select} WHERE dedup_key = ?"
        return self.db.execute(query, (id_hash(dedup_key),)).fetchone() is not None

    def add_applied(self, dedup_keys: Iterable[str]) -> None:
        """Remember permanently that commands were carried out, and of which messages the near misses were reported."""
        insert = APPLIED.insert.replace("INSERT", "INSERT OR IGNORE", 1)
        self.db.executemany(insert, ((id_hash(key),) for key in dedup_keys))

    def add_refusal(self, row: RefusalRow) -> None:
        """Remember a refused command for `katod status`."""
        self.db.execute(REFUSALS.insert, REFUSALS.values(row))
        self.db.execute("DELETE FROM refusals WHERE id <= (SELECT max(id) FROM refusals) - ?", (MOST_REFUSALS,))

    def refusals(self, most: int = 10) -> list[RefusalRow]:
        """Return the newest refused commands, newest first."""
        return list(map(REFUSALS.read, self.db.execute(f"{REFUSALS.select} ORDER BY id DESC LIMIT ?", (most,))))

    def add_near_misses(self, rows: Iterable[NearMissRow]) -> None:
        """Remember lines that looked like commands for `katod status`."""
        for row in rows:
            self.db.execute(NEAR_MISSES.insert, NEAR_MISSES.values(row))
        self.db.execute("DELETE FROM near_misses WHERE id <= (SELECT max(id) FROM near_misses) - ?", (MOST_REFUSALS,))

    def near_misses(self, most: int = 10) -> list[NearMissRow]:
        """Return the newest near misses, newest first."""
        return list(map(NEAR_MISSES.read, self.db.execute(f"{NEAR_MISSES.select} ORDER BY id DESC LIMIT ?", (most,))))

    def has_near_miss(self, session: SessionKey) -> bool:
        """Return whether a near miss of this session is remembered."""
        return any(row.session == session for row in self.near_misses(MOST_REFUSALS))

    def refusal(self, session: SessionKey, word: str, time: str) -> str:
        """Return why a command of a session was refused, an empty string if it was not."""
        found = (
            row for row in self.refusals(MOST_REFUSALS) if (row.session, row.word, row.time) == (session, word, time)
        )
        return next((row.reason for row in found), "")

    @cached_property
    def samples(self) -> Samples:
        """What samples of agents' versions showed."""
        return Samples(self.db)

    @cached_property
    def projects(self) -> Projects:
        """The projects that were recorded."""
        return Projects(self.db)

    @cached_property
    def markers(self) -> Markers:
        """The markers of output directories."""
        return Markers(self.db)

    @cached_property
    def personal(self) -> Personal:
        """What the user says of sessions."""
        return Personal(self.db)

    # -- forgetting -----------------------------------------------------------------------------------

    @cached_property
    def tombstones(self) -> Tombstones:
        """What stays of forgotten sessions."""
        return Tombstones(map(TOMBSTONES.read, self.db.execute(TOMBSTONES.select)))

    def has_tombstones(self) -> bool:
        """Return whether a session may have been forgotten: only a writer can be sure that there is such a table."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'tombstones'"
        return self.db.execute(query).fetchone() is not None

    @cached_property
    def edits(self) -> RecordedEdits:
        """The edits within recorded ranges."""
        return RecordedEdits(self.db)

    @cached_property
    def deliveries(self) -> Deliveries:
        """What is delivered elsewhere, and what of it was sent."""
        return Deliveries(self.db)

    def forget(self, sessions: Iterable[SessionRow], tombstones: Iterable[TombstoneRow]) -> None:
        """Delete everything about these sessions but the commands that were carried out, and add tombstones."""
        self.markers.keep()
        for session in sessions:
            outputs = "(SELECT id FROM outputs WHERE session = ?)"
            self.deliveries.forget(session.id)
            sources = "(SELECT path FROM sources WHERE session = ?)"
            self.db.execute(f"DELETE FROM ranges WHERE output IN {outputs}", (session.id,))
            self.db.execute(f"DELETE FROM samples WHERE path IN {sources}", (session.id,))
            for table in ("outputs", "sources", "seen", "edits"):
                self.db.execute(f"DELETE FROM {table} WHERE session = ?", (session.id,))
            for table in ("refusals", "near_misses"):
                self.db.execute(f"DELETE FROM {table} WHERE session = ?", (encode_json(session.key),))
            self.db.execute("DELETE FROM sessions WHERE id = ?", (session.id,))
        insert = TOMBSTONES.insert.replace("INSERT", "INSERT OR REPLACE", 1)
        self.db.executemany(insert, map(TOMBSTONES.values, tombstones))
        used = {row.cwd for row in self.sessions()} | {row.head["metadata"].get("cwd", "") for row in self.outputs()}
        self.projects.forget_unless(used, {session.cwd for session in sessions})
        self._rewritten = False

    def forget_words(self, sessions: Iterable[SessionKey]) -> None:
        """Delete what the user said of these sessions, of which katod may know nothing else."""
        with self.transaction():
            self.personal.forget(sessions)
        self._rewritten = False

    def erase(self) -> bool:
        """Leave nothing of what was deleted in the ledger's files; return False while another program reads them.

        Raises LedgerError if that is not possible, as on a full disk.
        """
        try:
            done = integrity.erase(self.db, rewrite=not self._rewritten)
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger cannot be rewritten: {integrity.safe_database_message(error)}") from error
        self._rewritten = True
        return done

    def _insert(self, statement: str, values: list[object]) -> int:
        return self.db.execute(statement, values).lastrowid or 0


def _about(metadata: str | None, head: str) -> dict[str, Any]:
    """Return the metadata of a session: as they are while it is recorded, or as they were then."""
    try:
        return dict(orjson.loads(metadata) if metadata else orjson.loads(head)["metadata"])
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerDamaged(integrity.STRANGE) from error


def _place(identity: str, seen: str) -> tuple[Identity, Stat]:
    try:
        key, rollout = orjson.loads(identity)
        return Identity(SessionKey(*key), rollout), Stat(*orjson.loads(seen))
    except (ValueError, TypeError) as error:
        raise LedgerDamaged(integrity.STRANGE) from error
