"""Claude Code: `system` records, and text from the client in the assistant's place."""

from typing import Any, Final

from katod import events as ev
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.fields import dict_of, int_or_none, text_of, texts_in
from katod.events import Event
from katod.model import Record

IGNORED_SUBTYPES: Final = frozenset({"stop_hook_summary", "session_start", "file_snapshot", "memory_saved"})
_INFO: Final = frozenset({"bridge_status"})


def translate(new: ClaudeBuilder, record: Record) -> list[Event]:
    """Translate one `system` record."""
    fields = record.value
    subtype = fields.get("subtype")
    if subtype in IGNORED_SUBTYPES:
        return []
    if subtype == "compact_boundary":
        return [new.event(ev.COMPACTION, _compaction(fields), record)]
    if subtype == "api_error":
        return [new.event(ev.ERROR, _api_error(fields), record)]
    if subtype == "turn_duration":
        payload: dict[str, Any] = {"reason": "done"}
        if isinstance(fields.get("durationMs"), int):
            payload["durationMs"] = fields["durationMs"]
        return [new.event(ev.TURN_END, payload, record)]
    text = fields.get("content")
    if not isinstance(text, str):
        return [new.raw(record, f"system/{subtype}", fields)]
    kind = ev.PROVIDER_INFO if subtype in _INFO else ev.SYSTEM_MESSAGE
    said = texts_in({"subtype": subtype, "category": fields.get("apiRefusalCategory")})
    return [new.event(kind, {"text": text} | said, record)]


def synthetic(new: ClaudeBuilder, record: Record, text: str, n: int) -> Event:
    """Translate text that the client wrote as the assistant: an API error, a limit, an interruption."""
    fields = record.value
    if not fields.get("isApiErrorMessage"):
        return new.system(record, text, "synthetic", n)
    payload: dict[str, Any] = {"message": text}
    if code := text_of(fields.get("error")):
        payload["code"] = code
    if isinstance(fields.get("apiErrorStatus"), int):
        payload["httpStatus"] = fields["apiErrorStatus"]
    return new.event(ev.ERROR, payload, record, n)


def _compaction(fields: dict[str, Any]) -> dict[str, Any]:
    row = dict_of(fields.get("compactMetadata"))
    sizes = {"tokensBefore": int_or_none(row.get("preTokens")), "tokensAfter": int_or_none(row.get("postTokens"))}
    known: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
    return texts_in({"trigger": row.get("trigger")}) | known


def _api_error(fields: dict[str, Any]) -> dict[str, Any]:
    error = fields.get("error")
    row = dict_of(error)
    nested = dict_of(dict_of(row.get("error")).get("error"))
    said = (row.get("formatted"), row.get("message"), nested.get("message"), error, fields.get("content"))
    payload: dict[str, Any] = {"message": next((m for m in said if isinstance(m, str) and m), "API error")}
    if isinstance(row.get("status"), int):
        payload["httpStatus"] = row["status"]
    names = (("attempt", "retryAttempt"), ("max", "maxRetries"), ("afterMs", "retryInMs"))
    retry = {name: fields[key] for name, key in names if isinstance(fields.get(key), int | float)}
    return payload | ({"retry": retry} if retry else {})
