"""The oracle for katod's own JSONL: canonical events → the same four multisets as the native readers."""

import json
import re

from tests.oracle import codex, copilot
from tests.oracle.common import Record, Sets, as_dict, as_text, shell_text

# These say by its byte offset which record a text stands in: the native records have no ids.
BY_OFFSET = frozenset(("codex", "cursor", "zot"))
# These may say several texts in one record; the others say one, whose parts belong together by its native id.
BY_BLOCK = frozenset(("claude", "codex"))
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
            said.setdefault((_block(row), native_id(row)), []).append(_words(kind, payload))
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
    """An event names its record: by its id, or by where its line stands in the file."""
    source = as_dict(row.get("source"))
    if _agent(row) in BY_OFFSET:
        return str(source.get("offset", ""))
    return as_text(source.get("providerEventId"))


def _agent(row: Record) -> str:
    return as_text(row["session"]["agent"])


def _block(row: Record) -> str:
    """What the parts of a split message have in common."""
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
    """A call without an input compares as one with an empty input."""
    call_id, name, value = _call_id(row, payload), as_text(payload.get("name")), payload.get("input")
    if _agent(row) == "codex":
        call_id, name, value = codex.call_key(_native_type(row), {"call_id": call_id}, name, value)
    elif _agent(row) == "copilot":
        value = copilot.free_input(value)
    sets.call(call_id, name, value or {})


def _call_id(row: Record, payload: Record) -> str:
    """Ids that were made from the place of a call, because the file has none, are not compared."""
    call_id = as_text(payload.get("toolCallId"))
    made = _agent(row) == "gemini" and call_id.startswith(f"{native_id(row)}.")
    return "" if made or _agent(row) == "cursor" else call_id


def _result(sets: Sets, row: Record, payload: Record) -> None:
    """Results that stand inside the call itself (tools that run on the server) are not compared."""
    kind, agent = _native_type(row), _agent(row)
    if kind in codex.SERVER_SIDE or (agent, kind) == ("claude", "assistant"):
        return
    text = as_text(payload.get("text"))
    if agent == "codex":
        text = codex.result_text(kind, text)
    sets.result(_call_id(row, payload), text)


def _native_type(row: Record) -> str:
    return as_text(as_dict(row.get("source")).get("providerEventType")).rpartition("/")[2]
