"""Reads another program's SQLite database without leaving a trace: no lock that it could hit, no file created."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from katod.errors import SourceError, SourceGone

_WAIT = 0.2
_LATEST_MS = 4_000_000_000_000_000  # far beyond any plausible time


def row_time(value: object) -> int:
    """Return the time of a row in milliseconds, 0 if it is not valid."""
    return value if isinstance(value, int) and 0 <= value < _LATEST_MS else 0


def decoded(data: object) -> dict[str, Any]:
    """Return the object in a row's JSON, an empty one if there is none."""
    if not isinstance(data, str | bytes):
        return {}
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database briefly. Raises SourceGone if it does not exist, SourceError if it cannot be read.

    A plain read-only connection creates `-wal` and `-shm` if they are missing, so a database without a `-wal` is opened
    as immutable. With a `-wal`, the `-shm` is opened read-only as well: the first reader would otherwise lock it, and
    an owner that starts at that moment fails. A `-wal` without its `-shm` is not read until the owner opens it.
    """
    if not Path(path).is_file():
        raise SourceGone("no longer exists", path=path)
    mode = "mode=ro&readonly_shm=1"
    if not Path(f"{path}-wal").exists():
        mode = "immutable=1"
    elif not Path(f"{path}-shm").exists():
        raise SourceError("cannot be read: it has a -wal but no -shm file (start the agent once)", path=path)
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(f"{Path(path).as_uri()}?{mode}", uri=True, isolation_level=None, timeout=_WAIT)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        yield connection
    except sqlite3.Error as error:  # its message may quote a row
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if name == "SQLITE_ERROR":  # no such table or column
            raise SourceError("found, not understood: its tables are of an unknown version", path=path) from error
        raise SourceError(f"cannot be read: {name}", path=path) from error
    finally:
        if connection is not None:
            connection.close()
