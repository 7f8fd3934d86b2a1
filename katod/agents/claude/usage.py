"""Claude Code: token usage, once per message, and of the whole session.

Several records share a message id and repeat its usage; the last one has the final figures. The usage is returned at
a record with a stop reason, or at the first message of the person, the assistant or the client that is neither part of
the message nor a result of its calls. Other records say nothing: the client wrote progress between the records of one
message up to 2.1.81.
"""

from typing import Any, NamedTuple

from katod.agents.fields import cost_or_none, dict_of, int_or_none, list_of, text_of
from katod.agents.toolcalls import OpenCalls

_MESSAGES = ("user", "assistant", "system")
_KEPT = ("timestamp", "requestId", "isSidechain", "agentId")
COUNTS = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cacheRead", "cache_read_input_tokens"),
    ("cacheWrite", "cache_creation_input_tokens"),
)
DETAILS, THOUGHTS = "output_tokens_details", "thinking_tokens"
KINDS_OF_WRITES, FOR_AN_HOUR = "cache_creation", "ephemeral_1h_input_tokens"
_OF_SESSION = (
    ("input", "inputTokens"),
    ("output", "outputTokens"),
    ("cacheRead", "cacheReadInputTokens"),
    ("cacheWrite", "cacheCreationInputTokens"),
    ("cacheWrite1h", "cacheCreationEphemeral1hInputTokens"),
    ("reasoning", "thinkingTokens"),
)


class Waiting(NamedTuple):
    """The pending usage of a message: its id, its model, its latest usage and the record that contains it."""

    id: str
    model: str
    usage: dict[str, Any]
    record: dict[str, Any]

    def state(self) -> list[Any]:
        """Return this as JSON, without any content."""
        usage: dict[str, Any] = {key: self.usage[key] for _, key in COUNTS if isinstance(self.usage.get(key), int)}
        if (thoughts := self.thoughts()) is not None:
            usage[DETAILS] = {THOUGHTS: thoughts}
        if for_an_hour := self.cached_for_an_hour():
            usage[KINDS_OF_WRITES] = {FOR_AN_HOUR: for_an_hour}
        kept = {key: self.record[key] for key in _KEPT if isinstance(self.record.get(key), str | bool)}
        return [self.id, self.model, usage, kept]

    def payload(self) -> dict[str, Any]:
        """Return the payload of the event."""
        row: dict[str, Any] = {"scope": "message"}
        row |= {name: count for name, key in COUNTS if isinstance(count := self.usage.get(key), int)}
        if DETAILS in self.usage and (thoughts := self.thoughts()) is not None:
            row["reasoning"] = thoughts
        return row | ({"cacheWrite1h": kept} if (kept := self.cached_for_an_hour()) else {})

    def thoughts(self) -> int | None:
        """Return how many tokens of the output were thinking, None if that is not recorded."""
        return int_or_none(dict_of(self.usage.get(DETAILS)).get(THOUGHTS))

    def cached_for_an_hour(self) -> int:
        """Return how many tokens were written to the cache for an hour, which costs more than the usual minutes."""
        return int_or_none(dict_of(self.usage.get(KINDS_OF_WRITES)).get(FOR_AN_HOUR)) or 0


def noted(fields: dict[str, Any], message: dict[str, Any], model: str) -> Waiting | None:
    """Return the pending usage of a record, None if it has none."""
    usage, message_id = message.get("usage"), message.get("id")
    if not isinstance(usage, dict) or not isinstance(message_id, str):
        return None
    return Waiting(message_id, model, usage, fields)


def of_session(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the usage of the whole session so far, over all models, empty if there is none."""
    models = {name: row for name, row in dict_of(fields.get("modelUsage")).items() if isinstance(row, dict)}
    return {"scope": "session"} | _counts(list(models.values())) | _costs(fields, models) if models else {}


def _counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    counts = {name: [n for row in rows if (n := int_or_none(row.get(key))) is not None] for name, key in _OF_SESSION}
    sums = {name: sum(found) for name, found in counts.items() if found}
    known = {name: count for name, count in sums.items() if int_or_none(count) is not None}
    return {name: count for name, count in known.items() if count or name != "cacheWrite1h"}


def _costs(fields: dict[str, Any], models: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the cost, and that of each model; nothing if it is incomplete."""
    cost = cost_or_none(fields.get("totalCostUSD"))
    if cost is None or fields.get("hasUnknownModelCost"):
        return {}
    costs = {name: own for name, row in models.items() if (own := cost_or_none(row.get("costUSD"))) is not None}
    return {"costUsd": cost} | ({"costs": costs} if costs else {})


def belongs(waiting: Waiting, fields: dict[str, Any], calls: OpenCalls[dict[str, Any]]) -> bool:
    """Return whether a record belongs to the message with the pending usage, as a block or as a call's result.

    So may a result whose call is yet to be written, and all that is no message.
    """
    if fields.get("type") not in _MESSAGES:
        return True
    message = fields.get("message")
    if not isinstance(message, dict):
        return False
    if fields.get("type") == "assistant":
        return bool(message.get("id") == waiting.id)
    owner = None
    for block in list_of(message.get("content")):
        if isinstance(block, dict):
            call = calls.get(text_of(block.get("tool_use_id")))
            owner = call.get("message") if call else waiting.id if "tool_use_id" in block else None
            if owner != waiting.id:
                return False
    return bool(owner == waiting.id)
