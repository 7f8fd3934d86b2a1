"""Reads another program's SQLite database without leaving a trace: no lock that it could hit, no file created."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from katod.agents.fields import dict_of
from katod.errors import SourceError, SourceGone, SourceUnusable
from katod.model import changed_ns
from katod.tail.decode import value_of

_WAIT: Final = 0.2
_LATEST_MS: Final = 4_000_000_000_000_000  # far beyond any plausible time
# No session comes near these: a database that does was made to hurt.
_LARGEST_VALUE: Final = 64 * 1024**2
_LARGEST_TOTAL: Final = 512 * 1024**2
_LONGEST: Final = 10.0  # seconds for one reading
_OPERATIONS: Final = 20_000  # of SQLite's machine between two looks at the clock
_REASONS: Final = {
    "SQLITE_INTERRUPT": f"reading it took longer than {_LONGEST:.0f} seconds",
    "SQLITE_AUTH": "what should be its tables are views",
    "SQLITE_TOOBIG": f"it contains values of more than {_LARGEST_VALUE} bytes",
}
# Databases that could not be read for such a reason, as they were then: they are not tried again until they change.
_unusable: dict[str, tuple[tuple[int, ...], str]] = {}
_MOST_REMEMBERED: Final = 64


def row_time(value: object) -> int:
    """Return the time of a row in milliseconds, 0 if it is not valid."""
    return value if isinstance(value, int) and 0 <= value < _LATEST_MS else 0


def decoded(data: object) -> dict[str, Any]:
    """Return the object in a row's JSON, an empty one if there is none."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    return dict_of(value_of(data)) if isinstance(data, bytes) else {}


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database briefly. Raises SourceGone, SourceUnusable if only a change of it can help, or SourceError.

    A plain read-only connection creates `-wal` and `-shm` if they are missing, so a database without a `-wal` is opened
    as immutable. With a `-wal`, the `-shm` is opened read-only as well: the first reader would otherwise lock it, and
    an owner that starts at that moment fails. A `-wal` without its `-shm` is not read until the owner opens it.
    """
    state = _state(path)
    known = _unusable.get(path)
    if known is not None and known[0] == state:
        raise SourceUnusable(known[1], path=path)
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(
            f"{Path(path).as_uri()}?{_mode(path)}", uri=True, isolation_level=None, timeout=_WAIT
        )
        _restrict(connection)
        yield connection
    except sqlite3.Error as error:  # its message may quote a row
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if name in _REASONS:
            raise _remembered(path, state, _REASONS[name]) from error
        if name == "SQLITE_ERROR":  # no such table or column
            raise SourceError("found, not understood: its tables are of an unknown version", path=path) from error
        raise SourceError(f"cannot be read: {name}", path=path) from error
    except _TextLimit as error:
        raise _remembered(path, state, f"it contains more than {_LARGEST_TOTAL} bytes") from error
    finally:
        if connection is not None:
            connection.close()


class _TextLimit(Exception):
    """More text was read than any session contains."""


def _mode(path: str) -> str:
    if not Path(path).is_file():
        raise SourceGone("no longer exists", path=path)
    if not Path(f"{path}-wal").exists():
        return "immutable=1"
    if not Path(f"{path}-shm").exists():
        raise SourceError("cannot be read: it has a -wal but no -shm file (start the agent once)", path=path)
    return "mode=ro&readonly_shm=1"


def _restrict(connection: sqlite3.Connection) -> None:
    """Limit what a database of unknown origin can do: run a view's code, take long, take memory."""
    left, deadline = _LARGEST_TOTAL, time.monotonic() + _LONGEST

    def text(data: bytes) -> str:
        nonlocal left
        left -= len(data)
        if left < 0:
            raise _TextLimit
        return data.decode("utf-8", "replace")

    connection.text_factory = text
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _OPERATIONS)
    connection.set_authorizer(
        lambda action, _first, _second, _database, within: (
            sqlite3.SQLITE_DENY if within or action == sqlite3.SQLITE_RECURSIVE else sqlite3.SQLITE_OK
        )
    )


def _remembered(path: str, state: tuple[int, ...], reason: str) -> SourceUnusable:
    if len(_unusable) >= _MOST_REMEMBERED:
        _unusable.clear()
    _unusable[path] = (state, f"cannot be read: {reason}")
    return SourceUnusable(_unusable[path][1], path=path)


def _state(path: str) -> tuple[int, ...]:
    """Return the signature of a database, which changes with it: inode, size and time of its file and of its log."""
    found: list[int] = []
    for name in (path, f"{path}-wal"):
        try:
            status = os.stat(name)
        except OSError:
            continue
        found += [status.st_ino, status.st_size, changed_ns(status)]
    return tuple(found)
