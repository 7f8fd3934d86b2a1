"""Claude Code: how events are named, which session and prompt they belong to, and when the usage of a message is known.

Several records share a message id and repeat its usage; the last one has the final figures. The usage is returned at
a record with a stop reason, or at the first message of the user, the assistant or the client that is neither part of
the message nor a result of its calls. Other records say nothing: the client wrote progress between the records of one
message up to 2.1.81.
"""

from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.agents.base import Described, EventBuilder, State
from katod.agents.claude.sessionusage import SessionUsage
from katod.agents.fields import attachment, dict_of, digest, int_or_none, list_of, safe_repr, text_of
from katod.agents.toolcalls import OpenCalls
from katod.events import Event, SessionRef
from katod.model import Record

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
_MOST_NAMES: Final = 512
_LEAST: Final = 16  # characters of an id that no other message has


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


def noted_usage(fields: dict[str, Any], message: dict[str, Any], model: str) -> Waiting | None:
    """Return the pending usage of a record, None if it has none."""
    usage, message_id = message.get("usage"), message.get("id")
    if not isinstance(usage, dict) or not isinstance(message_id, str):
        return None
    return Waiting(message_id, model, usage, fields)


def belongs_to_usage(waiting: Waiting, fields: dict[str, Any], calls: OpenCalls[dict[str, Any]]) -> bool:
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


class ClaudeBuilder(EventBuilder):
    """Names events by the `uuid` of their record, or by a hash of the content if it has none."""

    def __init__(self, ref: SessionRef, state: State) -> None:
        super().__init__(ref, dedup_prefix=f"{ref.agent}:", now=state.get("now"), above=state.get("above"))
        self.main = ref
        self.whole = SessionUsage(state.get("whole"))
        # How often each name without an id and a time was used.
        self.repeats: dict[str, int] = state.get("repeats", {})

    def take_up(self, fields: dict[str, Any]) -> None:
        """Set the prompt that the next events belong to, and the sub-agent if the record is one's."""
        if self._pending:  # images that were not part of any event
            self._pending.clear()
        turn = fields.get("promptId")
        self.turn = turn if isinstance(turn, str) else ""
        self.ref = self.main
        if fields.get("isSidechain") and not self.main.subagent:
            self.ref = self.main._replace(subagent=text_of(fields.get("agentId")) or "sidechain")

    def image(self, block: dict[str, Any]) -> dict[str, Any]:
        """Describe an image or document block, and keep its data for outputs that save attachments."""
        row = dict_of(block.get("source"))
        data, media = text_of(row.get("data")), text_of(row.get("media_type"))
        describe = self.attachment if data else attachment
        return describe(text_of(block.get("type")), media, data, text_of(block.get("title")))

    def system(self, record: Record, text: str, subtype: str, part: int | str, speaker: str = "") -> Event:
        """Return a message from the client itself, or from another agent that is named."""
        payload = {"text": text, "subtype": subtype}
        if speaker:
            payload |= {"subtype": ev.Between.PEER, "speaker": speaker}
        return self.event(ev.SYSTEM_MESSAGE, payload, record, part)

    def named(self, event: Event, name: str) -> Event:
        """Return an event named after its content instead of its record, which may not be the only one with it."""
        return event._replace(id=f"{self._prefix}{name}", dedup_key=f"{self._dedup_prefix}{name}")

    def usage(self, waiting: Waiting) -> Event:
        """Return the usage of one message; it has no record of its own, so it is named after the message."""
        record, ref = waiting.record, self.main
        source = {"providerEventType": "assistant", "messageId": waiting.id}
        if request := text_of(record.get("requestId")):
            source["requestId"] = request
        if record.get("isSidechain") is True and not ref.subagent:
            ref = ref._replace(subagent=text_of(record.get("agentId")) or "sidechain")
        time = text_of(record.get("timestamp"))
        name = f"{waiting.id}:usage"
        # A copy may have another time, and lack the id of the request. A short id may be that of other messages, too.
        once = f"{self._dedup_prefix}{name if len(waiting.id) >= _LEAST else f'{name}:{time[:13]}'}"
        payload = waiting.payload()
        return Event(f"{self._prefix}{name}", ev.USAGE, ref, payload, source, time, "", "", waiting.model, once)

    def _describe(self, record: Record, part: int | str, kind: str, payload: dict[str, Any], /) -> Described:
        fields = record.value or {"uuid": f"@{record.offset}.{record.part}"}
        source: dict[str, Any] = {"providerEventType": fields.get("type")}
        native = fields.get("uuid")
        if isinstance(native, str) and native:
            source["providerEventId"] = native
        else:
            native = self._hashed(fields, kind, payload)
        message = fields.get("message")
        if isinstance(message, dict) and isinstance(message.get("id"), str):
            source["messageId"] = message["id"]
        if isinstance(request := fields.get("requestId"), str):
            source["requestId"] = request
        source |= self.ancestors.source(fields.get("parentUuid"))
        source["offset"] = record.offset
        name, time = f"{native}:{part}", fields.get("timestamp")
        return name, name, source, time if isinstance(time, str) else ""

    def _hashed(self, fields: dict[str, Any], kind: str, payload: dict[str, Any]) -> str:
        """Return a hash for content without an id, with a number if not even a time distinguishes two of them."""
        time = fields.get("timestamp")
        name = f"~{digest(str(time), kind, safe_repr(payload))}"
        if time:
            return name
        if len(self.repeats) >= _MOST_NAMES and name not in self.repeats:
            self.repeats = {"": self.repeats.get("", 0) + 1}  # counting starts over, and later names include the round
        number = self.repeats[name] = self.repeats.get(name, 0) + 1
        if round_ := self.repeats.get("", 0):
            return f"{name}.{number}.{round_}"
        return f"{name}.{number}" if number > 1 else name
