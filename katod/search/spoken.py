"""Which text of an event a search can find, and who said it. Pure."""

from collections.abc import Iterator
from typing import Any, Final

from katod import events as ev
from katod.events import Event
from katod.formats.redact.redactor import redact, redact_json
from katod.formats.text.ownlines import SIGN
from katod.formats.transcript import between

_FIELDS: Final = {
    ev.USER_MESSAGE: ("text",),
    ev.DECISION_RESPONSE: ("selections", "freeText"),
    ev.ASSISTANT_MESSAGE: ("text",),
    ev.ASSISTANT_THINKING: ("text",),
    ev.TOOL_CALL: ("name", "input"),
    ev.TOOL_RESULT: ("text",),
    ev.DECISION_PROMPT: ("prompt", "options"),
    ev.SYSTEM_MESSAGE: ("text", "summary"),
    ev.PROVIDER_RAW: ("raw",),
    ev.COMPACTION: ("summary",),
    ev.ERROR: ("message",),
    ev.AGENT_START: ("task",),
    ev.AGENT_END: ("result",),
}
# Messages that nobody says. The words of a notification are those of the sub-agent's report.
_CONTEXT: Final = "context"
_UNSAID: Final = {"context": _CONTEXT, "task-notification": "notification"}
_NAME: Final = "title"  # what a change is of with which a session gets the name that lists show
_PERSON: Final = frozenset({ev.USER_MESSAGE, ev.DECISION_RESPONSE})
BETWEEN: Final = "\n\0\n"  # no word spans two fields
_DEEPEST: Final = 64  # levels of a tool's input


def words_of(event: Event) -> str:
    """Return the text of an event that is searched, an empty string for events that only keep the books."""
    return _joined(event.kind, event.payload)


def redacted_words_of(event: Event) -> str:
    """Return the same text without secrets. What stands under a telling name, such as a password, is one."""
    return _joined(event.kind, redact_json(event.payload))


def _joined(kind: str, payload: dict[str, Any]) -> str:
    is_name = kind == ev.CONFIG_CHANGE and payload["what"] == _NAME
    fields = ("after",) if is_name else _FIELDS.get(kind, ())
    return BETWEEN.join(text for name in fields if name in payload for text in _strings(payload[name], _DEEPEST))


def _strings(value: Any, levels: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif levels and isinstance(value, dict):
        for item in value.values():
            yield from _strings(item, levels - 1)
    elif levels and isinstance(value, list):
        for item in value:
            yield from _strings(item, levels - 1)


def is_said(speaker: str) -> bool:
    """Return whether a person or an agent is who said it, not what a tool was given or returned."""
    return SIGN not in speaker


def speaker_of(event: Event, label: str) -> str:
    """Return who said it: `You`, the agent's label, `Claude ▸ Bash` for a call, `Claude ▸ result`.

    Words between agents are said by who is named there, or by none: a `Task`, a `▸ Summary`.
    """
    if speaker := between.speaker_of(event, redact):
        return f"{SIGN} {speaker}" if speaker == between.SUMMARY else speaker
    about = _UNSAID.get(event.payload.get("subtype", ""), "" if ev.is_printed(event) else _CONTEXT)
    if event.kind in _PERSON and not about:
        return "You"
    about = about or {
        ev.TOOL_CALL: str(event.payload.get("name", "")),
        ev.TOOL_RESULT: "result",
        ev.ASSISTANT_THINKING: "thinking",
        ev.ERROR: "error",
        ev.PROVIDER_RAW: "unknown record",
        ev.CONFIG_CHANGE: _NAME,
    }.get(event.kind, "")
    return f"{label} {SIGN} {about}" if about else label
