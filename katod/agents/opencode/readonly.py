"""Reading another program's SQLite database without a trace: no lock it could run into, no file it did not create."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from katod.errors import SourceError, SourceGone

_WAIT = 0.2
_LATEST_MS = 4_000_000_000_000_000  # far beyond any time that was meant


def row_time(value: object) -> int:
    """Return a time of a row in milliseconds, 0 if it is none."""
    return value if isinstance(value, int) and 0 <= value < _LATEST_MS else 0


@contextmanager
def reading(path: str) -> Iterator[sqlite3.Connection]:
    """Open a database for a moment. Raises SourceGone where there is none, SourceError where it cannot be read.

    A plain read-only connection makes `-wal` and `-shm` where there are none, so without a `-wal` the file is read as
    one that nobody writes. With one, the `-shm` is only read, too: a reader that is the first to come would lock it,
    and an owner that starts in that moment fails. A `-wal` without its `-shm` waits for its owner.
    """
    if not Path(path).is_file():
        raise SourceGone("no longer exists", path=path)
    mode = "mode=ro&readonly_shm=1"
    if not Path(f"{path}-wal").exists():
        mode = "immutable=1"
    elif not Path(f"{path}-shm").exists():
        raise SourceError("cannot be read until its agent opens it again: it has a -wal but no -shm file", path=path)
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(f"{Path(path).as_uri()}?{mode}", uri=True, isolation_level=None, timeout=_WAIT)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        yield connection
    except sqlite3.Error as error:  # its message may quote a row
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        raise SourceError(f"cannot be read: {name}", path=path) from error
    finally:
        if connection is not None:
            connection.close()
