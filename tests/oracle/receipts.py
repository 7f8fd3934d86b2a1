"""The oracle for receipts: what became of each native record, counted without the code that katod counts with.

A record is told if the reader of its agent finds a part of the conversation in it, or if an event of the export is of
its place: settings, turns and what was used are no part of what the readers compare. A record with an event of unknown
shape is not understood. What the reader says was written again is repeated. All others are left out, and named here from
the native record alone. Of whole documents, the records are their messages, and what the first event of each says counts.
"""

import json
from collections import Counter
from typing import Any, NamedTuple

from tests.oracle import gemini, opencode, vscode
from tests.oracle.common import Record, Sets, as_dict, as_text, records
from tests.oracle.corpus import Source

_KINDS = {
    "claude": ("type", "subtype", "operation", "data.type", "attachment.type"), "qwen": ("type", "subtype"),
    "pi": ("type", "message.role"), "cursor": ("role",),
}  # fmt: skip
_REPEATED = frozenset(
    ("user/repeated", "assistant/repeated", "attachment/repeated", "gemini/repeated", "written again")
)
_WITH_KIND = ("progress", "attachment", "system", "queue-operation")  # of Claude Code


class Native(NamedTuple):
    """One native record: its place in the file, or its number or id in a document, and what it is called."""

    place: Any
    name: str
    ids: frozenset[Any]  # of it, as events name it
    is_message: bool = False  # of a document, which may be written before all of it is there


def expected(source: Source, rows: list[Record]) -> dict[str, Any]:
    """Return the sums of the receipt over a whole session, given the events of its export."""
    sets, natives = source.read(), natives_of(source)
    events: dict[Any, list[Record]] = {}
    for row in rows:
        events.setdefault(_named(row, natives), []).append(row)
    if source.agent == "opencode":  # what follows the last event may not be final
        while natives and not natives[-1].ids & events.keys():
            natives.pop()
    told, repeated, left, raw, gaps = 0, 0, Counter[str](), Counter[str](), Counter[str]()
    for native in natives:
        found = [row for name in native.ids for row in events.get(name, [])]
        later = found[1:] if native.is_message else []
        unknown = [row for row in found if row["kind"] == "provider.raw" and row not in later]
        gaps["partsNotUnderstood"] += sum(row["kind"] == "provider.raw" for row in later)
        gaps["encryptedThinking"] += any("encrypted" in row["payload"] for row in found)
        if unknown:
            raw[as_text(unknown[0]["payload"]["rawType"])] += 1
        elif found or any(key.startswith("+") for key in sets.places.get(native.place, ())):
            told += 1
        elif sets.places.get(native.place, set()) & _REPEATED:
            repeated += 1
        else:
            left[native.name] += 1
    numbers = {"records": len(natives), "told": told, "repeated": repeated}
    gaps["missingParent"] += source.agent == "claude" and _is_cut(source)
    return numbers | {"leftOut": dict(left), "notUnderstood": dict(raw), "gaps": dict(+gaps)}


def _is_cut(source: Source) -> bool:
    """Return whether the first record with an id has a parent that is nowhere in the file."""
    rows = [row for _, _, row in records(source.path, Counter()) if isinstance(row.get("uuid"), str)]
    return bool(rows) and rows[0].get("parentUuid") not in {None, *(row["uuid"] for row in rows)}


def natives_of(source: Source) -> list[Native]:
    """Return the native records of a session in their order: its lines, or the messages of its document."""
    if (messages := _messages(source)) is not None:
        return messages
    rows, offset = [], 0
    for line in source.path.read_bytes().split(b"\n")[:-1]:  # what has no newline may still be written
        if line.strip():
            rows.append(Native(offset, _name(source.agent, as_dict(json.loads(line))), frozenset({offset})))
        offset += len(line) + 1
    return rows


def _messages(source: Source) -> list[Native] | None:
    """Return the messages of a document; None if the session has lines."""
    if source.agent == "vscode":
        requests = vscode.state_of(source.path, Sets()).get("requests") or []
        return [_message(n, as_dict(row), "requestId", "request") for n, row in enumerate(requests)]
    if source.agent == "opencode":
        rows = sorted(opencode.stored(source.path), key=lambda row: as_text(row.get("id")))
        return [_message(row["id"], row, "id", as_text(row.get("role"))) for row in rows]
    document = gemini.whole(source.path) if source.agent in ("gemini", "cline") else None
    if document is None or not isinstance(document.get("messages"), list):
        return None
    rows = [as_dict(row) for row in document["messages"]]
    return [_message(n, row, "id", as_text(row.get("role") or row.get("type"))) for n, row in enumerate(rows)]


def _message(place: Any, row: Record, named: str, name: str) -> Native:
    return Native(place, name, frozenset({row.get(named)}), is_message=True)


def _named(row: Record, natives: list[Native]) -> Any:
    """Return the place that an event names: the message of a document, or an offset."""
    if natives and not isinstance(next(iter(natives[0].ids)), int):
        return row["source"].get("messageId", "")
    return row["source"].get("offset")


def _name(agent: str, row: Record) -> str:
    """Return what a record is called: its type, with that of what is in it."""
    kind = as_text(row.get("type"))
    if agent == "codex":
        if "record_type" in row:
            return "record_state"
        payload = as_dict(row.get("payload"))
        item = as_dict(payload.get("item")) if payload.get("type") == "item_completed" else {}
        role = payload.get("role") if payload.get("type") == "message" else ""
        return _joined(kind, payload.get("type"), item.get("type"), role)
    if agent == "gemini" and "$set" in row:
        return "$set/" + ("+".join(sorted(row["$set"].keys() - {"lastUpdated"})) or "lastUpdated")
    if agent == "gemini" and "sessionId" in row:
        return "header"
    if agent == "kimi" and kind == "context.append_loop_event":
        return _joined("loop", as_dict(row.get("event")).get("type"))
    if agent == "claude" and kind not in _WITH_KIND:
        return kind
    return _joined(*(_at(row, path) for path in _KINDS.get(agent, ("type",)))) or kind


def _at(row: Record, path: str) -> Any:
    *above, name = path.split(".")
    return as_dict(row.get(above[0])).get(name) if above else row.get(name)


def _joined(*names: Any) -> str:
    return "/".join(filter(None, map(as_text, names)))
