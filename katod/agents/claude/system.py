"""Claude Code: `system` records and what the client says in the assistant's place (format notes, A.6)."""

from typing import TYPE_CHECKING, Any, Final

from katod import events as ev
from katod.agents.protocol import dict_of, text_of
from katod.events import Event
from katod.model import Record

if TYPE_CHECKING:
    from katod.agents.claude.adapter import Claude

LEFT_OUT_SUBTYPES: Final = frozenset({"stop_hook_summary", "session_start", "file_snapshot", "memory_saved"})
_INFO: Final = frozenset({"bridge_status"})


def translate(claude: "Claude", value: dict[str, Any], record: Record) -> list[Event]:
    """Translate one `system` record."""
    subtype = value.get("subtype")
    if subtype in LEFT_OUT_SUBTYPES:
        return []
    if subtype == "compact_boundary":
        return [claude.event(ev.COMPACTION, _compaction(value), value, record, 0)]
    if subtype == "api_error":
        return [claude.event(ev.ERROR, _api_error(value), value, record, 0)]
    if subtype == "turn_duration":
        payload: dict[str, Any] = {"reason": "done"}
        if isinstance(value.get("durationMs"), int):
            payload["durationMs"] = value["durationMs"]
        return [claude.event(ev.TURN_END, payload, value, record, 0)]
    text = value.get("content")
    if not isinstance(text, str):
        payload = {"rawType": f"system/{subtype}", "raw": value}
        return [claude.event(ev.PROVIDER_RAW, payload, value, record, 0)]
    kind = ev.PROVIDER_INFO if subtype in _INFO else ev.SYSTEM_MESSAGE
    said = {"text": text, "subtype": subtype} if isinstance(subtype, str) else {"text": text}
    return [claude.event(kind, said, value, record, 0)]


def synthetic(claude: "Claude", value: dict[str, Any], record: Record, text: str, n: int) -> Event:
    """Translate text that the client wrote as the assistant: an API error, a limit, an interruption."""
    if not value.get("isApiErrorMessage"):
        payload: dict[str, Any] = {"text": text, "subtype": "synthetic"}
        return claude.event(ev.SYSTEM_MESSAGE, payload, value, record, n)
    payload = {"message": text}
    if code := text_of(value.get("error")):
        payload["code"] = code
    if isinstance(value.get("apiErrorStatus"), int):
        payload["httpStatus"] = value["apiErrorStatus"]
    return claude.event(ev.ERROR, payload, value, record, n)


def _compaction(value: dict[str, Any]) -> dict[str, Any]:
    row = dict_of(value.get("compactMetadata"))
    names = (("trigger", "trigger"), ("tokensBefore", "preTokens"), ("tokensAfter", "postTokens"))
    return {name: row[key] for name, key in names if key in row}


def _api_error(value: dict[str, Any]) -> dict[str, Any]:
    error = value.get("error")
    row = dict_of(error)
    nested = dict_of(dict_of(row.get("error")).get("error"))
    said = (row.get("formatted"), row.get("message"), nested.get("message"), error, value.get("content"))
    payload: dict[str, Any] = {"message": next((m for m in said if isinstance(m, str) and m), "API error")}
    if isinstance(row.get("status"), int):
        payload["httpStatus"] = row["status"]
    names = (("attempt", "retryAttempt"), ("max", "maxRetries"), ("afterMs", "retryInMs"))
    retry = {name: value[key] for name, key in names if isinstance(value.get(key), int | float)}
    return payload | ({"retry": retry} if retry else {})
