"""Whether the ledger's file is whole. What is not is kept under another name, and a new one is begun."""

import os
import sqlite3
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from katod.errors import LedgerDamaged, LedgerError
from katod.log import EventLog

DatabaseError = sqlite3.Error  # for those who read a ledger, and need not know what it is made of
PRIVATE: Final = 0o600
ASIDE: Final = ".damaged-"
HOW_TO_MEND: Final = "end the katod that runs, if one does, and start it: it sets a damaged ledger aside"
STRANGE: Final = "the ledger holds what katod did not write"
_VERSION_AT: Final = 60  # where SQLite keeps `user_version`
_HEADER: Final = 100
_LOG_HEADER: Final = struct.Struct(">8I")
_LOG_FRAME: Final = struct.Struct(">6I")
_LOG_MAGIC: Final = (0x377F0682, 0x377F0683)
# SQLITE_ERROR: tables that are not those that katod made.
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def stated_version(path: Path) -> int:
    """Return the version that a ledger's first bytes state; the file is not opened as a database for it."""
    head = _beginning(path, _HEADER)
    return int.from_bytes(head[_VERSION_AT : _VERSION_AT + 4], "big") if head.startswith(b"SQLite format 3\0") else 0


def refuse_link(path: Path) -> None:
    """Raise LedgerError for a symbolic link: whatever it leads to may be somebody else's."""
    for name in (path, _log(path)):
        if name.is_symlink():
            raise LedgerError("is a symbolic link", path=name, hint="put the file itself there, or take the link away")


def damage(path: Path) -> str:
    """Say what is wrong with a ledger before it is opened: an empty text if nothing is.

    SQLite passes over a log that it cannot read. What katod had noted there last would be forgotten, and be done again.
    """
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if not status.st_size:
        return "it is empty"
    log = _log(path)
    try:
        logged = os.lstat(log)
    except FileNotFoundError:
        return "its log is gone" if path.with_name(f"{path.name}-shm").exists() else ""
    if not stat.S_ISREG(logged.st_mode):
        return "its log is not a regular file"
    if logged.st_size <= _LOG_HEADER.size:
        return ""  # nothing was ever committed to it
    return "" if _is_log(_beginning(log, _LOG_HEADER.size)) else "its log is damaged"


def is_damage(error: Exception) -> bool:
    """Say whether an error tells of damage: a busy, full or closed disk does not."""
    return isinstance(error, (LedgerDamaged, UnicodeDecodeError)) or _code(error) & 0xFF in _DAMAGE


def shown(error: Exception) -> str:
    """Return what may be shown of an error of the ledger: of a text that cannot be decoded SQLite shows all."""
    return str(error) if isinstance(error, LedgerDamaged) or hasattr(error, "sqlite_errorcode") else STRANGE


def _code(error: Exception) -> int:
    """Return SQLite's code of an error. What it has none for is a text that cannot be decoded."""
    found = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return int(found) if isinstance(error, sqlite3.Error) else sqlite3.SQLITE_OK


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise LedgerDamaged, or an error of SQLite, unless the pages of an open ledger fit together."""
    result = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if result != "ok":
        raise LedgerDamaged(result)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if not version and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise LedgerDamaged("it is a database of another program")
    busy, read, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if busy or read < 0:
        return  # somebody reads it just now, or there is no log: how far it is whole cannot be told
    commits = [size for size in _frames(_log(path), read) if size]
    if len(commits) > 1:  # one may have been under way when the power went out; a second one came after a sync
        raise LedgerDamaged("its log is damaged")


def make_private(path: Path) -> None:
    """Let the owner, and nobody else, read and write a ledger."""
    if stat.S_IMODE(path.stat().st_mode) != PRIVATE:
        path.chmod(PRIVATE)


def set_aside(path: Path, problem: str, log: EventLog) -> None:
    """Give a damaged ledger another name, and its log with it; raises LedgerError when that cannot be done."""
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}{ASIDE}{number}")):
        number += 1
    try:
        path.rename(aside)  # first: what is left without its log would be taken for whole
        if os.path.lexists(_log(path)):
            _log(path).rename(_log(aside))
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    except OSError as error:
        raise LedgerError(f"is damaged and cannot be set aside: {error.strerror}", path=path) from error
    log.ledger_quarantined(str(aside), problem)


def those_aside(directory: Path, name: str) -> list[Path]:
    """Return the ledgers that were set aside, the oldest first."""
    found = [path for path in directory.glob(f"{name}{ASIDE}*") if path.suffix[len(ASIDE) :].isdigit()]
    return sorted(found, key=lambda path: int(path.suffix[len(ASIDE) :]))


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _beginning(path: Path, size: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        return os.read(fd, size)
    except IsADirectoryError:
        return b""
    finally:
        os.close(fd)


def _is_log(head: bytes) -> bool:
    """Say whether this is the header of a log, by its two sums."""
    if len(head) < _LOG_HEADER.size:
        return False
    magic, *_, first, second = _LOG_HEADER.unpack(head)
    words = struct.unpack(">6I" if magic & 1 else "<6I", head[:24])
    one = two = 0
    for left, right in zip(words[::2], words[1::2], strict=True):
        one = (one + left + two) & 0xFFFFFFFF
        two = (two + right + one) & 0xFFFFFFFF
    return magic in _LOG_MAGIC and (one, two) == (first, second)


def _frames(log: Path, number: int) -> Iterator[int]:
    """Yield, of each frame from this one on that belongs to the log's present round, what it states at a commit."""
    if not log.exists() or log.stat().st_size <= _LOG_HEADER.size:
        return
    with log.open("rb") as file:
        _, _, page, _, *salts, _, _ = _LOG_HEADER.unpack(file.read(_LOG_HEADER.size))
        length = _LOG_FRAME.size + page
        for at in range(_LOG_HEADER.size + number * length, log.stat().st_size - length + 1, length):
            file.seek(at)
            _, size, *of_frame, _, _ = _LOG_FRAME.unpack(file.read(_LOG_FRAME.size))
            if of_frame == salts:
                yield size
