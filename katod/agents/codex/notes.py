"""Codex: what the client records beside the conversation."""

from typing import Any, Final

from katod import events as ev
from katod.agents.base import EventBuilder
from katod.agents.fields import dict_of, text_of, texts_in
from katod.events import Event
from katod.model import Record

_COUNTS: Final = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cacheRead", "cached_input_tokens"),
    ("cacheWrite", "cache_write_input_tokens"),
    ("reasoning", "reasoning_output_tokens"),
    ("total", "total_tokens"),
)


def error(new: EventBuilder, record: Record, row: dict[str, Any]) -> Event:
    """Translate an error."""
    nested = dict_of(row.get("error"))
    message = text_of(row.get("message")) or text_of(nested.get("message")) or "error"
    code = text_of(nested.get("kind")) or text_of(row.get("codex_error_info"))
    return new.event(ev.ERROR, {"message": message} | ({"code": code} if code else {}), record)


def failure(row: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of the error that ended a turn (seen with 0.169), empty if there was none."""
    message, code = text_of(row.get("message")), text_of(row.get("codex_error_info"))
    return {"message": message} | ({"code": code} if code else {}) if message else {}


def rolled_back(new: EventBuilder, record: Record, row: dict[str, Any]) -> Event:
    """Translate a rollback: everything said remains, and a message notes the rollback."""
    count = row.get("num_turns", "some")
    payload = {"text": f"{count} turn{'' if count == 1 else 's'} rolled back", "subtype": "rollback"}
    return new.event(ev.SYSTEM_MESSAGE, payload, record)


def rewound(new: EventBuilder, record: Record, row: dict[str, Any]) -> list[Event]:
    """Note that a rollout goes on from within an earlier one of its own thread; a fork's goes on from another thread's.

    The earlier rollout keeps the turns that were taken back.
    """
    thread, base = text_of(row.get("id")), dict_of(row.get("history_base"))
    if not thread or base.get("thread_id") != thread:
        return []
    note = {"text": "Conversation rewound", "subtype": "rollback"}
    return [new.event(ev.SYSTEM_MESSAGE, note, record, "r")]


def info(new: EventBuilder, record: Record, row: dict[str, Any]) -> Event:
    """Keep the content of a record about goals or undos."""
    kind = text_of(row.get("type"))
    data = {k: v for k, v in row.items() if k != "type"}
    payload = {"text": kind.replace("_", " "), "subtype": kind} | ({"data": data} if data else {})
    return new.event(ev.PROVIDER_INFO, payload, record)


def review(new: EventBuilder, record: Record, row: dict[str, Any]) -> Event:
    """Translate the start and the end of a review."""
    ended = text_of(row.get("type")).lower().startswith("exit")
    text = text_of(dict_of(row.get("review_output")).get("overall_explanation")) if ended else ""
    hint = text_of(row.get("user_facing_hint"))
    said = text or hint or ("Review ended" if ended else "Review started")
    return new.event(ev.SYSTEM_MESSAGE, {"text": said, "subtype": "review"}, record)


def agent_started(new: EventBuilder, record: Record, row: dict[str, Any]) -> list[Event]:
    """Translate the start of a sub-agent. Without a thread, none was started: the result of the call says why."""
    thread = text_of(row.get("new_thread_id"))
    asked = texts_in({"task": row.get("prompt"), "model": row.get("model")})
    return [new.event(ev.AGENT_START, {"subagent": thread} | asked, record)] if thread else []


def agent_ended(new: EventBuilder, record: Record, row: dict[str, Any]) -> Event:
    """Translate the end of a sub-agent."""
    status = row.get("status")
    shown = status if isinstance(status, str) else next(iter(dict_of(status)), "")
    payload = {"subagent": text_of(row.get("receiver_thread_id")), "status": shown}
    if isinstance(result := dict_of(status).get(shown), str) and result:
        payload["result"] = result
    return new.event(ev.AGENT_END, payload, record)


def counts(row: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    """Return the token counts of one response and its context limit, as far as they are recorded."""
    payload: dict[str, Any] = {"scope": "message"}
    payload |= {name: row[key] for name, key in _COUNTS if isinstance(row.get(key), int)}
    if isinstance(limit := info.get("model_context_window"), int):
        payload["contextLimit"] = limit
    return payload
