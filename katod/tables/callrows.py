"""The rows of calls and of the edits that they make: each waits for its result. Pure."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents.fields import int_or_none
from katod.edits.edits import whole_path
from katod.edits.tracker import EditingCall, EditTracker
from katod.events import Event
from katod.tables.filechanges import file_changes
from katod.tables.schema import CALLS, EDITS, TableSpec

Row = dict[str, Any]
_MOST_OPEN: Final = 256  # calls that wait for a result
_MOST_HELD: Final = 16 * 1024 * 1024  # characters of their input
_MOST_FILES: Final = 1000  # of one call


class _WaitingCall(NamedTuple):
    """A call without its result, the edits that it makes, and how long its input is."""

    row: Row
    edits: list[Row]
    size: int


class CallRows:
    """Takes the events of a session in order. Calls that wait for too long, or are too large, get no result."""

    def __init__(self) -> None:
        self._waiting: dict[str, _WaitingCall] = {}
        self._held = 0
        self._tracker = EditTracker()

    def take(self, event: Event, row: Row, cwd: str) -> Iterator[tuple[TableSpec, Row]]:
        """Yield the rows that are complete with an event, given what all rows of it have."""
        noted = self._tracker.take(event, cwd)
        if event.kind == ev.TOOL_CALL:
            yield from self._begin(event.payload, row, noted if isinstance(noted, EditingCall) else None, cwd)
        elif event.kind == ev.TOOL_RESULT and (call := self._waiting.pop(event.payload["toolCallId"], None)):
            self._held -= call.size
            yield from _ended(call, event.payload, row["time"])

    def rest(self) -> Iterator[tuple[TableSpec, Row]]:
        """Yield the rows of the calls that have no result."""
        while self._waiting:
            yield from self._oldest()

    def _begin(self, payload: Row, row: Row, edit: EditingCall | None, cwd: str) -> Iterator[tuple[TableSpec, Row]]:
        name = payload["toolCallId"]
        if name in self._waiting:
            yield from self._without_result(name)
        given = orjson.dumps(payload.get("input")).decode() if "input" in payload else None
        call = row | {"call": name, "name": payload["name"], "family": payload["family"], "input": given}
        call["started"] = row["time"]
        edits = list(_edits(payload, row, edit, cwd)) if payload["family"] == "edit" else []
        self._waiting[name] = _WaitingCall(call, edits, len(given or ""))
        self._held += len(given or "")
        while len(self._waiting) > _MOST_OPEN or self._held > _MOST_HELD:
            yield from self._oldest()

    def _oldest(self) -> Iterator[tuple[TableSpec, Row]]:
        yield from self._without_result(next(iter(self._waiting)))

    def _without_result(self, name: str) -> Iterator[tuple[TableSpec, Row]]:
        call = self._waiting.pop(name)
        self._held -= call.size
        yield CALLS, call.row
        yield from ((EDITS, edit) for edit in call.edits)


def _ended(call: _WaitingCall, payload: Row, time: int | None) -> Iterator[tuple[TableSpec, Row]]:
    succeeded = {"succeeded": ev.went_well(payload)}
    flags = {"is_error": bool(payload.get("isError")), "denied": bool(payload.get("denied"))}
    yield CALLS, call.row | succeeded | flags | {
        "ended": time, "duration_ms": _count(payload.get("durationMs")), "status": payload.get("status") or None,
        "exit_code": _count(payload.get("exitCode")), "result": payload["text"],
    }  # fmt: skip
    yield from ((EDITS, edit | succeeded) for edit in call.edits)


def _edits(payload: Row, row: Row, edit: EditingCall | None, cwd: str) -> Iterator[Row]:
    """Yield the edits of a call, one for each file."""
    why = {"prompt": edit.prompt or None, "answer": edit.answer or None} if edit is not None else {}
    shared = row | why | {"call": row["id"]}
    for path, change in islice(file_changes(payload).items(), _MOST_FILES):
        yield shared | {
            "path": whole_path(path, cwd), "change": change.kind, "added": change.added,
            "removed": change.removed,
        }  # fmt: skip


def _count(value: Any) -> int | None:
    """Return a number that every engine can read, without its fraction; None for anything else."""
    whole = int_or_none(round(value)) if isinstance(value, float) and abs(value) < 2**53 else int_or_none(value)
    return whole if whole is not None and abs(whole) < 2**53 else None
