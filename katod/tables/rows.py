"""The rows of one session, made of its events as they pass. Pure."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from katod import events as ev
from katod.events import Event
from katod.formats.redact.redactor import redact
from katod.formats.rows import row_of, timestamp
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.tables.callrows import CallRows
from katod.tables.schema import EVENTS, MESSAGES, SESSIONS, TableSpec

Row = dict[str, Any]  # by the names of the columns; what is absent is null
TableRow = tuple[TableSpec, Row]
UNKNOWN: Final = "unknown"  # the month of a session that has no time
_ROLES: Final = {ev.USER_MESSAGE: "user", ev.ASSISTANT_MESSAGE: "assistant"}
_SPOKEN: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE})
_MOST_MODELS: Final = 100
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SessionRows:
    """Takes the events of a session in order. With `hide`, secrets are redacted as they are in `-f jsonl`."""

    def __init__(self, key: SessionKey, *, hide: bool) -> None:
        self._key = str(key)
        self._hide = hide
        self._calls = CallRows()
        self._counts = dict.fromkeys(("events", "messages", "typed", "calls"), 0)
        self._models: dict[str, None] = {}
        self._first: int | None = None
        self._spoken: int | None = None
        self._last: int | None = None
        self._cwd = "", ""  # as it is, and as it is shown

    @property
    def month(self) -> str:
        """The month in which the session began (UTC); no agent is older than 1970."""
        began = self._spoken if self._spoken is not None else self._first
        return UNKNOWN if began is None or began < 0 else (_EPOCH + timedelta(milliseconds=began)).strftime("%Y-%m")

    def take(self, event: Event, metadata: SessionMetadata) -> Iterator[TableRow]:
        """Yield the rows that an event completes."""
        given, _ = row_of(event, redact=self._hide)
        kind, payload, time = given["kind"], given["payload"], milliseconds(event.time)
        self._note(kind, time, event.model)
        row = {"number": self._counts["events"], "id": event.id, "time": time}
        row |= {"turn": event.turn or None, "model": event.model or None}
        yield self._row(EVENTS, row | {"kind": kind, "payload": orjson.dumps(payload).decode()})
        self._counts["events"] += 1
        if kind in _ROLES:
            yield self._row(MESSAGES, row | self._message(kind, payload, typed=event.typed))
        for table, made in self._calls.take(event._replace(kind=kind, payload=payload), row, self._place(metadata.cwd)):
            yield self._row(table, made)
        self._counts["calls"] += kind == ev.TOOL_CALL

    def finish(self, metadata: SessionMetadata) -> Iterator[TableRow]:
        """Yield the rows of calls without a result, and that of the session."""
        for table, made in self._calls.rest():
            yield self._row(table, made)
        key, start = metadata.key, metadata.start
        above = SessionKey(key.agent, key.id if key.subagent else start.parent)
        names = metadata.names
        yield self._row(SESSIONS, {
            "id": key.id, "subagent": key.subagent or None, "parent": self.shown(str(above) if above.id else ""),
            "project": self.shown(start.cwd), "title": self.shown(names.own or names.named or metadata.best_title),
            "started": self._first if self._spoken is None else self._spoken, "ended": self._last,
            "version": self.shown(start.version), "branch": self.shown(start.branch), "models": list(self._models),
        } | self._counts)  # fmt: skip

    def shown(self, text: str) -> str | None:
        """Return a text without secrets, None for an empty one."""
        return (redact(text) if self._hide else text) or None

    def _place(self, cwd: str) -> str:
        """Return a directory as it is shown."""
        if self._cwd[0] != cwd:
            self._cwd = cwd, self.shown(cwd) or ""
        return self._cwd[1]

    def _note(self, kind: str, time: int | None, model: str) -> None:
        self._first = time if self._first is None else self._first
        self._spoken = time if self._spoken is None and kind in _SPOKEN else self._spoken
        self._last = self._last if time is None else time
        if model and len(self._models) < _MOST_MODELS:
            self._models[model] = None

    def _message(self, kind: str, payload: Row, *, typed: bool) -> Row:
        self._counts["messages"] += 1
        self._counts["typed"] += typed
        said = {name: payload.get(name) or None for name in ("subtype", "speaker")}
        return {"role": _ROLES[kind], "typed": typed, "text": payload["text"]} | said

    def _row(self, table: TableSpec, row: Row) -> TableRow:
        return table, {"session": self._key} | row


def milliseconds(time: str) -> int | None:
    """Return a time as milliseconds since 1970, None if there is none, or it is none of RFC 3339."""
    try:
        found = datetime.fromisoformat(timestamp(time)).astimezone(UTC)
    except (ValueError, OverflowError):  # a second that the calendar has and Python has not, or a year 0 or 10000
        return None
    return (found - _EPOCH) // timedelta(milliseconds=1)
