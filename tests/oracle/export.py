"""The oracle for katod's own JSONL: canonical events → the same four multisets as the native readers."""

import json
import re

from tests.oracle import codex
from tests.oracle.common import Record, Sets, as_dict, as_text, shell_text

_PART = re.compile(r"(.+:\d+)\.\d+")


def read(text: str) -> Sets:
    """The parts of a message that was split at its command lines count as the one text they were."""
    sets = Sets()
    said: dict[tuple[str, str], list[str]] = {}
    for line in text.split("\n"):
        if not line:
            continue
        row = json.loads(line)
        kind, payload = row["kind"], row["payload"]
        if kind in ("user.message", "user.kato-command"):
            part = _PART.fullmatch(row["id"])
            block = (part.group(1) if part else row["id"], native_id(row))
            said.setdefault(block, []).append(_words(kind, payload))
        elif kind == "assistant.message":
            if payload["text"].strip():
                sets.assistant(native_id(row), payload["text"])
        elif kind == "assistant.tool.call":
            _call(sets, row, payload)
        elif kind == "assistant.tool.result":
            _result(sets, row, payload)
        else:
            sets.other[f"other:{kind}"] += 1
    for (_, native), parts in said.items():
        sets.user(native, "\n".join(parts))
    return sets


def native_id(row: Record) -> str:
    """An event names its record: Claude by its uuid, Codex by where its line stands in the file."""
    source = as_dict(row.get("source"))
    if row["session"]["agent"] == "codex":
        return str(source.get("offset", ""))
    return as_text(source.get("providerEventId"))


def _words(kind: str, payload: Record) -> str:
    if kind == "user.kato-command":
        return as_text(payload["line"])
    text = as_text(payload.get("text"))
    if payload.get("subtype") == "shell":
        return shell_text(text.removeprefix("!"))
    return text


def _call(sets: Sets, row: Record, payload: Record) -> None:
    """A call without an input compares as one with an empty input."""
    call_id, name = as_text(payload.get("toolCallId")), as_text(payload.get("name"))
    value = payload.get("input")
    if row["session"]["agent"] == "codex":
        call_id, name, value = codex.call_key(_native_type(row), {"call_id": call_id}, name, value)
    sets.call(call_id, name, value or {})


def _result(sets: Sets, row: Record, payload: Record) -> None:
    """Results that stand inside the call itself (tools that run on the server) are not compared."""
    kind = _native_type(row)
    if kind in codex.SERVER_SIDE or kind == "assistant":
        return
    text = as_text(payload.get("text"))
    if row["session"]["agent"] == "codex":
        text = codex.result_text(kind, text)
    sets.result(as_text(payload.get("toolCallId")), text)


def _native_type(row: Record) -> str:
    return as_text(as_dict(row.get("source")).get("providerEventType")).rpartition("/")[2]
