"""VS Code: the journal of a chat, `chatSessions/<id>.jsonl`, read as the document to which its changes lead.

A line sets the whole state (kind 0), sets a value (1), appends to a list, which it may cut before (2), or deletes a
value (3). After 1,024 lines the journal is rewritten as one. The state also has the draft in the input, and prompts
that are still queued: both are left out, since neither was sent.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from katod.agents.fields import dict_of, list_of, text_of
from katod.smallfile import read_small
from katod.tail.decode import value_of
from katod.tail.reader import DocumentFile, SourceFile, open_source

_WHOLE, _SET, _APPEND, _DELETE = range(4)
_KEPT: Final = ("version", "sessionId", "creationDate", "requests")
_NAME: Final = b"customTitle"
_LARGEST_NAMED: Final = 8 * 1024 * 1024  # bytes
_REQUESTS: Final = "requests"
WITHDRAWN: Final = "withdrawn"  # in the document: the requests that were cut off, and which one came before each
Value = dict[str, Any]


class Journal(DocumentFile):
    """A journal, or the document that a chat was before 1.109, open for the duration of a step."""

    def documents(self, data: bytes) -> list[bytes]:
        """Return the state in a list, an empty list if there is none yet."""
        state = _whole(data) if self.path.endswith(".json") else _replayed(data)
        if not isinstance(state.get(_REQUESTS), list):
            return []
        return _texts({name: state[name] for name in (*_KEPT, WITHDRAWN) if name in state})


def _texts(state: Value) -> list[bytes]:
    """Return the state as JSON, in a list; an empty list if it is nested implausibly deep."""
    try:
        return [orjson.dumps(state)]
    except orjson.JSONEncodeError:  # which writes less deep than it reads
        pass
    try:
        return [json.dumps(state).encode()]
    except RecursionError:
        return []


@contextmanager
def open_chat(path: str) -> Iterator[SourceFile]:
    """Open a chat for one step. Raises SourceGone or SourceError."""
    with open_source(path) as file:
        yield Journal(file.fd, path)


def name_of(path: Path, _session: str) -> str:
    """Return the name of a chat, which has no place among its requests; empty if it has none, or is very large."""
    try:
        data = read_small(path, _LARGEST_NAMED)
    except OSError:
        return ""
    if _NAME not in data:
        return ""
    return text_of((_whole(data) if path.suffix == ".json" else _replayed(data)).get(_NAME.decode()))


def _whole(data: bytes) -> Value:
    return dict_of(value_of(data))


def _replayed(data: bytes) -> Value:
    """Return the state after all lines; one that is not complete, or does not fit, changes nothing."""
    state: Value = {}
    withdrawn: list[Value] = []
    for line in data.split(b"\n"):
        change = _whole(line)
        if change.get("kind") == _WHOLE and isinstance(change.get("v"), dict):
            state = change["v"]
        elif isinstance(keys := change.get("k"), list) and keys:
            withdrawn += _cut(state, change)
            _apply(state, keys, change)
    return state | ({WITHDRAWN: withdrawn} if withdrawn else {})


def _apply(state: Value, keys: list[Any], change: Value) -> None:
    try:
        holder: Any = state
        for key in keys[:-1]:
            holder = holder[key]
        if change.get("kind") == _SET:
            holder[keys[-1]] = change.get("v")
        elif change.get("kind") == _APPEND:
            _append(holder, keys[-1], change)
        elif change.get("kind") == _DELETE:
            del holder[keys[-1]]
    except (KeyError, IndexError, TypeError, AttributeError):
        return


def _append(holder: Any, key: Any, change: Value) -> None:
    values = holder.setdefault(key, []) if isinstance(holder, dict) else holder[key]
    if isinstance(change.get("i"), int):
        del values[change["i"] :]
    values.extend(list_of(change.get("v")))


def _cut(state: Value, change: Value) -> list[Value]:
    """Return the first request that a change cuts off, with the one before it, unless the change adds it again."""
    rows, at = state.get(_REQUESTS), change.get("i")
    if (
        change["k"] != [_REQUESTS]
        or change.get("kind") != _APPEND
        or not isinstance(at, int)
        or not isinstance(rows, list)
    ):
        return []
    added = {_id(row) for row in list_of(change.get("v"))}
    gone = [_id(row) for row in rows[at:] if _id(row) not in added and _is_shown(row)]
    return [{"requestId": gone[0], "after": _id(rows[at - 1]) if 0 < at <= len(rows) else ""}] if gone else []


def _is_shown(request: Any) -> bool:
    """Return whether the user sent a request: those of the client itself are not missed."""
    return isinstance(request, dict) and not request.get("isSystemInitiated")


def _id(request: Any) -> str:
    native = request.get("requestId") if isinstance(request, dict) else ""
    return native if isinstance(native, str) else ""
