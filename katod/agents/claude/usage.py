"""Claude Code: token usage, once a message (format notes, table 0, row 8).

Several records share a message id and repeat its usage, the last one with the final figures. It is
given out at the first record that is neither of that message nor a result of its calls, or at a
record with a stop reason.
"""

from typing import Any, NamedTuple

from katod import events as ev
from katod.agents.protocol import list_of, text_of
from katod.events import Event, SessionRef

_KEPT = ("timestamp", "requestId", "isSidechain", "agentId")
_NAMES = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cacheRead", "cache_read_input_tokens"),
    ("cacheWrite", "cache_creation_input_tokens"),
)


class Waiting(NamedTuple):
    """What has to wait of a message: its id, its model, its latest usage and the record that this stands in."""

    id: str
    model: str
    usage: dict[str, Any]
    record: dict[str, Any]

    def state(self) -> list[Any]:
        """Return the same without anything that was said."""
        usage = {key: self.usage[key] for _, key in _NAMES if isinstance(self.usage.get(key), int)}
        kept = {key: self.record[key] for key in _KEPT if isinstance(self.record.get(key), str | bool)}
        return [self.id, self.model, usage, kept]


def noted(value: dict[str, Any], message: dict[str, Any], model: str) -> Waiting | None:
    """Return what has to wait of a record's usage, None where it has none."""
    usage, message_id = message.get("usage"), message.get("id")
    if not isinstance(usage, dict) or not isinstance(message_id, str):
        return None
    return Waiting(message_id, model, usage, value)


def event(waiting: Waiting, ref: SessionRef, prefix: str) -> Event:
    """Return the usage of one message; it has no record of its own, so the message names it."""
    message_id, model, usage, record = waiting
    source = {"providerEventType": "assistant", "messageId": message_id}
    if request := text_of(record.get("requestId")):
        source["requestId"] = request
    if record.get("isSidechain") is True and not ref.subagent:
        ref = ref._replace(subagent=text_of(record.get("agentId")) or "sidechain")
    time = text_of(record.get("timestamp"))
    payload: dict[str, Any] = {"scope": "message"}
    for name, key in _NAMES:
        if isinstance(count := usage.get(key), int):
            payload[name] = count
    recorded = "recorded" if time else ""
    return Event(f"{prefix}{message_id}:usage", ev.USAGE, ref, payload, source, time, recorded, model=model)


def belongs(waiting: Waiting, value: dict[str, Any], calls: dict[str, dict[str, Any]]) -> bool:
    """Say whether a record belongs to the message whose usage waits: its blocks and its calls' results."""
    message = value.get("message")
    if not isinstance(message, dict):
        return False
    if value.get("type") == "assistant":
        return bool(message.get("id") == waiting.id)
    owner = None
    for block in list_of(message.get("content")):
        if isinstance(block, dict):
            owner = calls.get(text_of(block.get("tool_use_id")), {}).get("message")
            if owner != waiting.id:
                return False
    return bool(owner == waiting.id)
