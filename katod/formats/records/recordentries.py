"""Entries of a verifiable agent record: one for each event, in the words of the draft. Pure.

Field names and types are those of `agent-conversation.cddl` of draft-birkholz-verifiable-agent-conversations-00. What
the draft has no field for is under the extra key `x-katod`.
"""

from collections.abc import Callable
from typing import Any, Final

from katod import events as ev
from katod.formats.rows import Fields, recorded_time

EXTRA: Final = "x-katod"
_TOKENS: Final = (
    ("input", "input"), ("output", "output"), ("cacheRead", "cached"), ("reasoning", "reasoning"), ("total", "total"),
)  # fmt: skip
_MORE_TOKENS: Final = (("cacheWrite", "cache-write"), ("contextLimit", "context-limit"))
_UNSAID: Final = ev.BETWEEN - {ev.Between.TASK}  # messages of no user; what a sub-agent was given is its input
_COST_DIGITS: Final = 6  # floats are signed as they are printed, so few digits


def entry_of(row: Fields) -> Fields:
    """Return the entry of an event, given the event's JSON form."""
    payload = dict(row["payload"])
    make = _system_event if payload.get("subtype") in _UNSAID else _MAKERS.get(row["kind"], _system_event)
    entry = make(row["kind"], payload)
    if time := recorded_time(row):
        entry["timestamp"] = time
    shared = {name: row[name] for name in ("kind", "turn", "source") if name in row}
    session = {name: row["session"][name] for name in ("subagent",) if name in row["session"]}
    entry[EXTRA] = payload | session | shared | {"event": row["id"]} | _unsaid_time(row, entry)
    return entry


def token_usage(payload: Fields) -> Fields:
    """Return the counts of a `usage` event, under names in the draft's manner where it has none."""
    usage = {name: payload[key] for key, name in (*_TOKENS, *_MORE_TOKENS) if _is_count(payload.get(key))}
    cost = payload.get("costUsd")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        usage["cost"] = round(cost, _COST_DIGITS)
    return usage


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _unsaid_time(row: Fields, entry: Fields) -> Fields:
    """Return the time of an event that is no timestamp of the draft: taken from a neighbour, or of another form."""
    return {"time": row["time"], "timeSource": row["timeSource"]} if "time" in row and "timestamp" not in entry else {}


# -- one maker for each kind: it takes out of the payload what it says in the draft's own words -----


def _user(_kind: str, payload: Fields) -> Fields:
    return {"type": "user", "content": payload.pop("text", "")}


def _assistant(_kind: str, payload: Fields) -> Fields:
    return {"type": "assistant", "content": payload.pop("text", "")}


def _reasoning(_kind: str, payload: Fields) -> Fields:
    entry = {"type": "reasoning", "content": payload.pop("text", "")}
    said = [name for name in ("encrypted", "subject") if isinstance(payload.get(name), str)]  # that it is may be all
    return entry | {name: payload.pop(name) for name in said}


def _tool_call(_kind: str, payload: Fields) -> Fields:
    return {
        "type": "tool-call", "name": payload.pop("name"), "input": payload.pop("input", None),
        "call-id": payload.pop("toolCallId"),
    }  # fmt: skip


def _tool_result(_kind: str, payload: Fields) -> Fields:
    failed = payload.pop("isError", False) is True
    went_well = not (failed or payload.get("denied") or payload.get("exitCode"))
    given = payload.pop("status") if isinstance(payload.get("status"), str) else ""
    status = given or ("error" if failed else "completed" if went_well else "")
    entry = {"type": "tool-result", "output": payload.pop("text", ""), "call-id": payload.pop("toolCallId")}
    return entry | ({"status": status} if status else {}) | ({"is-error": True} if failed else {})


def _system_event(kind: str, payload: Fields) -> Fields:
    data = dict(payload)
    payload.clear()
    return {"type": "system-event", "event-type": kind, "data": data}


_MAKERS: Final[dict[str, Callable[[str, Fields], Fields]]] = {
    ev.USER_MESSAGE: _user,
    ev.ASSISTANT_MESSAGE: _assistant,
    ev.ASSISTANT_THINKING: _reasoning,
    ev.TOOL_CALL: _tool_call,
    ev.TOOL_RESULT: _tool_result,
}
