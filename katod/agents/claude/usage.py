"""Claude Code: token usage, once a message (format notes, table 0, row 8).

Several records share a message id and repeat its usage, the last one with the final figures. It is
given out at the first record that is neither of that message nor a result of its calls, or at a
record with a stop reason.
"""

from typing import Any, NamedTuple

from katod.agents.fields import list_of, text_of
from katod.agents.toolcalls import OpenCalls

_KEPT = ("timestamp", "requestId", "isSidechain", "agentId")
COUNTS = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cacheRead", "cache_read_input_tokens"),
    ("cacheWrite", "cache_creation_input_tokens"),
)


class Waiting(NamedTuple):
    """What has to wait of a message: its id, its model, its latest usage and the record that this is in."""

    id: str
    model: str
    usage: dict[str, Any]
    record: dict[str, Any]

    def state(self) -> list[Any]:
        """Return the same without anything that was said."""
        usage = {key: self.usage[key] for _, key in COUNTS if isinstance(self.usage.get(key), int)}
        kept = {key: self.record[key] for key in _KEPT if isinstance(self.record.get(key), str | bool)}
        return [self.id, self.model, usage, kept]


def noted(fields: dict[str, Any], message: dict[str, Any], model: str) -> Waiting | None:
    """Return what has to wait of a record's usage, None where it has none."""
    usage, message_id = message.get("usage"), message.get("id")
    if not isinstance(usage, dict) or not isinstance(message_id, str):
        return None
    return Waiting(message_id, model, usage, fields)


def belongs(waiting: Waiting, fields: dict[str, Any], calls: OpenCalls[dict[str, Any]]) -> bool:
    """Return whether a record belongs to the message whose usage waits: its blocks and its calls' results."""
    message = fields.get("message")
    if not isinstance(message, dict):
        return False
    if fields.get("type") == "assistant":
        return bool(message.get("id") == waiting.id)
    owner = None
    for block in list_of(message.get("content")):
        if isinstance(block, dict):
            call = calls.get(text_of(block.get("tool_use_id")))
            owner = call.get("message") if call else None
            if owner != waiting.id:
                return False
    return bool(owner == waiting.id)
