"""Codex: prompts that are recorded as a `response_item` alone.

A prompt is recorded twice, as an event and as the item that the model is sent. Some programs write only the item. So
an item is held until what follows decides: an event of the user takes its place, whatever the model does shows that
there is none. Nothing says that such a prompt was typed.
"""

from collections.abc import Iterable
from typing import Any, Final

from katod.agents.codex.text import is_injected
from katod.agents.fields import dict_of, text_of
from katod.model import Record

_LONGEST: Final = 65_536  # characters; a longer one is not remembered
_OF_PERSON: Final = ("user_message", "usermessage")
# What the model does, or what ends its turn, in lower case; an item counts by its own type.
_ANSWERS: Final = frozenset({
    "agent_message", "agent_reasoning", "agentmessage", "reasoning", "function_call", "custom_tool_call",
    "local_shell_call", "web_search_call", "task_complete", "turn_complete", "turn_aborted", "commandexecution",
})  # fmt: skip


class PromptItems:
    """The latest prompt that no event has said yet, and whether one said the latest prompt before its item came.

    `pictures` is the data of its images, which the event that follows may only name.
    """

    def __init__(self, state: dict[str, Any] | None) -> None:
        state = state or {}
        self._held: dict[str, Any] | None = state.get("held")
        self._said: bool = state.get("said", False)
        self.pictures: list[str] = state.get("pictures", [])

    def state(self) -> dict[str, Any]:
        """Return this as JSON, empty in most places of a session."""
        row = {"held": self._held, "said": self._said, "pictures": self.pictures}
        return {name: value for name, value in row.items() if value}

    def keep_pictures(self, pictures: Iterable[str]) -> None:
        """Keep the data of images for the event that follows, in place of those before."""
        self.pictures = list(pictures)

    @property
    def is_held(self) -> bool:
        """Whether a prompt waits."""
        return self._held is not None

    def is_at(self, record: Record) -> bool:
        """Return whether the prompt of this record waits."""
        return self._held is not None and self._held["at"] == [record.offset, record.part]

    def displaced(self, text: str) -> tuple[Record, str] | None:
        """Return the prompt that is shown before the item with this text: no event came between the two."""
        return self.give() if self._is_open(text) else None

    def hold(self, record: Record, text: str, turn: str) -> None:
        """Hold the text of an item, unless an event said it before or the client wrote it."""
        if not self._is_open(text):
            return
        if len(text) <= _LONGEST:
            fields = {name: record.value[name] for name in ("type", "timestamp", "ordinal") if name in record.value}
            payload = {
                "type": "message",
                "role": "user",
                "turn_id": turn,
                "id": dict_of(record.value["payload"]).get("id"),
            }
            self._held = {"at": [record.offset, record.part], "fields": fields | {"payload": payload}, "text": text}

    def _is_open(self, text: str) -> bool:
        return not self._said and bool(text.strip()) and not is_injected(text)

    def due(self, fields: dict[str, Any]) -> tuple[Record, str] | None:
        """Return the prompt that is shown before a record, with its text; None if none is."""
        kind = _kind(fields)
        if kind in _OF_PERSON:
            self._held, self._said = None, True
        if kind not in _ANSWERS:
            return None
        self._said = False
        return self.give()

    def give(self) -> tuple[Record, str] | None:
        """Return the prompt that is held, and forget it."""
        held, self._held = self._held, None
        if held is None:
            return None
        offset, part = held["at"]
        return Record(offset, held["fields"], part=part), held["text"]


def _kind(fields: dict[str, Any]) -> str:
    """Return what a record is, as far as it matters here; an assistant's message is an `agent_message`."""
    row = dict_of(fields.get("payload"))
    kind = text_of(row.get("type"))
    if kind == "item_completed":
        return text_of(dict_of(row.get("item")).get("type")).lower()
    return "agent_message" if kind == "message" and row.get("role") == "assistant" else kind
