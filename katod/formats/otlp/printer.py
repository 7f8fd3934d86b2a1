"""The spans of a conversation, as OpenTelemetry's file exporter writes them: each line is a request with one span.

A span is printed once, when what it says can change no more. So the order is that of the ends, and a span may follow
those below it; only the span of the session comes first.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.fields import dict_of
from katod.events import Event
from katod.formats.lines import Lines, RangeOptions
from katod.formats.otlp.calls import ToolSpans
from katod.formats.otlp.chats import OpenChat, OpenChats
from katod.formats.otlp.context import Moment, SpanContext, is_prompt, thread_attributes
from katod.formats.otlp.session import OpenTurn, SpanSession, error_class
from katod.formats.otlp.spans import LineHead, Span
from katod.formats.otlp.spent import Spent, SpentSums
from katod.formats.rows import row_of
from katod.lifecycle import Lifecycle
from katod.metadata import SessionMetadata
from katod.model import Mark, Options

# What is asked of the model, or begins a turn: what was open before ended when the event before this one happened.
_ASKS: Final = frozenset({ev.USER_MESSAGE, ev.USER_COMMAND, ev.TURN_START})
_FAILED: Final = {"aborted": "aborted", "done": ""}
_KEPT: Final = ("key", "started", "parent", "begun", "whole", "time", "about", "turn")


class OtlpPrinter(Lines):
    """Writes the session, its turns, the answers of the model, the calls of tools and the sub-agents as spans."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._range = RangeOptions(options, state.get("switches", []))
        self._session = SpanSession(**state.get("session", {}))
        self._turn = OpenTurn.read(state.get("turn"))
        self._chats = OpenChats(state.get("chats"))
        self._tools = ToolSpans(state.get("tools"))
        self._sums = SpentSums(state.get("sums"))
        # What was kept of it, until the first event says whose it is.
        self._lifecycle: Lifecycle | dict[str, Any] = state.get("lifecycle", {})

    def state(self) -> dict[str, Any]:
        """Return what is open, the sums, and what is known of the session."""
        kept = self._lifecycle.kept() if isinstance(self._lifecycle, Lifecycle) else self._lifecycle
        session = {name: getattr(self._session, name) for name in _KEPT} if self._session.key else {}
        parts = {
            "session": session, "turn": self._turn._asdict() if self._turn else {}, "chats": self._chats.state(),
            "tools": self._tools.state(), "sums": self._sums.state(), "lifecycle": kept,
            "switches": self._range.switches,
        }  # fmt: skip
        return {name: part for name, part in parts.items() if part}

    def mark(self, mark: Mark) -> str:
        """Return nothing; a range's switches apply from its first mark on."""
        if mark.kind in ("started", "resumed"):
            self._range = self._range._replace(switches=list(map(list, mark.switches)))
        return ""

    def pause(self) -> str:
        """Return all that is not over, as it is known now: what comes after this is another range."""
        if not self._session.key:
            return ""
        now, self._lifecycle = Moment(self._session.time), {}
        self._session.miss()
        spans = [*self._end_turn(None), *self._chat_spans(self._chats.rest())]
        return self._printed([*spans, *self._tools.end_all(self._session.common, now)], needed=True)

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the spans that are over with an event: none, one, or several."""
        now = self._session.see(event, metadata)
        actor = "" if event.session.subagent == metadata.key.subagent else event.session.subagent
        options, handler = self._range.options, self._HANDLERS.get(event.kind)
        payload = row_of(event, redact=options.redact)[0]["payload"] if handler else {}
        answers = AGENTS[event.session.agent].answers
        context = SpanContext(self._session.identity, event, payload, now, actor, options, answers)
        if not isinstance(self._lifecycle, Lifecycle):
            self._lifecycle = AGENTS[metadata.key.agent].lifecycle(metadata.key.subagent, self._lifecycle)
        steps = {line["type"] for line in self._lifecycle.take(event)}
        return self._printed(self._spans(context, steps))

    def _spans(self, context: SpanContext, steps: set[str]) -> list[Span]:
        event, is_over, asks = context.event, "agent_end" in steps, context.event.kind in _ASKS
        spans = self._end_turn(None) if is_over and asks else []
        if "agent_start" in steps:
            spans += self._begin_turn(context)
        if not context.is_own:
            spans += self._tools.started(context, context.actor, self._in_turn(), self._session.common)
        elif self._turn is not None:
            self._turn = self._turn._replace(last=max(self._turn.last, context.moment.at))
        handler = self._HANDLERS.get(event.kind)
        spans += handler(self, context) if handler else []
        return spans + (self._end_turn(context) if is_over and not asks else [])

    def _printed(self, spans: list[Span], *, needed: bool = False) -> str:
        """Return spans as lines, below that of the session: it is printed once its time is known, or is needed."""
        session, options = self._session, self._range.options
        if not session.begun:
            if not (spans or session.started or needed):
                return ""
            session.begin()
            spans = [session.span(self._product), *spans]
        head = LineHead(session.trace, self._product, options.recorder.removeprefix("katod").strip())
        return "".join(map(head.line, spans))

    @property
    def _product(self) -> str:
        return AGENTS[self._session.key[0]].product

    # -- turns --------------------------------------------------------------------------------------------

    def _begin_turn(self, context: SpanContext) -> list[Span]:
        """Begin a turn; nothing more is said of what the one before it left open."""
        left = self._tools.rest(self._session.common, Moment(self._session.time), "")
        spans = [*self._end_turn(None), *self._chat_spans(self._chats.rest("")), *left]
        self._turn = OpenTurn.of(context)
        self._chats.ask(context)
        return spans

    def _end_turn(self, context: SpanContext | None) -> list[Span]:
        """Return the turn, if one is open: it ends with this event, or did with the one before.

        One in which nothing happened is none, such as that of the command that stops the recording.
        """
        turn, self._turn = self._turn, None
        if turn is None or not (turn.error or turn.id == self._session.turn):
            return []
        end = turn.last if context is None else max(turn.last, context.moment.at)
        waits = AGENTS[self._session.key[0]].answers.has_usage
        chats = [] if waits else self._chat_spans(self._chats.rest(""))
        return [*chats, turn.span(self._session, self._product, end)]

    def _turn_end(self, context: SpanContext) -> list[Span]:
        reason = context.text("reason")
        if context.is_own and self._turn is not None:
            error = _FAILED.get(reason, self._turn.error or "_OTHER")
            self._turn = self._turn._replace(error=error)
        return []

    def _failed(self, context: SpanContext) -> list[Span]:
        """Note an error, unless the request is made again: what follows is another answer."""
        retry = dict_of(context.payload.get("retry"))
        attempt, most = retry.get("attempt"), retry.get("max")
        is_last = isinstance(attempt, int) and isinstance(most, int) and attempt >= most
        self._chats.close(context.actor)
        if context.is_own and self._turn is not None and (not retry or is_last):
            self._turn = self._turn._replace(error=error_class(context))
        return []

    def _ended(self, context: SpanContext) -> list[Span]:
        if not context.is_own:
            return []
        spans = [*self._end_turn(None), *self._chat_spans(self._chats.rest())]
        return [*spans, *self._tools.end_all(self._session.common, context.moment)]

    # -- what is said --------------------------------------------------------------------------------------

    def _prompt(self, context: SpanContext) -> list[Span]:
        self._chats.ask(context)
        if context.is_own and self._turn is not None and is_prompt(context.event):
            self._turn = self._turn.prompted(context)
        return []

    def _part(self, context: SpanContext) -> list[Span]:
        return self._chat_spans(self._chats.part(context, self._above(context)))

    def _call(self, context: SpanContext) -> list[Span]:
        above = self._above(context)
        return self._part(context) + self._tools.called(context, above, self._session.common)

    def _result(self, context: SpanContext) -> list[Span]:
        self._chats.close(context.actor)
        self._chats.ask(context)
        return self._tools.result(context, self._session.common)

    def _used(self, context: SpanContext) -> list[Span]:
        if context.text("scope") != "session":
            return self._chat_spans(self._chats.use(context, self._above(context)))
        rest = self._sums.rest(Spent.of(context.payload, context.answers), whole=self._session.whole)
        return [] if rest.is_nothing else [self._session.usage(rest, context)]

    def _above(self, context: SpanContext) -> str:
        """Return the span that those of an event are below."""
        agent = "" if context.is_own else self._tools.agent(context.actor)
        return agent or self._in_turn()

    def _in_turn(self) -> str:
        """Return the span of the turn, or of the last one, for what is below it."""
        if self._turn is not None:
            self._session.enter(self._turn.id)
        return self._session.turn or self._session.root

    def _chat_spans(self, chats: list[OpenChat]) -> list[Span]:
        """Return answers as spans, and count what they used."""
        provider, common = self._session.about[1], self._session.common
        for chat in chats:
            self._sums.use(chat.spent or Spent())
        return [chat.span(thread_attributes(common, chat.begun.actor), provider) for chat in chats]

    # -- sub-agents and settings -----------------------------------------------------------------------------

    def _agent_started(self, context: SpanContext) -> list[Span]:
        return self._tools.started(context, context.text("subagent"), self._above(context), self._session.common)

    def _agent_ended(self, context: SpanContext) -> list[Span]:
        subagent, common = context.event.payload["subagent"], self._session.common
        spans = self._chat_spans(self._chats.rest(subagent) if subagent else [])
        spans += self._tools.rest(common, context.moment, subagent) if subagent else []
        return spans + self._tools.ended(context, subagent, self._above(context), common)

    def _started(self, context: SpanContext) -> list[Span]:
        if context.is_own:
            self._session.use_provider(context.text("modelProvider"))
        return []

    def _changed(self, context: SpanContext) -> list[Span]:
        if context.is_own and context.text("what") == "modelProvider":
            self._session.use_provider(context.text("after"))
        return []

    _HANDLERS: ClassVar[dict[str, Callable[["OtlpPrinter", SpanContext], list[Span]]]] = {
        ev.SESSION_START: _started, ev.SESSION_END: _ended, ev.USER_MESSAGE: _prompt, ev.USER_COMMAND: _prompt,
        ev.ASSISTANT_MESSAGE: _part, ev.ASSISTANT_THINKING: _part, ev.DECISION_PROMPT: _part, ev.TOOL_CALL: _call,
        ev.TOOL_RESULT: _result, ev.TURN_END: _turn_end, ev.USAGE: _used, ev.ERROR: _failed,
        ev.AGENT_START: _agent_started, ev.AGENT_END: _agent_ended, ev.CONFIG_CHANGE: _changed,
    }  # fmt: skip
