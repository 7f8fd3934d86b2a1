"""The sessions in a database of OpenCode, as if each were a file: `<database>#<session>` (format notes, 2.2, 2.4)."""

import os
import sqlite3
from collections.abc import Iterator
from typing import Final

import orjson

from katod.model import Stat
from katod.readonly import reading

# Only what the latest messages belong to can be under way: the rows of a session change there.
_LATEST: Final = 64
_SESSIONS: Final = "SELECT id, time_updated FROM session"
_MESSAGES: Final = "SELECT session_id, id, time_updated FROM message ORDER BY rowid DESC LIMIT ?"
_PARTS: Final = (
    "SELECT message_id, max(time_updated), count(*) FROM part WHERE message_id IN (SELECT value FROM json_each(?))"
    " GROUP BY message_id"
)


def sessions(path: str) -> Iterator[tuple[str, Stat]]:
    """Yield every session with what tells that it changed: its latest time (ms, as size and time) and a count.

    Costs by sessions, not by what they hold. Raises SourceError.
    """
    status = os.stat(path)
    with reading(path) as database:
        times: dict[str, int] = dict(database.execute(_SESSIONS))
        counts = dict.fromkeys(times, 0)
        for session, time, count in _latest(database):
            if session in times:
                times[session] = max(times[session], time)
                counts[session] += count
    for session, time in times.items():
        yield f"{path}#{session}", Stat(time, time * 1_000_000, counts[session], status.st_ino)


def _latest(database: sqlite3.Connection) -> Iterator[tuple[str, int, int]]:
    """Yield session, time and number of parts of each of the latest messages."""
    rows = database.execute(_MESSAGES, (_LATEST,)).fetchall()
    found = database.execute(_PARTS, (orjson.dumps([row[1] for row in rows]).decode(),))
    parts = {message: (time, count) for message, time, count in found}
    for session, message, time in rows:
        latest, count = parts.get(message, (0, 0))
        yield session, max(time, latest), count + 1
