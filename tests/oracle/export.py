"""The oracle for katod's own JSONL: reads events into the same four multisets as the native readers."""

import json
import re

from tests.oracle import codex, copilot
from tests.oracle.common import Record, Sets, as_dict, as_text, shell_text

# Agents whose records have no ids; their events identify a record by its byte offset.
BY_OFFSET = frozenset(("codex", "cursor", "zot"))
# Agents with several texts in one record, or with records without an id; for the others, parts of a text share its native id.
BY_BLOCK = frozenset(("antigravity", "claude", "codex", "kimi"))
WITHOUT_CALL_IDS = frozenset(("antigravity", "cursor"))
_PART = re.compile(r"(.+:\d+)\.\d+")


def read(text: str) -> Sets:
    """Read an export; the parts of a message that was split at its command lines count as one text."""
    sets = Sets()
    said: dict[tuple[str, str], list[str]] = {}
    for line in text.split("\n"):
        if not line:
            continue
        row = json.loads(line)
        kind, payload = row["kind"], row["payload"]
        if kind in ("user.message", "user.kato-command"):
            said.setdefault((_block(row), native_id(row)), []).append(_words(kind, payload))
        elif kind == "assistant.message":
            if payload["text"].strip():
                sets.assistant(native_id(row), payload["text"])
        elif kind == "assistant.tool.call":
            _call(sets, row, payload)
        elif kind == "assistant.tool.result":
            _result(sets, row, payload)
        elif kind == "usage" and payload.get("scope") == "message":
            sets.usage(as_text(row["source"].get("messageId")) or native_id(row), payload, ("input", "output"))
        else:
            sets.other[f"other:{kind}"] += 1
    for (_, native), parts in said.items():
        sets.user(native, "\n".join(parts))
    return sets


def native_id(row: Record) -> str:
    """Return what identifies the event's record: its native id, or the offset of its line."""
    source = as_dict(row.get("source"))
    if _agent(row) in BY_OFFSET:
        return str(source.get("offset", ""))
    return as_text(source.get("providerEventId"))


def _agent(row: Record) -> str:
    return as_text(row["session"]["agent"])


def _block(row: Record) -> str:
    """Return what the parts of a split message have in common."""
    if _agent(row) not in BY_BLOCK:
        return ""
    part = _PART.fullmatch(row["id"])
    return part.group(1) if part else as_text(row["id"])


def _words(kind: str, payload: Record) -> str:
    if kind == "user.kato-command":
        return as_text(payload["line"])
    text = as_text(payload.get("text"))
    if payload.get("subtype") == "shell":
        return shell_text(text.removeprefix("!"))
    return text


def _call(sets: Sets, row: Record, payload: Record) -> None:
    """Count a call; a missing input compares as an empty one."""
    call_id, name, value = _call_id(row, payload), as_text(payload.get("name")), payload.get("input")
    if _agent(row) == "codex":
        if _native_type(row) in codex.EXECUTIONS:
            return
        if native := payload.get("native"):
            name, value = native["name"], native["input"]
        elif "script" in payload:
            name, value = "exec", payload["script"]
        call_id, name, value = codex.call_key(_native_type(row), {"call_id": call_id}, name, value)
    elif _agent(row) == "copilot":
        value = copilot.free_input(value)
    sets.call(call_id, name, value or {})


def _call_id(row: Record, payload: Record) -> str:
    """Return the id of a call, or nothing if katod made it up from the call's position."""
    call_id = as_text(payload.get("toolCallId"))
    made = _agent(row) == "gemini" and call_id.startswith(f"{native_id(row)}.")
    return "" if made or _agent(row) in WITHOUT_CALL_IDS else call_id


def _result(sets: Sets, row: Record, payload: Record) -> None:
    """Count a result, except those within the call itself (server-side tools)."""
    kind, agent = _native_type(row), _agent(row)
    if kind in codex.SERVER_SIDE | codex.EXECUTIONS or (agent, kind) == ("claude", "assistant"):
        return
    text = as_text(payload.get("text"))
    if agent == "codex":
        text = codex.result_text(kind, text)
    sets.result(_call_id(row, payload), text)


def _native_type(row: Record) -> str:
    return as_text(as_dict(row.get("source")).get("providerEventType")).rpartition("/")[2]
