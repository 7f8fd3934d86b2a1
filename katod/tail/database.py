"""One session in a database of OpenCode, as one document; of what is settled no more is read than is needed.

The offset of such a source is the time (ms) of its latest row, the anchor a hash of what was read last.
"""

from typing import Any, Final

import orjson

from katod.errors import SourceGone
from katod.model import Anchor, Line
from katod.readonly import reading
from katod.tail.document import Document
from katod.tail.reader import NO_ANCHOR, Batch, Cursor, Partial, digest_of

MARK: Final = ".db#"
_COLUMNS: Final = ("id", "parent_id", "directory", "version", "revert", "time_created", "time_updated")
_SESSION: Final = (
    "SELECT id, parent_id, directory, version, revert, time_created, time_updated FROM session WHERE id = ?"
)
_MESSAGES: Final = "SELECT id, time_updated, data FROM message WHERE session_id = ? ORDER BY id"
_PARTS: Final = "SELECT id, time_updated, data FROM part WHERE message_id = ? ORDER BY id"
Row = dict[str, Any]


class SessionRows(Document):
    """One session, read from its database for the length of a step."""

    def __init__(self, path: str) -> None:
        self.path = path
        database, _, self._session = path.rpartition("#")
        self._rows = _Rows(database, self._session)
        self.size = self._rows.latest
        self.mtime_ns = self.size * 1_000_000

    def anchor(self, _offset: int) -> Anchor:
        """Promise nothing: what was read is known by its ids."""
        return NO_ANCHOR

    def prove(self, cursor: Cursor) -> None:
        """Rows that went away take nothing back: there is nothing to prove."""

    def read(self, cursor: Cursor, _budget: int, _partial: Partial | None = None) -> Batch:
        """Return the session as one line: whole at first, later from the first turn that is not settled."""
        data = self._rows.document(whole=cursor.offset == 0)
        after = Cursor(max(self.size, cursor.offset), Anchor(0, digest_of(data)))
        if cursor.offset == self.size and cursor.anchor == after.anchor:
            return Batch(b"", self.size, cursor, more=False)
        return Batch(b"", 0, after, more=False, lines=[Line(0, self.size, data)])

    def find(self, _needle: bytes, _limit: int) -> bool:
        """Nothing is searched in a database."""
        return False


class _Rows:
    """The rows of one session, read at once."""

    def __init__(self, path: str, session: str) -> None:
        with reading(path) as database:
            found = database.execute(_SESSION, (session,)).fetchone()
            if found is None:
                raise SourceGone("is not there any more", path=f"{path}#{session}")
            self._info: Row = dict(zip(_COLUMNS, found, strict=True))
            self._messages = [
                (row[0], row[1], _decoded(row[2]) | {"id": row[0]}) for row in database.execute(_MESSAGES, (session,))
            ]
            self._settled = _settled([message for _, _, message in self._messages])
            self._path = path
            tail = self._messages[self._settled :]
            self._parts = {row[0]: database.execute(_PARTS, (row[0],)).fetchall() for row in tail}
        times = [self._info["time_updated"], *(row[1] for row in self._messages)]
        self.latest: int = max([*times, *(part[1] for parts in self._parts.values() for part in parts)])

    def document(self, *, whole: bool) -> bytes:
        """Return the session as `opencode export` prints it, or what of it is not settled."""
        if whole:
            self._read_settled()
        info = self._info
        head = {
            "id": info["id"], "parentID": info["parent_id"], "directory": info["directory"],
            "version": info["version"], "time": {"created": info["time_created"]},
            "revert": orjson.loads(info["revert"]) if info["revert"] else None,
        }  # fmt: skip
        rows = self._messages if whole else self._messages[self._settled :]
        messages = [{"info": message, "parts": self._parts_of(name)} for name, _, message in rows]
        return orjson.dumps({"info": {k: v for k, v in head.items() if v}, "messages": messages})

    def _read_settled(self) -> None:
        with reading(self._path) as database:
            for name, _, _ in self._messages[: self._settled]:
                self._parts[name] = database.execute(_PARTS, (name,)).fetchall()

    def _parts_of(self, message: str) -> list[Row]:
        return [_decoded(data) | {"id": name} for name, _, data in self._parts.get(message, ())]


def _settled(messages: list[Row]) -> int:
    """Return how many messages of the beginning can change no more: all before the last turn but one that was answered.

    What answers an older prompt than that, or waits for an answer, is still to come.
    """
    answered: dict[str, bool] = {}
    for message in messages:
        if message.get("role") == "assistant":
            done = "completed" in (message.get("time") or {}) or bool(message.get("error"))
            answered[str(message.get("parentID"))] = done
    for number, message in enumerate(messages):
        if message.get("role") == "user" and not answered.get(str(message.get("id")), False):
            return max(0, _turns_before(messages, number, 2))
    return max(0, _turns_before(messages, len(messages), 2))


def _turns_before(messages: list[Row], number: int, turns: int) -> int:
    """Return where the turn begins that is so many turns before a message."""
    users = [at for at in range(number) if messages[at].get("role") == "user"]
    return users[-turns] if len(users) >= turns else 0


def _decoded(data: str) -> Row:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
