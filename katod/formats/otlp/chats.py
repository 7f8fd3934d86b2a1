"""Answers of the model as spans: each is printed once, when what it used is known or can come no more. Pure."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from katod import events as ev
from katod.agents.answers import Parts
from katod.formats.otlp import names
from katod.formats.otlp.context import LONGEST_TEXT, SpanContext, shortened
from katod.formats.otlp.spans import CLIENT, Attributes, Span, model_of, provider_of
from katod.formats.otlp.spent import Spent

_MOST_OPEN: Final = 4  # answers of one thread that wait for their usage; more are printed without
_MOST_DONE: Final = 64  # that are remembered, as a part of them may still come
_MOST_CONTENT: Final = 4 * LONGEST_TEXT  # characters of all texts of an answer


class ChatStart(NamedTuple):
    """What does not change of an answer: its span, whose it is, the span above, and when the model was asked."""

    id: str
    actor: str
    parent: str
    start: int
    recorded: bool


@dataclass(slots=True)
class OpenChat:
    """One answer of the model, as long as more of it may come."""

    begun: ChatStart
    key: str  # of the message
    end: int
    answered: tuple[str, str] = ("", "")  # the model, and why it stopped
    spent: Spent | None = None
    has_parts: bool = False
    is_over: bool = False  # an error, or the result of one of its calls, came: what follows is another answer
    parts: list[Any] = field(default_factory=list)  # what was said, if there is content

    @classmethod
    def of(cls, row: dict[str, Any]) -> "OpenChat":
        """Return the answer, given its state."""
        begun, spent = ChatStart(*row["begun"]), row["spent"]
        spent = Spent(*spent) if spent is not None else None
        return cls(**row | {"begun": begun, "answered": tuple(row["answered"]), "spent": spent})

    def rename(self, key: str) -> None:
        """Take the key of a part, if nothing is known of the answer but what it used."""
        self.key = self.key if self.has_parts else key

    def add(self, context: SpanContext) -> None:
        """Add a part of the answer."""
        model, stop = self.answered
        self.has_parts, self.end = True, max(self.end, context.moment.at)
        self.answered = context.event.model or model, context.text("stopReason") or stop
        if context.shows_content and (part := _part(context)):
            size = sum(len(orjson.dumps(one)) for one in self.parts)
            self.parts += [part] if size < _MOST_CONTENT else []

    def use(self, spent: Spent, context: SpanContext) -> None:
        """Add what the answer used."""
        self.spent = (self.spent or Spent()).plus(spent)
        self.end = max(self.end, context.moment.at) if context.moment.recorded else self.end
        self.answered = self.answered[0] or context.event.model, self.answered[1]

    def close(self) -> None:
        """Note that no further part of it can come."""
        self.is_over = True

    def span(self, common: Attributes, provider: str) -> Span:
        """Return it as a span."""
        begun, model, stop = self.begun, model_of(self.answered[0]), self.answered[1]
        finish = [stop] if stop in names.STOPS else None
        attributes: Attributes = {names.OPERATION: names.CHAT, names.PROVIDER: provider_of(provider, model)} | common
        attributes |= {names.RESPONSE_MODEL: model, names.FINISH_REASONS: finish}
        attributes |= (self.spent or Spent()).attributes()
        attributes |= {names.OI_KIND: "LLM", names.OI_MODEL: model, names.NO_TIME: None if begun.recorded else True}
        if self.parts:
            said = {"role": "assistant", "parts": self.parts} | ({"finish_reason": stop} if finish else {})
            attributes[names.OUTPUT_MESSAGES] = orjson.dumps([said]).decode()
        name = f"{names.CHAT} {model}".strip()
        return Span(begun.id, begun.parent, name, begun.start, self.end, attributes, CLIENT)


def _part(context: SpanContext) -> dict[str, Any]:
    """Return a part of an answer as the conventions write it, as far as the recording shows it."""
    kind = context.event.kind
    if kind == ev.TOOL_CALL:
        row = {"type": "tool_call", "id": context.text("toolCallId"), "name": context.text("name")}
        return row if context.shows_tools else {}
    text = shortened(context.text("prompt" if kind == ev.DECISION_PROMPT else "text"))
    if kind == ev.ASSISTANT_THINKING:
        return {"type": "reasoning", "content": text} if text and context.options.thinking else {}
    return {"type": "text", "content": text} if text else {}


class OpenChats:
    """The answers that wait, in their order, and the messages of those that were printed lately."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._open = [OpenChat.of(row) for row in state.get("open", ())]
        self._done: list[str] = state.get("done", [])
        self._asked: dict[str, int] = state.get("asked", {})  # by thread, when the model was asked last

    def state(self) -> dict[str, Any]:
        """Return this as JSON."""
        row = {"open": [asdict(chat) for chat in self._open], "done": self._done, "asked": self._asked}
        return {name: value for name, value in row.items() if value}

    def ask(self, context: SpanContext) -> None:
        """Note that the model has something to answer: a prompt, or a result."""
        self._asked = {**dict(list(self._asked.items())[-_MOST_DONE:]), context.actor: context.moment.at}

    def part(self, context: SpanContext, parent: str) -> list[OpenChat]:
        """Take a part of an answer; return those that are over by it."""
        found = next((chat for chat in reversed(self._open) if self._belongs(chat, context)), None)
        if found is None and self._key(context) in self._done:
            return []
        over: list[OpenChat] = []
        if found is None:
            over, found = self._begin(context, parent)
        found.rename(context.message)
        found.add(context)
        return over

    def use(self, context: SpanContext, parent: str) -> list[OpenChat]:
        """Take what an answer used; return those that are over by it: an answer of which parts are known is."""
        spent = Spent.of(context.payload, context.answers)
        found = next((chat for chat in reversed(self._open) if self._is_used_by(chat, context)), None)
        over: list[OpenChat] = []
        if found is None:
            over, found = self._begin(context, parent)
        found.use(spent, context)
        return over + self._take([found] if found.has_parts else [])

    def close(self, actor: str) -> None:
        """Note an error or a result: what follows is another answer, where parts of one only follow each other."""
        for chat in self._of(actor):
            chat.close()

    def rest(self, actor: str | None = None) -> list[OpenChat]:
        """Return the answers that wait, of one thread or of all, and forget them."""
        return self._take(self._open if actor is None else self._of(actor))

    def _of(self, actor: str) -> list[OpenChat]:
        return [chat for chat in self._open if chat.begun.actor == actor]

    def _begin(self, context: SpanContext, parent: str) -> tuple[list[OpenChat], OpenChat]:
        """Begin an answer; return those that are over by it, and the new one."""
        before = self._of(context.actor)
        waits = context.answers.has_usage and context.answers.have_names
        over = self._take(before[: 1 - _MOST_OPEN] if waits else before)
        now, span = context.moment, context.span(names.CHAT)
        start = min(self._asked.pop(context.actor, 0) or now.at, now.at)
        found = OpenChat(ChatStart(span, context.actor, parent, start, now.recorded), context.message, now.at)
        self._open.append(found)
        return over, found

    def _take(self, chats: list[OpenChat]) -> list[OpenChat]:
        taken = list(chats)
        self._open = [chat for chat in self._open if chat not in taken]
        self._done = [*self._done, *(f"{chat.begun.actor}:{chat.key}" for chat in taken if chat.has_parts)][
            -_MOST_DONE:
        ]
        return taken

    @staticmethod
    def _key(context: SpanContext) -> str:
        """Return by what a late part of an answer is known; where parts are only counted, there are none."""
        return f"{context.actor}:{context.message}" if context.answers.parts is Parts.NAMED else "-"

    def _belongs(self, chat: OpenChat, context: SpanContext) -> bool:
        """Return whether an event is a part of an open answer."""
        if chat.begun.actor != context.actor:
            return False
        answers = context.answers
        if answers.parts is Parts.NAMED:
            is_bare = not chat.has_parts and not chat.is_over
            return chat.key == context.message or (is_bare and answers.usage_is_apart)
        return chat.spent is None and not (chat.is_over and answers.parts is Parts.ITEMS)

    def _is_used_by(self, chat: OpenChat, context: SpanContext) -> bool:
        """Return whether usage is that of an open answer."""
        if chat.begun.actor != context.actor or chat.spent is not None:
            return False
        if context.answers.have_names:
            return chat.key == context.message
        named = context.event.source.get("messageId")
        return not named or named == chat.key
