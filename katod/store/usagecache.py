"""What `katod usage` keeps of session files between two runs: a SQLite file of its own beside the ledger.

It has numbers, names of models, and hashes with a key: no text of a session, and no path. Any process may write it, and
nothing is lost if it cannot: what is missing is read from the session files again.
"""

import errno
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from katod import durable
from katod.errors import LedgerDamaged, LedgerError
from katod.model import START, Cursor, SessionKey, Stat
from katod.store.integrity import make_private, safe_database_message
from katod.store.keyedhash import KeyedHash
from katod.store.tables import Table

CACHE_NAME: Final = "usage.db"
_PATIENCE: Final = 2  # seconds


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
    def open(cls, directory: Path, version: int, zone: str, *, keeps_gone: bool = False) -> "UsageCache | None":
        """Open the file, or create it; None if that is not possible now, or if katod has no state directory yet.

        A damaged file is replaced. What is of another version, or of another time zone, is dropped; with `keeps_gone`,
        what is of another time zone stays for sources that are gone, and others are read again.
        """
        path = directory / CACHE_NAME
        if not directory.is_dir() or path.is_symlink():
            return None
        with suppress(OSError, sqlite3.Error):
            try:
                return cls._opened(path, version, zone, keeps_gone=keeps_gone)
            except sqlite3.Error as error:
                if not _is_damage(error):
                    raise
            _remove(path)
            return cls._opened(path, version, zone, keeps_gone=keeps_gone)
        return None

    @classmethod
    def _opened(cls, path: Path, version: int, zone: str, *, keeps_gone: bool) -> "UsageCache":
        if not path.exists():
            durable.claim_folder(path.parent)
            path.touch(0o600)
            make_private(path)
        db = _connect(path)
        try:
            about = _about(db)
            if keeps_gone and about is not None and about.version == version and about.zone != zone:
                about = _in_zone(db, zone)
            if about is None or about[:2] != (version, zone):
                about = _renewed(db, version, zone)
        except BaseException:
            db.close()
            raise
        return cls(db, KeyedHash(about.key))

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

    def save(
        self,
        rows: Iterable[tuple[UsageSourceRow, bytes]],
        gone: Iterable[bytes],
        also_gone: Callable[[], Iterable[bytes]] = tuple,
    ) -> None:
        """Store sources with their answers, and drop those that are gone; do nothing if the file cannot be written.

        `also_gone` is called when no other process can write to the file any more.
        """
        add = [table.insert.replace("INSERT", "INSERT OR REPLACE", 1) for table in (_SOURCES, _ANSWERS)]
        with suppress(sqlite3.Error), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            about = _about(self._db)
            if about is None or about.key != self.hashes.key:  # another process has cleared it
                return
            for row, answers in rows:
                with suppress(TypeError, OverflowError):  # a file system may have numbers of more than 64 bits
                    self._db.execute(add[0], _SOURCES.values(row))
                    self._db.execute(add[1], _ANSWERS.values(UsageAnswersRow(row.path, answers)))
            _drop(self._db, [*gone, *also_gone()])


def forget_usage(directory: Path, keys: Iterable[SessionKey]) -> None:
    """Drop the rows of these sessions, and of their sub-agents.

    Raises OSError, also if another process writes the file for too long.
    """
    path = directory / CACHE_NAME
    if path.is_symlink() or not path.exists():
        return
    try:
        with closing(_connect(path)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            _drop_sessions(db, keys)
    except sqlite3.Error as error:
        if not _is_damage(error):
            raise OSError(errno.EIO, safe_database_message(error), str(path)) from error
        _remove(path)  # all of it can be read again


def _drop_sessions(db: sqlite3.Connection, keys: Iterable[SessionKey]) -> None:
    """Drop the rows of sessions; all of them if they cannot be told apart."""
    about = _about(db)
    try:
        found = db.execute("SELECT path, session FROM sources").fetchall() if about is not None else []
    except sqlite3.OperationalError as error:
        if not _has_other_tables(error):
            raise
        about = None
    if about is None:
        _drop_tables(db)
        return
    hashes = KeyedHash(about.key)
    sessions = {hashes.session(key.agent, key.id) for key in keys}
    _drop(db, [path for path, session in found if session in sessions])


def _about(db: sqlite3.Connection) -> UsageAboutRow | None:
    """Return what the rows depend on, None if katod did not write it. Raises sqlite3.Error if it cannot be read."""
    try:
        return _ABOUT.read(db.execute(_ABOUT.select).fetchone() or ())
    except LedgerError:
        return None
    except sqlite3.OperationalError as error:
        if not _has_other_tables(error):
            raise
        return None


def _renewed(db: sqlite3.Connection, version: int, zone: str) -> UsageAboutRow:
    """Drop everything and start with another key, unless another process just did."""
    with db:
        db.execute("BEGIN IMMEDIATE")
        about = _about(db)
        if about is not None and about[:2] == (version, zone):
            return about
        about = UsageAboutRow(version, zone, KeyedHash.random().key)
        _drop_tables(db)
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(_ABOUT.insert, _ABOUT.values(about))
    return about


def _in_zone(db: sqlite3.Connection, zone: str) -> UsageAboutRow | None:
    """Have the days be those of another time zone from now on: whatever source is there is read again, all of it.

    Return what the rows depend on then, None if katod did not write them.
    """
    insert = _SOURCES.insert.replace("INSERT", "INSERT OR REPLACE", 1)
    with suppress(LedgerDamaged), db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE about SET zone = ?", (zone,))
        for row in map(_SOURCES.read, db.execute(_SOURCES.select).fetchall()):
            unread = row._replace(seen=row.seen._replace(dev=-1, ino=-1), cursor=START)
            db.execute(insert, _SOURCES.values(unread))
        return _about(db)
    return None


def _drop_tables(db: sqlite3.Connection) -> None:
    for name in ("about", "sources", "answers"):
        db.execute(f"DROP TABLE IF EXISTS {name}")


def _is_damage(error: sqlite3.Error) -> bool:
    """Return whether the file is no database, or a malformed one; one that is locked, for example, is neither."""
    return _code(error) in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


def _has_other_tables(error: sqlite3.Error) -> bool:
    """Return whether there are other tables than those of this version, or none."""
    return _code(error) == sqlite3.SQLITE_ERROR


def _code(error: sqlite3.Error) -> int:
    """Return the kind of an error; what is more special is above these bits."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _drop(db: sqlite3.Connection, paths: Iterable[bytes]) -> None:
    gone = [(path,) for path in paths]
    db.executemany("DELETE FROM sources WHERE path = ?", gone)
    db.executemany("DELETE FROM answers WHERE path = ?", gone)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE)
    db.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, too
    return db


def _remove(path: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
