"""One session in an OpenCode database, read as one document. Of settled messages, only the small rows are read again.

A session that OpenCode 2 has is read from its tables (`second.py`), any other from those of OpenCode 1.

The offset of such a source is the time (ms) of its latest row; its anchor is a hash of what was last read.
"""

import sqlite3
from typing import Any, Final

from katod.agents.opencode.readonly import decoded, reading, row_time
from katod.agents.opencode.second import SecondRows, generations
from katod.agents.opencode.tree import packed
from katod.errors import SourceGone
from katod.model import NO_ANCHOR, Anchor, Cursor, Line, Partial
from katod.tail.reader import Batch, DocumentFile, short_hash

_COLUMNS: Final = ("id", "parent_id", "directory", "version", "revert", "time_created", "time_updated")
_SESSION: Final = (
    "SELECT id, parent_id, directory, version, revert, time_created, time_updated FROM session WHERE id = ?"
)
_MESSAGES: Final = "SELECT id, time_updated, data FROM message WHERE session_id = ? ORDER BY id"
_PARTS: Final = "SELECT id, time_updated, data FROM part WHERE message_id = ? ORDER BY id"
Row = dict[str, Any]


class DatabaseSession(DocumentFile):
    """One session, read from its database for the duration of a step; if it says so, without parts.

    The messages of OpenCode 2 have their parts in them in any case.
    """

    def __init__(self, path: str, *, has_parts: bool = True) -> None:
        self.path = path
        self._database, _, session = path.rpartition("#")
        with reading(self._database) as database:
            found = SecondRows.find(session, database) or _Rows.find(session, database, has_parts=has_parts)
        if found is None:
            raise SourceGone("no longer exists", path=path)
        self._rows = found
        self.size = self._rows.latest
        self.mtime_ns = self.size * 1_000_000

    def anchor(self, _offset: int) -> Anchor:
        """Return no anchor: what was read is known by its ids."""
        return NO_ANCHOR

    def verify_anchor(self, cursor: Cursor) -> None:
        """Verify nothing: deleted rows do not undo what was recorded."""

    def read(self, cursor: Cursor, _budget: int, _partial: Partial | None = None) -> Batch:
        """Return the session as one line: complete at first, later from the first unsettled turn on."""
        with reading(self._database) as database:
            data = self._rows.document(database, since=cursor.offset)
        after = Cursor(max(self.size, cursor.offset), Anchor(0, short_hash(data)))
        if cursor.offset == self.size and cursor.anchor == after.anchor:
            return Batch(b"", self.size, cursor, more=False)
        return Batch(b"", 0, after, more=False, lines=[Line(0, self.size, data)])

    def find(self, _needle: bytes, _limit: int) -> bool:
        """Return False: databases are not searched."""
        return False


class _Rows:
    """The rows of one session of OpenCode 1, read on demand."""

    def __init__(self, session: str, info: Row, database: sqlite3.Connection, *, has_parts: bool) -> None:
        self._info, self._has_parts = info, has_parts
        rows = [row for row in database.execute(_MESSAGES, (session,)) if isinstance(row[0], str)]
        self._messages = [(row[0], row_time(row[1]), decoded(row[2]) | {"id": row[0]}) for row in rows]
        self._settled = _settled([message for _, _, message in self._messages])
        self._parts: dict[str, list[tuple[str, int, Row]]] = {}
        self._load(database, self._settled)
        times = [row_time(self._info["time_updated"]), *(time for _, time, _ in self._messages)]
        self.latest: int = max([*times, *(time for parts in self._parts.values() for _, time, _ in parts)])

    @classmethod
    def find(cls, session: str, database: sqlite3.Connection, *, has_parts: bool) -> "_Rows | None":
        """Return a session, None if there is none. Raises sqlite3.Error."""
        found = database.execute(_SESSION, (session,)).fetchone() if "session" in generations(database) else None
        if found is None:
            return None
        return cls(session, dict(zip(_COLUMNS, found, strict=True)), database, has_parts=has_parts)

    def document(self, database: sqlite3.Connection, *, since: int) -> bytes:
        """Return the session as `opencode export` prints it: what changed since a time, and what is not settled."""
        start = 0 if not since else self._turn_of(self._first_since(since))
        self._load(database, start)
        info = self._info
        head = {
            "id": info["id"], "parentID": info["parent_id"], "directory": info["directory"],
            "version": info["version"], "time": {"created": info["time_created"]}, "revert": decoded(info["revert"]),
        }  # fmt: skip
        messages = [{"info": message, "parts": self._parts_of(name)} for name, _, message in self._messages[start:]]
        return packed({"info": {k: v for k, v in head.items() if v}, "messages": messages})

    def _first_since(self, since: int) -> int:
        changed = (n for n, (_, time, _) in enumerate(self._messages[: self._settled]) if time >= since)
        return next(changed, self._settled)

    def _turn_of(self, number: int) -> int:
        """Return where the turn of a message begins."""
        before = [at for at in range(number + 1) if self._role(at) == "user"]
        return before[-1] if before else 0

    def _role(self, number: int) -> Any:
        return self._messages[number][2].get("role") if number < len(self._messages) else None

    def _load(self, database: sqlite3.Connection, start: int) -> None:
        for name, _, _ in self._messages[start:] if self._has_parts else ():
            if name not in self._parts:
                rows = database.execute(_PARTS, (name,)).fetchall()
                self._parts[name] = [(str(row[0]), row_time(row[1]), decoded(row[2])) for row in rows]

    def _parts_of(self, message: str) -> list[Row]:
        return [data | {"id": name} for name, _, data in self._parts.get(message, ())]


def _settled(messages: list[Row]) -> int:
    """Return how many messages at the beginning can no longer change: those before the last answered turn but one.

    Answers to a prompt older than that, or to one that has no answer yet, may still arrive.
    """
    answered: dict[str, bool] = {}
    for message in messages:
        if message.get("role") == "assistant":
            times = message.get("time")
            done = (isinstance(times, dict) and "completed" in times) or bool(message.get("error"))
            answered[str(message.get("parentID"))] = done
    for number, message in enumerate(messages):
        if message.get("role") == "user" and not answered.get(str(message.get("id")), False):
            return max(0, _turns_before(messages, number, 2))
    return max(0, _turns_before(messages, len(messages), 2))


def _turns_before(messages: list[Row], number: int, turns: int) -> int:
    """Return where the turn begins that is `turns` turns before a message."""
    users = [at for at in range(number) if messages[at].get("role") == "user"]
    return users[-turns] if len(users) >= turns else 0
