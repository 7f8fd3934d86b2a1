"""Calls of tools, and the sub-agents that they start, as spans: each is printed once, when its end is known. Pure."""

from typing import Any, Final, NamedTuple

import orjson

from katod.formats.otlp import names
from katod.formats.otlp.context import Moment, SpanContext, shortened, thread_attributes
from katod.formats.otlp.spans import Attributes, Span, name_or
from katod.model import LONGEST_NAME

_MOST_OPEN: Final = 256
_MOST_GIVEN: Final = 16  # open calls of which it is kept what they were given
_TOOL: Final = "tool"  # one whose name may say something
_AGENT: Final = "agent"
_SPEAKS: Final = "speaks"  # a sub-agent that begins with an event of its own, which may be about another one
_NAME_OF_AGENT: Final = "subagent"
_FAILED: Final = {
    "timeout": "timeout", "timed_out": "timeout", "interrupted": "aborted", "aborted": "aborted",
    "cancelled": "aborted", "killed": "aborted", "stopped": "aborted", "shutdown": "aborted", "failed": names.OTHER,
    "failure": names.OTHER, "error": names.OTHER, "errored": names.OTHER,
}  # fmt: skip


class OpenToolCall(NamedTuple):
    """A call without a result; `child` is the sub-agent that it started, as far as that is known."""

    id: str
    actor: str
    parent: str
    start: int
    recorded: bool
    call: str
    name: str
    starts: bool  # a sub-agent
    child: str = ""
    given: str = ""  # to the tool, if there is content

    def span(self, common: Attributes, end: int, more: Attributes, error: str = "") -> Span:
        """Return it as a span that ends then."""
        attributes: Attributes = {names.OPERATION: names.EXECUTE_TOOL} | common
        attributes |= {
            names.TOOL_NAME: self.name,
            names.TOOL_TYPE: names.FUNCTION,
            names.TOOL_CALL: name_or(self.call, ""),
        }
        attributes |= {names.OI_KIND: "TOOL", names.OI_TOOL: self.name, names.TOOL_ARGUMENTS: self.given}
        attributes |= {names.NO_TIME: None if self.recorded else True} | more
        return Span(self.id, self.parent, f"{names.EXECUTE_TOOL} {self.name}", self.start, end, attributes, error=error)


class OpenSubagent(NamedTuple):
    """A sub-agent that works: the span of its work, and the one above it.

    `call` is the open call at whose result it ends: that of one which only speaks in the session's file.
    """

    id: str
    parent: str
    start: int
    recorded: bool
    call: str = ""

    def span(self, subagent: str, common: Attributes, end: int, error: str = "") -> Span:
        """Return it as a span that ends then."""
        attributes: Attributes = {names.OPERATION: names.INVOKE_AGENT} | common
        attributes |= {names.AGENT_NAME: _NAME_OF_AGENT, names.SUBAGENT: name_or(subagent, "")}
        attributes |= {names.OI_KIND: "AGENT", names.NO_TIME: None if self.recorded else True}
        name = f"{names.INVOKE_AGENT} {_NAME_OF_AGENT}"
        return Span(self.id, self.parent, name, self.start, end, attributes, error=error)


class _Answered(NamedTuple):
    """The last result of a call that starts sub-agents: its record, the span of the call, and when it was made."""

    record: str = ""
    id: str = ""
    start: int = 0


class ToolSpans:
    """The calls and the sub-agents of a session that are not over."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._calls = {call: OpenToolCall(*row) for call, row in state.get("calls", {}).items()}
        self._agents = {agent: OpenSubagent(*row) for agent, row in state.get("agents", {}).items()}
        self._answered = _Answered(*state.get("answered", ()))

    def state(self) -> dict[str, Any]:
        """Return this as JSON."""
        row: dict[str, Any] = {"calls": {call: list(one) for call, one in self._calls.items()}}
        row |= {"agents": {agent: list(one) for agent, one in self._agents.items()}}
        row |= {"answered": list(self._answered) if self._answered.record else []}
        return {name: value for name, value in row.items() if value}

    # -- calls ------------------------------------------------------------------------------------------

    def called(self, context: SpanContext, parent: str, common: Attributes) -> list[Span]:
        """Take a call; return the oldest one, without a result, if there are too many, and one of the same id."""
        call, now = context.event.payload["toolCallId"], context.moment
        if not context.shows_tools or not 0 < len(call) <= LONGEST_NAME:
            return []
        opened = OpenToolCall(
            context.span(names.EXECUTE_TOOL), context.actor, parent, now.at, now.recorded, call,
            name_or(context.text("name"), _TOOL), context.text("family") == _AGENT, given=self._given(context),
        )  # fmt: skip
        same = [call] if call in self._calls else []
        oldest = [next(iter(self._calls))] if len(self._calls) >= _MOST_OPEN and not same else []
        spans = [self._unanswered(name, common, now.at) for name in [*same, *oldest]]
        self._calls[call] = opened
        return spans

    def _given(self, context: SpanContext) -> str:
        if not context.shows_results or context.payload.get("input") is None:
            return ""
        for call in list(self._calls)[: 1 - _MOST_GIVEN]:
            self._calls[call] = self._calls[call]._replace(given="")
        given = context.payload["input"]
        return shortened(given if isinstance(given, str) else orjson.dumps(given).decode())

    def result(self, context: SpanContext, common: Attributes) -> list[Span]:
        """Return the call of a result, and the sub-agents that only spoke until then; nothing of an unknown call."""
        name, now = context.event.payload["toolCallId"], context.moment
        call = self._calls.pop(name, None)
        if call is None:
            return []
        over = [agent for agent, one in self._agents.items() if one.call == name]
        spans = [self._agents.pop(agent).span(agent, common, now.at) for agent in over]
        if call.starts:
            self._answered = _Answered(context.record, call.id, call.start)
        more = {names.TOOL_RESULT: shortened(context.text("text")) if context.shows_results else None}
        return [*spans, call.span(thread_attributes(common, call.actor), now.at, more, error_of(context))]

    def _unanswered(self, call: str, common: Attributes, end: int) -> Span:
        found = self._calls.pop(call)
        return found.span(thread_attributes(common, found.actor), end, {names.NO_RESULT: True})

    def rest(self, common: Attributes, now: Moment, actor: str | None = None) -> list[Span]:
        """Return the calls that have no result, of one thread or of all, and forget them."""
        left = [name for name, call in self._calls.items() if actor in (None, call.actor)]
        return [self._unanswered(name, common, now.at) for name in left]

    # -- sub-agents --------------------------------------------------------------------------------------

    def agent(self, subagent: str) -> str:
        """Return the span of a sub-agent that works, empty if it is not known."""
        found = self._agents.get(subagent)
        return found.id if found else ""

    def started(self, context: SpanContext, subagent: str, parent: str, common: Attributes) -> list[Span]:
        """Take the start of a sub-agent, as its agent says it, or with the first of its own events."""
        if not context.shows_tools or subagent in self._agents or not 0 < len(subagent) <= LONGEST_NAME:
            return []
        above, _ = self._above(context, subagent, parent)
        speaks = subagent == context.actor
        call = next((name for name, one in self._calls.items() if speaks and one.id == above), "")
        now = context.moment
        span = context.span(_SPEAKS if speaks else _AGENT)
        self._agents[subagent] = OpenSubagent(span, above, now.at, now.recorded, call)
        return self._ended_oldest(common, now.at)

    def _ended_oldest(self, common: Attributes, end: int) -> list[Span]:
        if len(self._agents) <= _MOST_OPEN:
            return []
        oldest = next(iter(self._agents))
        return [self._agents.pop(oldest).span(oldest, common, end)]

    def ended(self, context: SpanContext, subagent: str, parent: str, common: Attributes) -> list[Span]:
        """Return the work of a sub-agent that is over; of one whose start is not known, it began with its call."""
        if not context.shows_tools:
            return []
        known, now = self._agents.pop(subagent, None), context.moment
        if known is None:
            above, start = self._above(context, subagent, parent)
            known = OpenSubagent(context.span(_AGENT), above, start or now.at, now.recorded)
        error = _FAILED.get(context.text("status").lower(), "")
        return [known.span(subagent, common, now.at, error)]

    def _above(self, context: SpanContext, subagent: str, parent: str) -> tuple[str, int]:
        """Return the call that started a sub-agent, and when it was made; the given parent if it is not known.

        It was answered just now, or is the only one that is open, or has the sub-agent's id.
        """
        if context.is_own and self._answered.record == context.record:
            return self._answered.id, self._answered.start
        waiting = {name: one for name, one in self._calls.items() if one.starts and one.child in ("", subagent)}
        name = subagent if subagent in waiting else next(iter(waiting)) if len(waiting) == 1 else ""
        if not name:
            return parent, 0
        self._calls[name] = waiting[name]._replace(child=subagent if len(subagent) <= LONGEST_NAME else "")
        return waiting[name].id, waiting[name].start

    def end_all(self, common: Attributes, now: Moment) -> list[Span]:
        """Return all that is not over, as if it ended now, and forget it."""
        spans = self.rest(common, now)
        spans += [one.span(agent, common, now.at) for agent, one in self._agents.items()]
        self._agents, self._answered = {}, _Answered()
        return spans


def error_of(context: SpanContext) -> str:
    """Return the class of the error that a result says, empty if the call did what it was asked to."""
    payload, status = context.payload, context.text("status").lower()
    if payload.get("denied"):
        return "permission_denied"
    return _FAILED.get(status, names.OTHER if payload.get("isError") else "")
