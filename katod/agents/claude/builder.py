"""Claude Code: how events are named, and which session and prompt they belong to."""

from typing import Any, Final

from katod import events as ev
from katod.agents.base import Described, EventBuilder, State
from katod.agents.claude.usage import Waiting
from katod.agents.fields import attachment, dict_of, digest, safe_repr, text_of
from katod.events import Event, SessionRef
from katod.model import Record

_MOST_NAMES: Final = 512
_LEAST: Final = 16  # characters of an id that no other message has


class ClaudeBuilder(EventBuilder):
    """Names events by the `uuid` of their record, or by a hash of the content if it has none."""

    def __init__(self, ref: SessionRef, state: State) -> None:
        super().__init__(ref, dedup_prefix=f"{ref.agent}:", now=state.get("now"), above=state.get("above"))
        self.main = ref
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
