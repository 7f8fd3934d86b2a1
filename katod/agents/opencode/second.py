"""OpenCode 2: one session of the tables `session_v2` and `session_message`, as the document of OpenCode 1.

A message is one row, whose JSON changes in place until it is complete; its parts have no ids of their own. Not seen
live: the tables are those of published schema dumps of 2.0.3 to 2.0.12.

After an upgrade both generations may hold a session, with the same ids of messages. It is then read in the order of
the second one, but a message that the first one has is read from there: its parts keep their ids, and so they are
recognised as read.
"""

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents.fields import dict_of, dicts_of, list_of, text_of
from katod.agents.opencode.readonly import decoded, reading, row_time
from katod.agents.opencode.tree import packed
from katod.errors import SourceError
from katod.metadata import SessionStart
from katod.states import Report, State

_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'session_v2')"
_SESSION: Final = "SELECT * FROM session_v2 WHERE id = ?"
_FIRST: Final = "SELECT version, time_created FROM session WHERE id = ?"
_TIMES: Final = "SELECT CAST(seq AS INTEGER), time_updated FROM session_message WHERE session_id = ? ORDER BY seq DESC"
_ANSWERS: Final = (
    "SELECT CAST(seq AS INTEGER), data FROM session_message"
    " WHERE session_id = ? AND type = 'assistant' AND seq < ? ORDER BY seq DESC"
)
_MESSAGES: Final = (
    "SELECT CAST(id AS TEXT), CAST(type AS TEXT), seq, time_created, data FROM session_message"
    " WHERE session_id = ? AND seq >= ? ORDER BY seq"
)
_FIRST_MESSAGE: Final = "SELECT data FROM message WHERE id = ? AND session_id = ?"
_FIRST_PARTS: Final = "SELECT id, data FROM part WHERE message_id = ? ORDER BY id"
# A row changes only while it is one of the latest: what is before so many unchanged ones is not looked at.
LATEST: Final = 64
_LAST: Final = 2**62
_IDLE: Final = (
    "SELECT s.time_idle, MAX(m.time_updated) FROM session_v2 s JOIN session_message m ON m.session_id = s.id"
    " WHERE s.id = ?"
)
# Known, and no part of the conversation.
_IGNORED: Final = frozenset({"agent-switched", "location-switched", "idle"})
_RUNNING: Final = frozenset({"pending", "running", "streaming"})
Row = dict[str, Any]


def reported(path: Path, session: str, _start: SessionStart) -> Report | None:
    """Return whether a session is idle or not, as its row says; None if it is in no database of OpenCode 2.

    It is idle if it has been since its last message changed. How the turn ended is not taken from there: which words
    stand for that is not known.
    """
    database_path = str(path).rpartition("#")[0]
    if not database_path:  # a session of OpenCode's old tree of files
        return None
    try:
        with reading(database_path) as database:
            if "session_v2" not in generations(database):
                return None
            idle, last = database.execute(_IDLE, (session,)).fetchone() or (None, None)
    except SourceError:
        return None
    since = row_time(idle)
    if not since or not row_time(last):
        return None
    return Report(State.IDLE if since >= row_time(last) else State.WORKING, since / 1000)


def generations(database: sqlite3.Connection) -> set[str]:
    """Return which of the tables `session` and `session_v2` a database has."""
    return {name for (name,) in database.execute(_TABLES)}


class SecondRows:
    """The rows of one session; what did not change is not read again."""

    def __init__(self, session: str, info: Row, database: sqlite3.Connection) -> None:
        self._session, self._info = session, info
        times = islice(database.execute(_TIMES, (session,)), LATEST)
        self._has_first = "session" in generations(database)
        self.latest: int = max([row_time(info.get("time_updated")), *(row_time(time) for _, time in times)])

    @classmethod
    def find(cls, session: str, database: sqlite3.Connection) -> "SecondRows | None":
        """Return a session, None if the second generation does not have it. Raises sqlite3.Error."""
        if "session_v2" not in generations(database):
            return None
        cursor = database.execute(_SESSION, (session,))
        found = cursor.fetchone()
        names = [column[0] for column in cursor.description]
        return None if found is None else cls(session, dict(zip(names, found, strict=True)), database)

    def document(self, database: sqlite3.Connection, *, since: int) -> bytes:
        """Return the session from the first row on that changed since a time, or that an earlier one kept waiting."""
        start = self._start(database, since) if since else 0
        rows = database.execute(_MESSAGES, (self._session, start)).fetchall()
        messages = [made for row in rows if (made := self._message(_Message(*row), database))]
        info, (version, created) = self._info, self._began(database)
        head = {
            "id": self._session, "parentID": info.get("parent_id"), "directory": info.get("directory"),
            "version": version, "time": {"created": created}, "revert": decoded(info.get("revert")),
        }  # fmt: skip
        return packed({"info": {k: v for k, v in head.items() if v}, "messages": messages})

    def _start(self, database: sqlite3.Connection, since: int) -> int:
        """Return where to read from: after the last complete answer before the first change."""
        changed, unchanged = _LAST, 0
        for seq, time in database.execute(_TIMES, (self._session,)):
            is_new = row_time(time) >= since
            changed, unchanged = (seq, 0) if is_new else (changed, unchanged + 1)
            if unchanged == LATEST:
                break
        answers = database.execute(_ANSWERS, (self._session, changed))
        return next((seq + 1 for seq, data in answers if _is_complete(decoded(data))), 0)

    def _began(self, database: sqlite3.Connection) -> tuple[Any, int]:
        """Return version and time of the beginning: the copy of a session may be younger than its messages."""
        first = database.execute(_FIRST, (self._session,)).fetchone() if self._has_first else None
        version, time = first or (self._info.get("version"), self._info.get("time_created"))
        return version, row_time(time)

    def _message(self, row: "_Message", database: sqlite3.Connection) -> Row | None:
        if self._has_first and (first := database.execute(_FIRST_MESSAGE, (row.id, self._session)).fetchone()):
            parts = database.execute(_FIRST_PARTS, (row.id,))
            info = decoded(first[0]) | {"id": row.id, "seq": row.seq}
            return {"info": info, "parts": [decoded(data) | {"id": name} for name, data in parts]}
        return None if row.type in _IGNORED else row.as_first()


class _Message(NamedTuple):
    """A row of `session_message`."""

    id: str
    type: str
    seq: int
    time_created: int
    data: str | bytes

    def as_first(self) -> Row:
        """Return the message with its parts in the form of the first generation."""
        data = decoded(self.data)
        times = dict_of(data.get("time"))
        known = [row_time(self.time_created), row_time(times.get("created"))]
        created = min((time for time in known if time), default=0)
        info: Row = {"id": self.id, "seq": self.seq, "role": "user", "time": {"created": created}}
        if self.type != "assistant" or not isinstance(data.get("content"), list):
            return {"info": info, "parts": [{"id": f"{self.id}:0000"} | _part_of(self.type, data)]}
        if _is_complete(data):
            info["time"]["completed"] = times.get("completed")
        model = dict_of(data.get("model"))
        info |= {"role": "assistant", "modelID": text_of(model.get("id"))}
        info["providerID"] = text_of(model.get("providerID"))
        info |= {key: data[key] for key in ("tokens", "cost", "finish") if key in data}
        if problem := _error(data.get("error")):
            info["error"] = problem
        return {"info": info, "parts": list(self._parts(data["content"], created))}

    def _parts(self, content: list[Any], created: int) -> Iterator[Row]:
        """Yield the parts; all but the last one are final. They are named by their place."""
        for n, item in enumerate(dicts_of(content)):
            part = item | {"id": f"{self.id}:{n:04}", "time": {"start": created}}
            if n < len(content) - 1:
                part["time"]["end"] = created
            yield _tool(part, item) if item.get("type") == "tool" else part


def _part_of(kind: str, data: Row) -> Row:
    """Return the only part of a message that is not an answer; its text was typed if it is the user's."""
    text = data.get("text")
    if kind in ("user", "synthetic", "system") and isinstance(text, str):
        return {"type": "text", "text": text} | ({} if kind == "user" else {"synthetic": True})
    return data | {"type": kind}


def _tool(part: Row, item: Row) -> Row:
    state = dict_of(item.get("state"))
    said = "\n".join(text_of(row.get("text")) for row in dicts_of(state.get("content")))
    error = state.get("error")
    state |= {"output": text_of(state.get("output")) or said}
    state |= {"error": text_of(error) or text_of(dict_of(error).get("message"))}
    state["time"] = dict_of(state.get("time")) or {"start": part["time"]["start"]}
    return part | {"callID": text_of(item.get("id")), "tool": text_of(item.get("name")), "state": state}


def _is_complete(data: Row) -> bool:
    """Return whether an answer no longer changes: it has ended, and so have its tools."""
    ended = "completed" in dict_of(data.get("time")) or bool(data.get("finish")) or bool(data.get("error"))
    states = [dict_of(item.get("state")).get("status") for item in dicts_of(list_of(data.get("content")))]
    return ended and not any(state in _RUNNING for state in states if isinstance(state, str))


def _error(error: Any) -> Row:
    """Return an error in the form of the first generation, empty if there is none."""
    if isinstance(error, str) and error:
        return {"name": "error", "data": {"message": error}}
    row = dict_of(error)
    if not row:
        return {}
    message = text_of(row.get("message")) or text_of(dict_of(row.get("data")).get("message"))
    return {"name": text_of(row.get("name")) or text_of(row.get("type")), "data": {"message": message}}
