"""The small tables of a ledger, each as what is asked of it.

The projects that were recorded, with their folders in the output directory and which of them are worktrees; the
markers of output directories; what samples of sessions showed; what the user says of sessions; the tombstones of
forgotten sessions, which are found by the path or the identity of a file, and from which neither can be read.
"""

import os
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

from katod.model import Cursor, Identity, SessionKey, Stat
from katod.store.rows import UNMARKED, PersonalRow, SampleRow, SourceRow, TombstoneRow, WorktreeRow
from katod.store.tables import PERSONAL, PROJECTS, SAMPLES, WORKTREES, encode_json
from katod.text import distinct

_ADD: Final = PROJECTS.insert.replace("INSERT", "INSERT OR IGNORE", 1)
_SET: Final = WORKTREES.insert.replace("INSERT", "INSERT OR REPLACE", 1)
_HAS_WORKTREES: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'worktrees'"
_MARKED: Final = f"marker NOT IN ('', '{UNMARKED}')"
_MARKER_OF_OUTPUTS: Final = f"SELECT marker FROM outputs WHERE root = ? AND {_MARKED} ORDER BY id DESC LIMIT 1"
_KEEP_MARKERS: Final = (
    f"INSERT OR REPLACE INTO markers (root, marker) SELECT root, marker FROM outputs WHERE {_MARKED} ORDER BY id"
)
_SALT: Final = 16
_DIGEST: Final = 16
_SET_PERSONAL: Final = PERSONAL.insert.replace("INSERT", "INSERT OR REPLACE", 1)
_HAS_ANY: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'personal'"


class Markers:
    """The markers of output directories, which stay known when what was recorded there is forgotten.

    Without its marker, a directory may be the place where a disk is not mounted.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def of(self, root: Path) -> str:
        """Return the name of the marker that katod knows in a directory, an empty string if it knows none."""
        for query in (_MARKER_OF_OUTPUTS, "SELECT marker FROM markers WHERE root = ?"):
            if row := self._db.execute(query, (str(root),)).fetchone():
                return str(row[0])
        return ""

    def keep(self) -> None:
        """Remember those that are known from outputs, some of which are about to be forgotten."""
        self._db.execute(_KEEP_MARKERS)


class Samples:
    """What samples of sessions showed, the latest one of each agent's version."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def save(self, row: SampleRow) -> None:
        """Store what a sample of an agent's version showed, in place of the one before."""
        update = "time = excluded.time, path = excluded.path, events = excluded.events, raw = excluded.raw"
        self._db.execute(f"{SAMPLES.insert} ON CONFLICT (agent, version) DO UPDATE SET {update}", row)

    def last(self, agent: str) -> int:
        """Return when an agent was last sampled, in seconds since 1970; 0 if it never was."""
        return int(self._db.execute("SELECT max(time) FROM samples WHERE agent = ?", (agent,)).fetchone()[0] or 0)

    def all(self) -> list[SampleRow]:
        """Return the latest sample of each agent's version."""
        return list(map(SAMPLES.read, self._db.execute(SAMPLES.select)))


class Projects:
    """All projects of a ledger."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        # What directories in worktrees are in their repositories. One dictionary for good: policies refer to it.
        self.worktrees: dict[str, str] = {}
        self.reload()

    def reload(self) -> None:
        """Take the worktrees from the tables: at the beginning, and when a transaction was undone."""
        has_any = self._db.execute(_HAS_WORKTREES).fetchone() is not None  # one that is only read may lack the table
        rows = map(WORKTREES.read, self._db.execute(WORKTREES.select)) if has_any else ()
        now = {row.path: row.repository for row in rows}
        for path in self.worktrees.keys() - now.keys():
            del self.worktrees[path]
        self.worktrees.update(now)

    def folder(self, name: str, path: str) -> str:
        """Return the folder name of a project: its base name, with a short hash if another project has that name."""
        row = self._db.execute("SELECT name FROM projects WHERE path = ?", (path,)).fetchone()
        if row:
            return str(row[0])
        taken = self._db.execute("SELECT 1 FROM projects WHERE name = ?", (name,)).fetchone()
        return distinct(name, path) if taken else name

    def add(self, name: str, path: str) -> None:
        """Assign a folder name to a project permanently; does nothing if it has one."""
        self._db.execute(_ADD, (name, path))

    def add_worktree(self, path: str, repository: str) -> None:
        """Remember what a directory is in its repository: the worktree may be gone later."""
        self._db.execute(_SET, WORKTREES.values(WorktreeRow(path, repository)))
        self.worktrees[path] = repository

    def forget_unless(self, used: Collection[str], forgotten: Collection[str]) -> None:
        """Forget the folders of all projects but these, and of the repositories of these, and `forgotten` worktrees.

        A worktree of which nothing is recorded stays known, so that it stays excluded.
        """
        gone = self.worktrees.keys() & set(forgotten) - set(used)
        self._db.executemany("DELETE FROM worktrees WHERE path = ?", ((path,) for path in gone))
        for path in gone:
            del self.worktrees[path]
        kept = {*used, *self.worktrees.values()}
        paths = [path for (path,) in self._db.execute("SELECT path FROM projects") if path not in kept]
        self._db.executemany("DELETE FROM projects WHERE path = ?", ((path,) for path in paths))


@dataclass(frozen=True, slots=True)
class ForgottenSource:
    """What a source contained when its session was forgotten: all of it is history."""

    seen: Stat
    history: int
    baseline: int | None
    cursor: Cursor
    read_ns: int
    commands: list[str] = field(default_factory=list)  # the dedup keys of all commands in it
    said: list[str] = field(default_factory=list)  # what identifies these and its first message in a copy of it


class Tombstones:
    """All tombstones of a ledger."""

    def __init__(self, rows: Iterable[TombstoneRow]) -> None:
        self._rows: dict[bytes, TombstoneRow] = {}
        self._identities: dict[bytes, TombstoneRow] = {}
        self._sessions: dict[bytes, TombstoneRow] = {}
        self._salt = b""
        self._reopened: set[bytes] = set()
        for row in rows:
            self.add(row)

    def add(self, row: TombstoneRow) -> None:
        """Add one, in place of that of the same path."""
        self._salt = row.salt
        self._reopened.discard(row.session)
        self._rows[row.path] = self._identities[row.identity] = self._sessions[row.session] = row

    def make(self, source: SourceRow, rest: ForgottenSource, forgotten_ns: int) -> TombstoneRow:
        """Return a new one for a source, which is not added yet."""
        self._salt = self._salt or os.urandom(_SALT)
        return TombstoneRow(
            path=self._hash(source.path),
            identity=self._hash(encode_json(source.identity)),
            session=self._hash(encode_json(source.identity.key)),
            salt=self._salt,
            seen=rest.seen,
            history=rest.history,
            baseline=rest.baseline,
            cursor=rest.cursor,
            read_ns=rest.read_ns,
            forgotten_ns=forgotten_ns,
        )

    def of_source(self, path: str, identity: Identity) -> TombstoneRow | None:
        """Return the one of a file, wherever in its root it is now; None if it belongs to no forgotten session."""
        if not self._rows:
            return None
        return self._rows.get(self._hash(path)) or self._identities.get(self._hash(encode_json(identity)))

    @property
    def sessions(self) -> frozenset[bytes]:
        """What the sessions are known by: others in another ledger."""
        return frozenset(self._sessions)

    def covers(self, key: SessionKey) -> bool:
        """Return whether a session, or the one that it is a sub-agent of, was forgotten."""
        return any(self.of_session(one) is not None for one in {key, key._replace(subagent="")})

    def of_session(self, key: SessionKey) -> TombstoneRow | None:
        """Return one of a session, None if it was not forgotten."""
        return self._sessions.get(self._hash(encode_json(key))) if self._rows else None

    def reopen(self, key: SessionKey) -> None:
        """Let katod know a session again, because a person asks for it; what was said before stays history."""
        self._reopened.add(self._hash(encode_json(key)))

    def is_reopened(self, row: TombstoneRow) -> bool:
        """Return whether a person asked for the session of a tombstone since this process began."""
        return row.session in self._reopened

    def mark(self, said: str) -> str:
        """Return what the ledger keeps of something that was said in a forgotten session, empty if there is none."""
        return f"forgotten:{self._hash(said).hex()}" if self._salt and said else ""

    def _hash(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST, key=self._salt).digest()


class Personal:
    """The rows of all sessions of which the user said something."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def all(self) -> dict[SessionKey, PersonalRow]:
        """Return each row by its session. Raises LedgerDamaged for anything that katod did not write."""
        if self._db.execute(_HAS_ANY).fetchone() is None:  # a ledger that is only read may lack the table
            return {}
        return {row.session: row for row in map(PERSONAL.read, self._db.execute(PERSONAL.select))}

    def of(self, session: SessionKey) -> PersonalRow:
        """Return what is said of a session; an empty row if nothing is."""
        if self._db.execute(_HAS_ANY).fetchone() is None:
            return PersonalRow(session)
        row = self._db.execute(f"{PERSONAL.select} WHERE session = ?", (encode_json(session),)).fetchone()
        return PERSONAL.read(row) if row else PersonalRow(session)

    def save(self, row: PersonalRow) -> None:
        """Store what is said of a session, in place of what was."""
        if row.is_empty:
            self.forget([row.session])
        else:
            self._db.execute(_SET_PERSONAL, PERSONAL.values(row))

    def forget(self, sessions: Iterable[SessionKey]) -> None:
        """Delete what is said of these sessions, and of their sub-agents."""
        forgotten = set(sessions)
        gone = [key for key in self.all() if forgotten & {key, key._replace(subagent="")}]
        self._db.executemany("DELETE FROM personal WHERE session = ?", ((encode_json(key),) for key in gone))
