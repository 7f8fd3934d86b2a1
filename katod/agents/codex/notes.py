"""Codex: what the client notes beside the conversation (format notes, B.5)."""

from typing import TYPE_CHECKING, Any, Final

from katod import events as ev
from katod.agents.protocol import dict_of, text_of
from katod.events import Event
from katod.model import Record

if TYPE_CHECKING:
    from katod.agents.codex.adapter import Codex

_COUNTS: Final = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cacheRead", "cached_input_tokens"),
    ("cacheWrite", "cache_write_input_tokens"),
    ("reasoning", "reasoning_output_tokens"),
)


def error(codex: "Codex", row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
    """Translate an error."""
    nested = dict_of(row.get("error"))
    message = text_of(row.get("message")) or text_of(nested.get("message")) or "error"
    code = text_of(nested.get("kind")) or text_of(row.get("codex_error_info"))
    payload = {"message": message} | ({"code": code} if code else {})
    return [codex.event(ev.ERROR, payload, value, record, "event_msg/error", 0)]


def rolled_back(codex: "Codex", row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
    """Translate a rollback: what was said stays, a message says what was taken back."""
    count = row.get("num_turns", "some")
    payload = {"text": f"{count} turn{'' if count == 1 else 's'} rolled back", "subtype": "rollback"}
    return [codex.event(ev.SYSTEM_MESSAGE, payload, value, record, native_type(value), 0)]


def renamed(codex: "Codex", row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
    """Translate a new title of the thread."""
    after, before = text_of(row.get("thread_name")), codex.now.get("title")
    if not after or after == before:
        return []
    codex.now["title"] = after
    payload = {"what": "title"} | ({"before": before} if before else {}) | {"after": after}
    return [codex.event(ev.CONFIG_CHANGE, payload, value, record, native_type(value), 0)]


def info(codex: "Codex", row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
    """Keep what a record says of reviews, goals and undos."""
    kind = text_of(row.get("type"))
    data = {k: v for k, v in row.items() if k != "type"}
    payload = {"text": kind.replace("_", " "), "subtype": kind} | ({"data": data} if data else {})
    return [codex.event(ev.PROVIDER_INFO, payload, value, record, native_type(value), 0)]


def review(codex: "Codex", row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
    """Translate the beginning and the end of a review."""
    ended = text_of(row.get("type")).lower().startswith("exit")
    text = text_of(dict_of(row.get("review_output")).get("overall_explanation")) if ended else ""
    hint = text_of(row.get("user_facing_hint"))
    said = text or hint or ("Review ended" if ended else "Review started")
    payload = {"text": said, "subtype": "review"}
    return [codex.event(ev.SYSTEM_MESSAGE, payload, value, record, native_type(value), 0)]


def agent_started(codex: "Codex", row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
    """Translate the start of a sub-agent."""
    payload = {"subagent": text_of(row.get("new_thread_id")), "task": text_of(row.get("prompt"))}
    return [codex.event(ev.AGENT_START, {k: v for k, v in payload.items() if v}, value, record, native_type(value), 0)]


def agent_ended(codex: "Codex", row: dict[str, Any], value: dict[str, Any], record: Record) -> list[Event]:
    """Translate the end of a sub-agent."""
    status = row.get("status")
    shown = status if isinstance(status, str) else next(iter(dict_of(status)), "")
    payload = {"subagent": text_of(row.get("receiver_thread_id")), "status": shown}
    if isinstance(result := dict_of(status).get(shown), str) and result:
        payload["result"] = result
    return [codex.event(ev.AGENT_END, payload, value, record, native_type(value), 0)]


def counts(row: dict[str, Any], info: dict[str, Any]) -> dict[str, Any]:
    """Return the tokens of one response and the limit of its context, as far as they are written."""
    payload: dict[str, Any] = {"scope": "message"}
    payload |= {name: row[key] for name, key in _COUNTS if isinstance(row.get(key), int)}
    if isinstance(limit := info.get("model_context_window"), int):
        payload["contextLimit"] = limit
    return payload


def native_type(value: dict[str, Any]) -> str:
    """Return the native type of a record, as deep as it goes."""
    row = dict_of(value.get("payload"))
    kinds = (value.get("type"), row.get("type"), dict_of(row.get("item")).get("type"))
    return "/".join(kind for kind in kinds if isinstance(kind, str))
