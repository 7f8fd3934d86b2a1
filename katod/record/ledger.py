"""The ledger: one SQLite file that remembers sources, sessions, outputs, applied commands and written ids.

One writer (the daemon, under a lock), many readers. Of a session that is not recorded it holds paths,
offsets, hashes and ids, nothing of what was said.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

import orjson

from katod.errors import LedgerError
from katod.log import EventLog
from katod.model import Identity, Range, SessionKey, Stat
from katod.record import columns
from katod.record.health import (
    HOW_TO_MEND,
    check,
    damage,
    is_damage,
    make_private,
    refuse_link,
    set_aside,
    shown,
    stated_version,
)
from katod.record.rows import OutputRow, Refusal, SessionRow, SourceRow
from katod.record.schema import MIGRATIONS, connect, migrate, refuse_newer

FILE_NAME: Final = "ledger.db"
_MOST_REFUSALS: Final = 200


def id_hash(text: str) -> int:
    """Return the 8 bytes that stand for an id in the ledger, as a signed integer."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


class Ledger:
    """The open ledger. Writing happens inside `transaction()`; an error rolls all of it back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.db = connection

    @classmethod
    def open(cls, directory: Path, log: EventLog) -> "Ledger":
        """Open or make the ledger for writing; one that is damaged is set aside and a new one begun.

        Raises LedgerError when it was written by a newer katod, and when it cannot be used for now.
        """
        path = directory / FILE_NAME
        try:
            found = cls._existing(path, log)
            if found is not None:
                return found
            connection = connect(path)
            make_private(path)
            migrate(connection, path)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else shown(error)
            raise LedgerError(f"cannot be used: {reason}", path=path) from error
        return cls(connection)

    @classmethod
    def _existing(cls, path: Path, log: EventLog) -> "Ledger | None":
        """Open the ledger that is there; None when there is none, or when it was set aside."""
        refuse_link(path)
        if not path.exists():
            return None
        problem = damage(path)
        if not problem:
            make_private(path)
            refuse_newer(stated_version(path), path)
            try:
                return cls._checked(path)
            except Exception as error:
                if not is_damage(error):
                    raise
                problem = shown(error)
        set_aside(path, problem, log)
        return None

    @classmethod
    def _checked(cls, path: Path) -> "Ledger":
        """Open a ledger whose pages fit together and whose rows can be read."""
        connection = connect(path)
        try:
            check(connection, path)
            migrate(connection, path)
            ledger = cls(connection)
            ledger.read_all()
        except BaseException:
            connection.close()
            raise
        return ledger

    def read_all(self) -> None:
        """Read what is kept of every session once; what katod did not write so raises."""
        self.roots()
        self.sessions()
        for _ in self.sources():
            pass
        for session_id in {row.session for row in self.outputs()}:
            self.sources_of(session_id)

    @classmethod
    def read(cls, directory: Path) -> "Ledger | None":
        """Open the ledger for reading while a daemon may write; None when there is none yet."""
        path = directory / FILE_NAME
        hint = HOW_TO_MEND
        if not path.exists():
            return None
        if not path.is_file():
            raise LedgerError("is not a regular file", path=path, hint=hint)
        if path.stat().st_size == 0:
            return None
        refuse_newer(stated_version(path), path)
        try:
            connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None, timeout=5)
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise LedgerError(
                f"cannot be read: {shown(error)}", path=path, hint=hint if is_damage(error) else ""
            ) from error
        if version != len(MIGRATIONS):
            connection.close()
            refuse_newer(version, path)
            raise LedgerError("was written by an older katod", path=path, hint="`katod run` brings it up to date")
        return cls(connection)

    def close(self) -> None:
        """Close the file."""
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; committed (and on disk) when the block ends. Raises LedgerError when it cannot be."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield
            self.db.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                hint = "" if is_damage(error) else "is the disk full?"
                raise LedgerError(f"the ledger cannot be written: {shown(error)}", hint=hint) from error
            raise

    # -- roots ------------------------------------------------------------------------------------

    def roots(self) -> dict[str, int]:
        """Return each known root and the time (ns) of its last completed sweep."""
        return dict(self.db.execute("SELECT path, swept_ns FROM roots").fetchall())

    def save_root(self, path: str, agent: str, swept_ns: int) -> None:
        """Remember that a root was swept."""
        self.db.execute("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)", (path, agent, swept_ns))

    # -- sessions ---------------------------------------------------------------------------------

    def session(self, session_id: int) -> SessionRow:
        """Return one session."""
        row = self.db.execute(f"SELECT {columns.SESSION} FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return columns.to_session(row)

    def sessions(self) -> list[SessionRow]:
        """Return all sessions."""
        return [
            columns.to_session(row) for row in self.db.execute(f"SELECT {columns.SESSION} FROM sessions ORDER BY id")
        ]

    def session_of(self, key: SessionKey) -> SessionRow:
        """Return the session with this key, made when it is new."""
        where = "agent = ? AND session = ? AND subagent = ?"
        row = self.db.execute(f"SELECT {columns.SESSION} FROM sessions WHERE {where}", key).fetchone()
        if row is None:
            insert = "INSERT INTO sessions (agent, session, subagent) VALUES (?, ?, ?)"
            made = self.db.execute(insert, key).lastrowid
            return SessionRow(made or 0, key)
        return columns.to_session(row)

    def save_session(self, row: SessionRow) -> None:
        """Store a session; near misses are only ever added to (`add_near_misses`)."""
        metadata = None if row.metadata is None else orjson.dumps(row.metadata).decode()
        self.db.execute(
            "UPDATE sessions SET cwd=?, facts=?, seq=?, output=?, auto=? WHERE id=?",
            (row.cwd, metadata, row.seq, row.output, row.auto, row.id),
        )

    def add_near_misses(self, counts: Mapping[int, int]) -> None:
        """Count lines that looked like a command and were none, by session."""
        rows = ((count, session_id) for session_id, count in counts.items() if count)
        self.db.executemany("UPDATE sessions SET near_misses = near_misses + ? WHERE id = ?", rows)

    # -- sources ----------------------------------------------------------------------------------

    def sources(self) -> Iterator[SourceRow]:
        """Yield all sources, without their states (those are loaded when a session is translated)."""
        yield from (
            columns.to_source(row)
            for row in self.db.execute(f"SELECT {columns.SOURCE}, NULL, {columns.KEYED} ORDER BY sources.id")
        )

    def sources_of(self, session_id: int) -> list[SourceRow]:
        """Return the sources of one session, oldest first, with their states."""
        query = f"SELECT {columns.SOURCE}, sources.state, {columns.KEYED} WHERE sources.session = ? ORDER BY sources.id"
        rows = self.db.execute(query, (session_id,))
        return [columns.to_source(row) for row in rows]

    def add_source(
        self, session_id: int, path: str, identity: Identity, seen: Stat, history: int, since_ns: int = 0
    ) -> SourceRow:
        """Remember a source; `history` says how many of its bytes never command (0: none).

        At `since_ns` it was not there yet: what is older in it was copied from elsewhere.
        """
        baseline = None if history else 0
        made = self.db.execute(
            "INSERT INTO sources (session, path, rollout, size, mtime_ns, dev, ino, history, baseline, since_ns,"
            " offset, anchor_size, anchor) VALUES (?,?,?,?,?,?,?,?,?,?,0,0,'')",
            (session_id, path, identity.rollout, *seen, history, baseline, since_ns),
        ).lastrowid
        return SourceRow(made or 0, session_id, path, identity, seen, history, baseline, since_ns=since_ns)

    def save_source(self, row: SourceRow) -> None:
        """Store where a source was read to."""
        state = None if row.state is None else orjson.dumps(row.state)
        self.db.execute(
            "UPDATE sources SET path=?, size=?, mtime_ns=?, dev=?, ino=?, baseline=?, offset=?, anchor_size=?,"
            " anchor=?, translated=?, state=?, version=?, read_ns=?, after_ns=?, gone=?, problem=? WHERE id=?",
            (
                row.path, *row.seen, row.baseline, row.cursor.offset, *row.cursor.anchor, row.translated,
                state, row.version, row.read_ns, row.after_ns, row.gone, row.problem, row.id,
            ),
        )  # fmt: skip

    # -- outputs ----------------------------------------------------------------------------------

    def add_output(self, row: OutputRow) -> OutputRow:
        """Remember a new output."""
        row.id = self.db.execute(
            "INSERT INTO outputs (session, root, parts, path, format, version, options, head) VALUES (?,?,?,?,?,?,?,?)",
            (
                row.session, str(row.root), orjson.dumps(row.parts).decode(), str(row.path), row.format, row.version,
                orjson.dumps(row.options).decode(), orjson.dumps(row.head).decode(),
            ),
        ).lastrowid or 0  # fmt: skip
        return row

    def save_output(self, row: OutputRow) -> None:
        """Store an output with its intent and its ranges."""
        recorder = None if row.recorder is None else orjson.dumps(row.recorder).decode()
        behind = None if row.behind is None else orjson.dumps(row.behind).decode()
        self.db.execute(
            "UPDATE outputs SET version=?, recorder=?, made=?, dev=?, ino=?, committed=?, tail=?, intent=?, bounds=?,"
            " behind=?, problem=?, attempts=?, redactions=? WHERE id=?",
            (
                row.version, recorder, row.made, row.dev, row.ino, row.committed, row.tail, row.intent,
                orjson.dumps(row.bounds).decode(), behind, row.problem, row.attempts, row.redactions,
                row.id,
            ),
        )  # fmt: skip
        stored = sum(item.id != 0 for item in row.ranges)
        for item in row.ranges[max(0, stored - 1) :]:  # only the last one ever changes
            self._save_range(row.id, item)

    def outputs(self, session_id: int | None = None) -> list[OutputRow]:
        """Return all outputs, or those of one session, each with its ranges."""
        where, values = ("", ()) if session_id is None else (" WHERE session = ?", (session_id,))
        rows = [
            columns.to_output(row)
            for row in self.db.execute(f"SELECT {columns.OUTPUT} FROM outputs{where} ORDER BY id", values)
        ]
        for row in rows:
            query = f"SELECT {columns.RANGE} FROM ranges WHERE output = ? ORDER BY id"
            row.ranges = [columns.to_range(r) for r in self.db.execute(query, (row.id,))]
        return rows

    def output_at(self, path: Path) -> OutputRow | None:
        """Return the output that was made at a path."""
        row = self.db.execute(f"SELECT {columns.OUTPUT} FROM outputs WHERE path = ?", (str(path),)).fetchone()
        return columns.to_output(row) if row else None

    def busy_sessions(self) -> list[int]:
        """Return the sessions with an output that is open, has an intent or its own reader, or that wait for one."""
        query = (
            "SELECT session FROM outputs WHERE intent IS NOT NULL OR behind IS NOT NULL OR id IN"
            " (SELECT output FROM ranges WHERE finish = '') UNION SELECT id FROM sessions WHERE auto = 'wanted'"
        )
        return [row[0] for row in self.db.execute(query)]

    def _save_range(self, output_id: int, item: Range) -> None:
        values = (
            item.id or None, output_id, item.start, item.inclusive, item.marked, item.mark_at, item.start_time,
            item.end, item.end_time, item.end_mark, orjson.dumps(item.switches).decode(),
        )  # fmt: skip
        marks = ",".join("?" * len(values))
        item.id = self.db.execute(f"INSERT OR REPLACE INTO ranges VALUES ({marks})", values).lastrowid or item.id

    # -- ids, commands, refusals ------------------------------------------------------------------

    def place(self, session_id: int, hashed: int) -> tuple[int, int] | None:
        """Return when an event of a session was first seen (its number) and in which source, None if never."""
        query = "SELECT seq, source FROM seen WHERE session = ? AND id = ? ORDER BY seq LIMIT 1"
        row: tuple[int, int] | None = self.db.execute(query, (session_id, hashed)).fetchone()
        return row

    def places(self, session_id: int) -> dict[int, list[int]]:
        """Return the hashes of all events seen of a session, each with its numbers in rising order."""
        found: dict[int, list[int]] = {}
        query = "SELECT id, seq FROM seen WHERE session = ? ORDER BY id, seq"
        for hashed, seq in self.db.execute(query, (session_id,)):
            found.setdefault(hashed, []).append(seq)
        return found

    def add_places(self, session_id: int, rows: Iterable[tuple[int, int, int]]) -> None:
        """Remember (hash, number, source) of events."""
        self.db.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)", ((session_id, *row) for row in rows))

    def is_applied(self, once: str) -> bool:
        """Say whether a command has acted already."""
        query = "SELECT 1 FROM applied WHERE once = ?"
        return self.db.execute(query, (id_hash(once),)).fetchone() is not None

    def add_applied(self, once: Iterable[str]) -> None:
        """Remember for ever that commands have acted."""
        self.db.executemany("INSERT OR IGNORE INTO applied VALUES (?)", ((id_hash(item),) for item in once))

    def add_refusal(self, session_id: int, time: str, word: str, reason: str) -> None:
        """Remember a refused command for `katod status`."""
        self.db.execute(
            "INSERT INTO refusals (session, time, word, reason) VALUES (?,?,?,?)", (session_id, time, word, reason)
        )
        self.db.execute("DELETE FROM refusals WHERE id <= (SELECT max(id) FROM refusals) - ?", (_MOST_REFUSALS,))

    def refusals(self, most: int = 10) -> list[Refusal]:
        """Return the newest refused commands, newest first."""
        query = (
            "SELECT agent, sessions.session, subagent, time, word, reason FROM refusals"
            " JOIN sessions ON sessions.id = refusals.session ORDER BY refusals.id DESC LIMIT ?"
        )
        return [Refusal(SessionKey(*row[:3]), *row[3:]) for row in self.db.execute(query, (most,))]

    def project_name(self, name: str, path: str) -> str:
        """Return the folder name of a project: its base name, with a short hash where another has it already."""
        row = self.db.execute("SELECT name FROM projects WHERE path = ?", (path,)).fetchone()
        if row:
            return str(row[0])
        taken = self.db.execute("SELECT 1 FROM projects WHERE name = ?", (name,)).fetchone()
        chosen = f"{name}-{blake2b(path.encode(), digest_size=2).hexdigest()}" if taken else name
        self.db.execute("INSERT OR IGNORE INTO projects VALUES (?, ?)", (chosen, path))
        return chosen
