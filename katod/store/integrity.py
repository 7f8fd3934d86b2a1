"""The integrity of the ledger's file. A damaged file is quarantined under another name, and a new one created."""

import os
import sqlite3
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from katod import durable
from katod.errors import LedgerDamaged, LedgerError, LedgerUnreleased
from katod.log import EventLog
from katod.store.statefolder import trouble_with

DatabaseError = sqlite3.Error  # for readers of a ledger, who need not know that it uses SQLite
PRIVATE: Final = 0o600
# Written to the file's header, so that any program can distinguish a ledger from other databases.
APPLICATION_ID: Final = 0x6B61746F  # "kato"
TABLES_VERSION: Final = 3  # of the tables; 1 and 2 were never released
_UNRELEASED: Final = range(1, 4)  # the versions before the first release; they had no application id
_SUFFIXES: Final = (".damaged-", ".unreleased-")
_PART: Final = ".part"
HOW_TO_REPAIR: Final = "restart katod: it quarantines a damaged ledger"
STRANGE: Final = "the ledger contains data that katod did not write"
_VERSION_AT: Final = 60  # where SQLite keeps `user_version`
_APPLICATION_AT: Final = 68  # and `application_id`
_HEADER: Final = 100
_CHUNK: Final = 1024 * 1024
_PATIENCE: Final = 10  # seconds for other programs to end what they do with the ledger
_PATIENCE_WITH_READERS: Final = 1
_LOG_HEADER: Final = struct.Struct(">8I")
_LOG_FRAME: Final = struct.Struct(">6I")
_LOG_MAGIC: Final = (0x377F0682, 0x377F0683)
# SQLITE_ERROR: the tables are not those that katod created.
_TABLES: Final = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def connect(path: Path) -> sqlite3.Connection:
    """Open the file for writing; every commit is on disk before it returns."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: as `durable.sync` does; elsewhere it changes nothing
        connection.execute("PRAGMA checkpoint_fullfsync=ON")
        connection.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten, too
        connection.execute("PRAGMA temp_store=MEMORY")  # `erase` copies everything: to no file elsewhere
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path, schema: str, *, untouched: bool = False) -> sqlite3.Connection | None:
    """Open a ledger that a daemon may be writing, None if there is none yet. Raises LedgerError.

    A reader may create the files beside it; `untouched` changes nothing at all, and reads a ledger without a log as one
    that nobody writes.
    """
    if path.parent.exists() and not path.parent.is_dir():
        raise LedgerError("not a directory: katod keeps its state in it", path=path.parent, hint="move it away")
    if not path.exists():
        return None
    if not path.is_file():
        raise LedgerError("not a regular file", path=path, hint=HOW_TO_REPAIR)
    if path.stat().st_size == 0:
        return None
    refuse_newer(path, schema)
    connection: sqlite3.Connection | None = None
    try:
        mode = _mode(path, untouched=untouched)
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=5)
        identity = _identity(connection)
    except sqlite3.DatabaseError as error:
        if connection is not None:
            connection.close()
        raise _unreadable(path, error) from error
    if identity == (APPLICATION_ID, TABLES_VERSION):
        return connection
    with closing(connection):
        raise _foreign(identity, connection, path, schema)


def _unreadable(path: Path, error: sqlite3.DatabaseError) -> LedgerError:
    """Return what to say of an error of SQLite: what is wrong with the directory, if that is it."""
    if not is_damage(error) and (trouble := trouble_with(path.parent)) is not None:
        return LedgerError(trouble.what, path=trouble.path, hint=trouble.hint)
    hint = HOW_TO_REPAIR if is_damage(error) else ""
    return LedgerError(f"cannot be read: {safe_database_message(error)}", path=path, hint=hint)


def _foreign(identity: tuple[int, int], ledger: sqlite3.Connection, path: Path, schema: str) -> LedgerError:
    """Return why a ledger is not one of this version. Raises LedgerError for a newer one."""
    application, version = identity
    if application == APPLICATION_ID and version > TABLES_VERSION:  # as its log says, which was not read before
        refuse_newer_tables(ledger, path, schema)
    unreleased = application in (0, APPLICATION_ID) and version in _UNRELEASED
    writer = "an unreleased version of katod" if unreleased else "another program"
    return LedgerError(f"written by {writer}", path=path, hint="`katod run` quarantines it")


def _mode(path: Path, *, untouched: bool) -> str:
    if not untouched:
        return "mode=ro"
    return "mode=ro&readonly_shm=1" if _wal_path(path).exists() else "immutable=1"


def check_quickly(connection: sqlite3.Connection) -> None:
    """Raise LedgerDamaged, or SQLite's own error, if the pages of a ledger are not consistent."""
    result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if result != "ok":
        raise LedgerDamaged(result)


def create(path: Path, schema: str) -> sqlite3.Connection:
    """Create a ledger that only its owner can read; it has its name when it is complete, and on disk.

    So an empty file with this name is damage, and never the beginning of a ledger that a crash cut short.
    """
    part = path.with_name(f"{path.name}{_PART}")
    for unfinished in _with_companions(part):
        durable.remove(unfinished, missing_ok=True)
    with closing(connect(part)) as ledger:
        make_private(part)
        create_tables(ledger, schema)
    for stale in _with_companions(path):  # of a ledger that is gone: it would be taken for the new one's
        durable.remove(stale, missing_ok=True)
    durable.rename(part, path)
    durable.sync_names(path.parent)
    return connect(path)


def _with_companions(path: Path) -> list[Path]:
    """Return the files that a database may consist of."""
    return [path.with_name(f"{path.name}{suffix}") for suffix in ("", "-wal", "-shm", "-journal")]


def create_tables(connection: sqlite3.Connection, schema: str, added: str = "") -> None:
    """Create the tables of this version, unless they exist: a crash may leave a file without them.

    `added` creates those that a ledger of this version may lack.
    """
    if _identity(connection) == (APPLICATION_ID, TABLES_VERSION):
        connection.executescript(added)
        return
    stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {TABLES_VERSION};"
    connection.executescript(f"BEGIN; {schema} {stamp} COMMIT;")


def _identity(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the application id and the version of the tables."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application, connection.execute("PRAGMA user_version").fetchone()[0]


def stated_identity(path: Path) -> tuple[int, int]:
    """Return the application id and version in a ledger's first bytes; the file is not opened as a database."""
    head = _beginning(path, _HEADER)
    if not head.startswith(b"SQLite format 3\0"):
        return 0, 0
    version, application = (int.from_bytes(head[at : at + 4], "big") for at in (_VERSION_AT, _APPLICATION_AT))
    return application, version


def refuse_newer(path: Path, schema: str) -> None:
    """Raise LedgerError if the ledger was written by a newer katod, LedgerDamaged if only its version says so.

    A newer version has other tables. With those of `schema`, a bit of the number was flipped.
    """
    application, version = stated_identity(path)
    if application != APPLICATION_ID or version <= TABLES_VERSION:
        return
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as ledger:
            refuse_newer_tables(ledger, path, schema)
    except sqlite3.Error as error:
        raise _newer(path) from error


def refuse_newer_tables(ledger: sqlite3.Connection, path: Path, schema: str) -> None:
    """Raise LedgerError for a ledger whose version is newer, LedgerDamaged if its tables are those of a schema."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(schema)
        there, own = (set(database.execute(_TABLES)) for database in (ledger, empty))
    if there and there <= own:
        raise LedgerDamaged("the version in it is not that of its tables", path=path, hint=HOW_TO_REPAIR)
    raise _newer(path)


def _newer(path: Path) -> LedgerError:
    return LedgerError("written by a newer version of katod", path=path, hint="upgrade katod, or move the file away")


def refuse_link(path: Path) -> None:
    """Raise LedgerError for a symbolic link: its target may belong to someone else."""
    for name in (path, _wal_path(path)):
        if name.is_symlink():
            raise LedgerError(
                "must not be a symbolic link", path=name, hint="replace the link with the file, or delete it"
            )


def check_files(path: Path) -> None:
    """Raise LedgerDamaged for any damage visible before the ledger is opened as a database.

    SQLite ignores a log that it cannot read. katod would lose its latest state and repeat what it had already done.
    """
    if problem := _problem_of(os.lstat(path), path):
        raise LedgerDamaged(problem)


def _problem_of(status: os.stat_result, path: Path) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if not status.st_size:
        return "it is empty"
    log = _wal_path(path)
    try:
        logged = os.lstat(log)
    except FileNotFoundError:
        return "its write-ahead log is missing" if path.with_name(f"{path.name}-shm").exists() else ""
    if not stat.S_ISREG(logged.st_mode):
        return "its write-ahead log is not a regular file"
    if logged.st_size <= _LOG_HEADER.size:
        return ""  # nothing was ever committed to it
    return "" if _is_log(_beginning(log, _LOG_HEADER.size)) else "its write-ahead log is damaged"


def is_damage(error: Exception) -> bool:
    """Return whether an error means damage; a busy or full database is not damaged."""
    return isinstance(error, LedgerDamaged | UnicodeDecodeError) or _code(error) & 0xFF in _DAMAGE


def safe_database_message(error: Exception) -> str:
    """Return what may be shown of an error: if text cannot be decoded, the message of SQLite contains all of it."""
    return (
        str(error)
        if isinstance(error, LedgerDamaged | LedgerUnreleased) or hasattr(error, "sqlite_errorcode")
        else STRANGE
    )


def _code(error: Exception) -> int:
    """Return SQLite's code of an error. The error that has none is about text that cannot be decoded."""
    found = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return int(found) if isinstance(error, sqlite3.Error) else sqlite3.SQLITE_OK


def check_database(connection: sqlite3.Connection, path: Path, schema: str) -> None:
    """Check that an open ledger is intact and of this version.

    Raises LedgerDamaged, LedgerUnreleased, or SQLite's own error.
    """
    result = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if result != "ok":
        raise LedgerDamaged(result)
    _check_identity(connection, path, schema)
    busy, read, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if busy or read < 0:
        return  # it is being read, or there is no log: how much of it is intact cannot be determined
    commits = [size for size in _frames(_wal_path(path), read) if size]
    if len(commits) > 1:  # one may have been in progress when the power failed; a second one was after a sync
        raise LedgerDamaged("its write-ahead log is damaged")


def _check_identity(connection: sqlite3.Connection, path: Path, schema: str) -> None:
    application, version = _identity(connection)
    if application == APPLICATION_ID and version > TABLES_VERSION:  # as the log says, which was not read before
        refuse_newer_tables(connection, path, schema)
    if _is_unreleased((application, version)):
        raise LedgerUnreleased("it was written by an unreleased version of katod")
    if application != APPLICATION_ID and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise LedgerDamaged("it is a database of another program")


def _is_unreleased(identity: tuple[int, int]) -> bool:
    application, version = identity
    return (application == 0 and version in _UNRELEASED) or (application == APPLICATION_ID and version < TABLES_VERSION)


def make_private(path: Path) -> None:
    """Let only the owner read and write a ledger."""
    if stat.S_IMODE(path.stat().st_mode) != PRIVATE:
        path.chmod(PRIVATE)


def quarantine(path: Path, error: LedgerError, log: EventLog) -> None:
    """Rename an unusable ledger together with its log. Raises LedgerError if that fails."""
    suffix = _SUFFIXES[isinstance(error, LedgerUnreleased)]
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}{suffix}{number}")):
        number += 1
    try:
        durable.rename(path, aside)  # first, because what is left without its log would look intact
        if os.path.lexists(_wal_path(path)):
            durable.rename(_wal_path(path), _wal_path(aside))
        durable.remove(path.with_name(f"{path.name}-shm"), missing_ok=True)
        durable.sync_names(path.parent)
    except OSError as failure:
        raise LedgerError(f"unusable, and cannot be quarantined: {failure.strerror}", path=path) from failure
    log.ledger_quarantined(str(aside), error.what)


def quarantined(directory: Path, name: str) -> list[Path]:
    """Return the quarantined ledgers, oldest first."""
    found = [(path, _number(path)) for suffix in _SUFFIXES for path in directory.glob(f"{name}{suffix}*")]
    return [path for path, number in sorted(found, key=lambda item: item[1]) if number]


def erase(connection: sqlite3.Connection, *, rewrite: bool) -> bool:
    """Leave nothing of deleted rows in the file or its log; return False while another program reads the ledger.

    `rewrite` the file first: its pages may have copies of rows that were moved.
    """
    if rewrite:
        connection.execute("VACUUM")
    connection.execute(f"PRAGMA busy_timeout = {int(1000 * _PATIENCE_WITH_READERS)}")  # recordings wait meanwhile
    try:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE}")
    return not busy


def containing(paths: Iterable[Path], words: Iterable[bytes]) -> list[Path]:
    """Return those of these ledgers that contain one of some words, in the file or in its log. Raises OSError."""
    wanted = list(filter(None, words))
    return [path for path in paths if any(_contains(part, wanted) for part in (path, _wal_path(path)))]


def _contains(path: Path, words: list[bytes]) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    longest, rest = max(map(len, words), default=0), b""
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            if any(word in rest + piece for word in words):
                return True
            rest = piece[-longest:]
    return False


def delete_quarantined(path: Path) -> None:
    """Delete a quarantined ledger with the files beside it. Raises OSError."""
    for name in (_wal_path(path), path.with_name(f"{path.name}-shm"), path):
        durable.remove(name, missing_ok=True)
    durable.sync_names(path.parent)


def _number(aside: Path) -> int:
    number = aside.suffix.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _wal_path(path: Path) -> Path:
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
    """Return whether this is the header of a log, judged by its two checksums."""
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
    """Yield the size stated in each frame of the log's current round, from `number` on (0: not a commit)."""
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
