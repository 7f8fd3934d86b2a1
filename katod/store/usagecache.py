"""What `katod usage` keeps of session files between two runs: a SQLite file of its own beside the ledger.

It has numbers, names of models, and hashes with a key: no text of a session, and no path. Any process may write it, and
nothing is lost if it cannot: what is missing is read from the session files again.
"""

import errno
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from katod.errors import LedgerDamaged
from katod.model import Cursor, SessionKey, Stat
from katod.store.integrity import make_private
from katod.store.tables import Table

CACHE_NAME: Final = "usage.db"
_KEY: Final = 16  # bytes
_PATIENCE: Final = 2  # seconds


class KeyedHash:
    """Hashes with a key: the same text has the same one, and from the hash alone nobody can tell the text."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    @classmethod
    def random(cls) -> "KeyedHash":
        """Return hashes with a new key."""
        return cls(os.urandom(_KEY))

    def of(self, text: str) -> bytes:
        """Return the hash of a text, empty for an empty one."""
        return self._digest(text, 16) if text else b""

    def number(self, text: str) -> int:
        """Return a hash of eight bytes, as a signed number."""
        return int.from_bytes(self._digest(text, 8), "big", signed=True)

    def session(self, agent: str, session: str) -> bytes:
        """Return the hash of a session, with its sub-agents, empty if it has no id."""
        return self.of(f"{agent}:{session}") if session else b""

    def _digest(self, text: str, size: int) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size, key=self.key).digest()


class UsageAboutRow(NamedTuple):
    """What the hashes and the days of all rows depend on."""

    version: int
    zone: Annotated[str, "PRIMARY KEY"]
    key: bytes


class UsageSourceRow(NamedTuple):
    """One session file: how it was when it was read, whose it is, and what it used, packed."""

    path: Annotated[bytes, "PRIMARY KEY"]
    session: bytes  # as its path names it
    named: bytes  # as it names itself
    seen: Stat
    cursor: Cursor
    project: bytes
    parent: bytes
    spawned: bool
    keys: bytes
    sums: bytes
    costs: bytes


class UsageAnswersRow(NamedTuple):
    """All answers of one session file, packed: they are needed only if some of them are copies, or if it has grown."""

    path: Annotated[bytes, "PRIMARY KEY"]
    answers: bytes


_ABOUT: Final = Table("about", UsageAboutRow)
_SOURCES: Final = Table("sources", UsageSourceRow, index="session")
_ANSWERS: Final = Table("answers", UsageAnswersRow)
_SCHEMA: Final = "".join(table.create for table in (_ABOUT, _SOURCES, _ANSWERS))


class UsageCache:
    """The open file."""

    def __init__(self, db: sqlite3.Connection, hashes: KeyedHash) -> None:
        self.hashes = hashes
        self._db = db

    @classmethod
    def open(cls, directory: Path, version: int, zone: str) -> "UsageCache | None":
        """Open the file, or create it; None if that is not possible, or if katod has no state directory yet.

        One that is damaged, of another version, or of another time zone is replaced.
        """
        path = directory / CACHE_NAME
        if not directory.is_dir() or path.is_symlink():
            return None
        with suppress(OSError, sqlite3.Error, LedgerDamaged):
            return cls._existing(path, version, zone) or cls._created(path, version, zone)
        with suppress(OSError, sqlite3.Error):
            return cls._created(path, version, zone)
        return None

    @classmethod
    def _existing(cls, path: Path, version: int, zone: str) -> "UsageCache | None":
        if not path.exists():
            return None
        db = _connect(path)
        try:
            about = _ABOUT.read(db.execute(_ABOUT.select).fetchone() or ())
            if about.version == version and about.zone == zone:
                return cls(db, KeyedHash(about.key))
        except BaseException:
            db.close()
            raise
        db.close()
        return None

    @classmethod
    def _created(cls, path: Path, version: int, zone: str) -> "UsageCache":
        _remove(path)
        path.touch(0o600)
        make_private(path)
        db, hashes = _connect(path), KeyedHash.random()
        try:
            db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
            db.execute(_ABOUT.insert, _ABOUT.values(UsageAboutRow(version, zone, hashes.key)))
        except BaseException:
            db.close()
            raise
        return cls(db, hashes)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def sources(self) -> dict[bytes, UsageSourceRow]:
        """Return what is known, by the hashes of paths; nothing if it cannot be read."""
        with suppress(sqlite3.Error, LedgerDamaged):
            return {row.path: row for row in map(_SOURCES.read, self._db.execute(_SOURCES.select))}
        return {}

    def answers(self, path: bytes) -> bytes:
        """Return the answers of a source, packed; empty if they cannot be read."""
        with suppress(sqlite3.Error, LedgerDamaged):
            found = self._db.execute(f"{_ANSWERS.select} WHERE path = ?", (path,)).fetchone()
            return b"" if found is None else _ANSWERS.read(found).answers
        return b""

    def save(self, rows: Iterable[tuple[UsageSourceRow, bytes]], gone: Iterable[bytes]) -> None:
        """Store sources with their answers, and drop those that are gone; do nothing if the file cannot be written."""
        add = [table.insert.replace("INSERT", "INSERT OR REPLACE", 1) for table in (_SOURCES, _ANSWERS)]
        with suppress(sqlite3.Error), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for row, answers in rows:
                self._db.execute(add[0], _SOURCES.values(row))
                self._db.execute(add[1], _ANSWERS.values(UsageAnswersRow(row.path, answers)))
            _drop(self._db, gone)


def forget_usage(directory: Path, keys: Iterable[SessionKey]) -> None:
    """Drop the rows of these sessions, and of their sub-agents. Raises OSError."""
    path = directory / CACHE_NAME
    if path.is_symlink() or not path.exists():
        return
    try:
        with closing(_connect(path)) as db:
            hashes = KeyedHash(_ABOUT.read(db.execute(_ABOUT.select).fetchone() or ()).key)
            sessions = {hashes.session(key.agent, key.id) for key in keys}
            db.execute("BEGIN IMMEDIATE")
            found = db.execute("SELECT path, session FROM sources").fetchall()
            _drop(db, [path for path, session in found if session in sessions])
            db.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if _is_busy(error):
            raise OSError(errno.EBUSY, "another program writes to it", str(path)) from error
        _remove(path)
    except (sqlite3.Error, LedgerDamaged):
        _remove(path)  # all of it can be read again


def _drop(db: sqlite3.Connection, paths: Iterable[bytes]) -> None:
    gone = [(path,) for path in paths]
    db.executemany("DELETE FROM sources WHERE path = ?", gone)
    db.executemany("DELETE FROM answers WHERE path = ?", gone)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE)
    db.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, too
    return db


def _is_busy(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _remove(path: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
