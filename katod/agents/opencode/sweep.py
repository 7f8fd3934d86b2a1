"""The sessions in an OpenCode database, as if each were a file: `<database>#<session>`."""

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import orjson

from katod.agents.beside import object_in
from katod.agents.fields import text_of
from katod.agents.opencode.readonly import reading, row_time
from katod.agents.opencode.second import LATEST, generations
from katod.errors import SourceError
from katod.model import Stat, changed_ns, signed

_MOMENT_MS: Final = 5
_SESSIONS: Final = {
    "session": "SELECT id, time_updated FROM session",
    "session_v2": "SELECT id, time_updated FROM session_v2",
}
_TITLE: Final = {
    "session": "SELECT title FROM session WHERE id = ?",
    "session_v2": "SELECT title FROM session_v2 WHERE id = ?",
}
_UNTITLED: Final = re.compile(r"(?:New|Child) session - [0-9]{4}-[0-9]{2}-")  # [opencode 1.0 to 1.18]
_HELD_MESSAGES: Final = "SELECT DISTINCT session_id FROM message WHERE data LIKE ? ESCAPE '\\'"
_HELD_PARTS: Final = (
    "SELECT DISTINCT session_id FROM message WHERE id IN (SELECT message_id FROM part WHERE data LIKE ? ESCAPE '\\')"
)
_HELD_SECOND: Final = "SELECT DISTINCT session_id FROM session_message WHERE data LIKE ? ESCAPE '\\'"
_HOLDING: Final = {"session": (_HELD_MESSAGES, _HELD_PARTS), "session_v2": (_HELD_SECOND,)}
_SECOND: Final = "SELECT session_id, time_updated FROM session_message ORDER BY rowid DESC LIMIT ?"
_MESSAGES: Final = "SELECT session_id, id, time_updated FROM message ORDER BY rowid DESC LIMIT ?"
_PARTS: Final = (
    "SELECT message_id, max(time_updated), count(*) FROM part WHERE message_id IN (SELECT value FROM json_each(?))"
    " GROUP BY message_id"
)


def sessions_in(path: str) -> Iterator[tuple[str, Stat]]:
    """Yield every session with a stat that changes when it does: its latest time (ms, as size and time) and a count.

    The cost depends on the number of sessions, not on their size. Raises SourceError.
    """
    inode = signed(os.stat(path).st_ino)
    with reading(path) as database:
        found = generations(database)
        if not found:
            raise SourceError("found, not understood: it has no table of sessions", path=path)
        rows = [row for name in sorted(found) for row in database.execute(_SESSIONS[name])]  # V2 replaces V1
        times = {session: row_time(time) for session, time in rows if isinstance(session, str)}
        counts = dict.fromkeys(times, 0)
        for session, time, count in _latest(database, found):
            if session in times:
                times[session] = max(times[session], time)
                counts[session] += count
    latest, log = max(times.values(), default=0), _log_time(path)
    for session, time in times.items():
        moving = log if time >= latest - _MOMENT_MS else 0  # two changes may fall into one millisecond
        yield f"{path}#{session}", Stat(time, time * 1_000_000, counts[session], inode ^ moving)


def sessions_holding(path: str, patterns: Sequence[str]) -> set[str]:
    """Return the sessions that have, for each pattern, a row whose JSON is like it; only their ids are read.

    Raises SourceError.
    """
    with reading(path) as database:
        found = generations(database)
        tables = [_HOLDING[name] for name in sorted(found)]
        if not tables:
            return set()
        held = [
            {f"{path}#{row[0]}" for table in tables for query in table for row in database.execute(query, (pattern,))}
            for pattern in patterns
        ]
    return set.intersection(*held) if held else set()


def name_of(path: Path, session: str) -> str:
    """Return the title of a session in a database, or in its own file; empty while it is the client's placeholder."""
    database, mark, _ = str(path).rpartition("#")
    title = _title_in(database, session) if mark else text_of(object_in(path).get("title"))
    return "" if _UNTITLED.match(title) else title


def _title_in(path: str, session: str) -> str:
    with suppress(SourceError), reading(path) as database:
        for name in sorted(generations(database), reverse=True):
            if row := database.execute(_TITLE[name], (session,)).fetchone():
                return text_of(row[0])
    return ""


def _log_time(path: str) -> int:
    try:
        return changed_ns(os.stat(f"{path}-wal"))
    except OSError:
        return 0


def _latest(database: sqlite3.Connection, found: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield session, time and number of rows for each of the latest messages of both generations."""
    if "session_v2" in found:
        yield from ((session, row_time(time), 1) for session, time in database.execute(_SECOND, (LATEST,)))
    if "session" not in found:
        return
    rows = [row for row in database.execute(_MESSAGES, (LATEST,)) if isinstance(row[1], str)]
    grouped = database.execute(_PARTS, (orjson.dumps([row[1] for row in rows]).decode(),))
    parts = {message: (time, count) for message, time, count in grouped}
    for session, message, time in rows:
        latest, count = parts.get(message, (0, 0))
        yield session, max(row_time(time), row_time(latest)), count + 1
