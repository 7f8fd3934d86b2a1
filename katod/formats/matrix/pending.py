"""Lines that wait for what the next event may add to them. Pure."""

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.formats.matrix.agents import finished, record_of
from katod.formats.matrix.lines import ProtocolEvent, Wait
from katod.formats.matrix.names import STATES
from katod.formats.matrix.session import EventContext
from katod.formats.matrix.sums import counts_of
from katod.formats.matrix.values import Content, canonical, cleaned

_LARGEST: Final = 64 * 1024  # bytes of all contents that wait: they are part of the state
_SUMMARY: Final = "compact-summary"
_ANSWERS: Final = (ev.ASSISTANT_MESSAGE, ev.ASSISTANT_THINKING, ev.TOOL_CALL)


class PendingLines(NamedTuple):
    """Lines of which the first is waiting, and by what the event that adds to it is recognised."""

    lines: tuple[ProtocolEvent, ...] = ()
    waits: Wait | None = None
    key: str = ""

    @classmethod
    def of(cls, state: list[Any] | None) -> "PendingLines":
        """Return the pending lines, given their state."""
        if not state:
            return cls()
        rows, waits, key = state
        return cls(tuple(ProtocolEvent(txn, name, content, tuple(at)) for txn, name, content, at in rows), waits, key)

    def state(self) -> list[Any]:
        """Return this as JSON, empty for nothing."""
        return [[[*line[:3], list(line.at)] for line in self.lines], self.waits, self.key] if self.lines else []

    @property
    def is_small(self) -> bool:
        """Whether all of it may be held back."""
        has_pictures = any(line.pictures for line in self.lines)
        return not has_pictures and sum(len(canonical(line.content)) for line in self.lines) <= _LARGEST

    @property
    def answers(self) -> list[ProtocolEvent]:
        """The lines, without the state of the room."""
        return [line for line in self.lines if line.name not in STATES]

    def goes_on(self, context: EventContext, kind: str) -> bool:
        """Return whether an event is a part of the answer that waits for its usage."""
        return self.waits == "usage" and kind in _ANSWERS and usage_key(context) == self.key

    def longer(self, lines: list[ProtocolEvent]) -> "PendingLines":
        """Return this with more lines."""
        return self._replace(lines=(*self.lines, *lines))

    def addition(self, context: EventContext, kind: str) -> Content:
        """Return what an event adds to the first line, empty if nothing."""
        if self.waits == "usage" and kind == ev.USAGE and usage_key(context) == self.key:
            return counts_of(context.payload, context.answers)
        if self.waits == "summary" and kind == ev.SYSTEM_MESSAGE and context.text("subtype") == _SUMMARY:
            return {"summary_text": context.text("text")}
        if self.waits == "agent" and kind == ev.AGENT_END and record_of(context) == self.key:
            return finished(context)
        return {}

    def with_addition(self, added: Content) -> "PendingLines":
        """Return the lines with what was added to the first."""
        first = self.lines[0]
        return self._replace(lines=(first._replace(content=first.content | cleaned(added)), *self.lines[1:]))


@dataclass(slots=True)
class UsageOrder:
    """Where an agent records the usage of an answer: before its text, or after the results of its calls."""

    early: list[Any] = field(default_factory=list)  # of no answer yet: what it is of, and the counts
    late: bool = False

    def state(self) -> list[Any]:
        """Return this as JSON, empty if nothing is known."""
        return [self.early, self.late] if self.early or self.late else []

    def record(self, context: EventContext, *, is_added: bool) -> None:
        """Keep the usage for an answer that is recorded after it, unless it was added to one."""
        is_named = context.answers.have_names and not is_added
        self.early = [usage_key(context), counts_of(context.payload, context.answers)] if is_named else []

    def take_early(self, context: EventContext) -> Content | None:
        """Return, once, the usage that was recorded before this answer."""
        if self.early[:1] != [usage_key(context)]:
            return None
        found: Content = self.early[1]
        self.early = []
        return found

    def goes_on_without(self, held: PendingLines) -> None:
        """Note that something else came before the usage of an answer with calls that waits for it."""
        self.late = self.late or len(held.answers) > 1

    def begin_turn(self) -> None:
        """Note a prompt: after it, the usage may be recorded elsewhere."""
        self.late = False


def usage_of(context: EventContext) -> tuple[Wait, str] | None:
    """Return by what the usage of an answer is recognised, None if the agent records none."""
    return ("usage", usage_key(context)) if context.answers.has_usage else None


def usage_key(context: EventContext) -> str:
    """Return what the parts of an answer and its usage have in common."""
    session, source = context.event.session, context.event.source
    if context.event.kind == ev.USAGE and context.payload.get("scope") != "message":
        return "none"
    name = source.get("messageId") or record_of(context) if context.answers.have_names else ""
    return f"{session.subagent}:{name}"
