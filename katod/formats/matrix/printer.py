"""The events of `foundation.protocols.ai.claude`, as they are sent to a Matrix room: one per line.

A line has a transaction, a type, the content, and in `large` what does not fit into the event. Lines refer to earlier
ones by `$katod:` and their transaction; whoever sends them puts the server's id there.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.fields import dict_of
from katod.events import Event
from katod.formats.lines import Lines, RangeOptions
from katod.formats.matrix import calls as calls_
from katod.formats.matrix import files, notes
from katod.formats.matrix import session as session_
from katod.formats.matrix.agents import Agents
from katod.formats.matrix.calls import MatrixCalls
from katod.formats.matrix.lines import (
    Draft,
    ProtocolEvent,
    checked_prefix,
    line_of,
    printed,
    timestamp_of,
)
from katod.formats.matrix.names import PREFIX, STATES
from katod.formats.matrix.pending import PendingLines, UsageOrder, usage_of
from katod.formats.matrix.session import EventContext, Session, Turns, state_of
from katod.formats.matrix.shown import as_shown
from katod.formats.matrix.sums import Sums, counts_of
from katod.formats.rows import row_of
from katod.lifecycle import PERMISSION_COMPLETED, PERMISSION_REQUESTED
from katod.metadata import SessionMetadata
from katod.model import Mark, Options


class MatrixPrinter(Lines):
    """Writes what the protocol has a name for, in the order in which it was recorded.

    A line is held back only until the next event, if that may add to it: the usage of an answer, the summary of a
    compaction, the id of a sub-agent. An answer waits with its calls, unless their results come before its usage: then
    those of the same turn do not.
    """

    def __init__(self, options: Options, state: dict[str, Any] | None = None, prefix: str = PREFIX) -> None:
        """Start an output, or continue one. Raises ValueError for a prefix that is too long for a server."""
        state = state or {}
        prefix = checked_prefix(prefix)
        self._prefix = prefix
        self._range = RangeOptions(options, state.get("switches", []))
        self._session = Session.of(state.get("session", {}))
        self._turns = Turns(**state.get("turns", {}))
        self._sums = Sums(state.get("sums"))
        self._calls = MatrixCalls(state.get("calls"))
        self._agents = Agents(state.get("agents"))
        self._held = PendingLines.of(state.get("held"))
        self._usage = UsageOrder(*state.get("usage", ()))

    def state(self) -> dict[str, Any]:
        """Return the thread, the turn, the sums, what is open, and the line that is held back."""
        parts = {
            "session": state_of(self._session), "turns": state_of(self._turns), "sums": self._sums.state(),
            "calls": self._calls.state(), "agents": self._agents.state(), "held": self._held.state(),
            "usage": self._usage.state(), "switches": self._range.switches,
        }  # fmt: skip
        return {name: part for name, part in parts.items() if part}

    def mark(self, mark: Mark) -> str:
        """Return nothing, but count nothing any more: a part of the session may be missing.

        A range's switches apply from its first mark on.
        """
        if mark.kind in ("started", "resumed"):
            self._range = self._range._replace(switches=list(map(list, mark.switches)))
        self._session.miss()
        return ""

    def pause(self) -> str:
        """Return the lines that are held back."""
        lines, self._held = self._held.lines, PendingLines()
        return "".join(printed(line, self._prefix) for line in lines)

    def end(self) -> str:
        """Return that the session was exported, in the export of a whole session; an output may always go on."""
        if not self._range.options.exported or not self._session.root:
            return ""
        return printed(session_.exported(self._session), self._prefix)

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the lines of one event: none, one, or several."""
        row, _ = row_of(event, redact=self._range.options.redact)
        agent, kind = AGENTS[event.session.agent], row["kind"]
        context = EventContext(event, row["payload"], metadata, self._range.options, agent.product, agent.answers)
        self._session.note(event)
        added = self._held.addition(context, kind)
        drafts = [] if added and kind != ev.USAGE else as_shown(self._drafts(context, kind), context)
        drafts = [*drafts, *session_.doing(context, self._session)]
        if drafts and not self._session.root:
            drafts = [*session_.begun(context, self._session), *drafts]
        lines = [line_of(draft, event, self._session.root) for draft in drafts]
        if added:
            self._held = self._held.with_addition(added)
        elif self._is_held(context, kind, lines):
            return ""
        return self.pause() + self._written(lines, drafts)

    def _is_held(self, context: EventContext, kind: str, lines: list[ProtocolEvent]) -> bool:
        """Return whether the lines of an event wait with those before it, for what may still be added to these."""
        if self._held.waits == "summary":
            return not lines
        if not self._usage.late and self._held.goes_on(context, kind):
            longer = self._held.longer(lines)
            self._held = longer if longer.is_small else self._held
            return self._held is longer
        self._usage.goes_on_without(self._held)
        return False

    def _written(self, lines: list[ProtocolEvent], drafts: list[Draft]) -> str:
        """Return lines as text, but for the last one if it is held back, with the state of the room after it."""
        place = len(drafts) - 1 - (bool(drafts) and drafts[-1].name in STATES)
        waits = drafts[place].waits if place >= 0 else None
        if waits and (held := PendingLines(tuple(lines[place:]), *waits)).is_small:
            self._held = held
            del lines[place:]
        return "".join(printed(line, self._prefix) for line in lines)

    def _drafts(self, context: EventContext, kind: str) -> list[Draft]:
        handler = self._HANDLERS.get(kind)
        return handler(self, context) if handler else []

    # -- one method per kind of event -------------------------------------------------------------------

    def _started(self, context: EventContext) -> list[Draft]:
        return [] if self._session.root or not context.is_own else session_.begun(context, self._session)

    def _prompt(self, context: EventContext) -> list[Draft]:
        if context.is_own:
            self._usage.begin_turn()
        return [*self._checkpoint(context), *session_.prompted(context, self._session, self._turns)]

    def _thought(self, context: EventContext) -> list[Draft]:
        own, text, subject = context.is_own, context.text("text"), context.text("subject")
        content = context.ids(self._turns if own else None) | ({"thinking_text": text} if text else {})
        content |= {"katod_subject": subject} if subject else {}
        content |= {"katod_encrypted": True} if context.payload.get("encrypted") else {}
        draft = Draft("thinking", content, reply=self._turns.prompt if own else "", at=("thinking_text",))
        return [*notes.remodelled(context, self._session), draft]

    def _response(self, context: EventContext) -> list[Draft]:
        changed = notes.remodelled(context, self._session)
        draft = session_.responded(context, self._session, self._turns)
        if (usage := self._usage.take_early(context)) is not None:
            draft = draft._replace(content=draft.content | usage)
        else:
            draft = draft._replace(waits=usage_of(context))
        refused = notes.blocked(context, self._turns) if context.text("stopReason") == notes.REFUSAL else []
        return [*changed, draft, *refused]

    def _call(self, context: EventContext) -> list[Draft]:
        changed = notes.remodelled(context, self._session)
        return changed + calls_.called(context, self._calls, self._session, self._turns)

    def _result(self, context: EventContext) -> list[Draft]:
        call = self._calls.take(context.text("toolCallId"))
        if call and call["kind"] == "agent":
            return self._agents.result(context, call, self._calls.requests)
        return calls_.answered(context, call, self._calls.requests)

    def _system(self, context: EventContext) -> list[Draft]:
        return notes.blocked(context, self._turns) if notes.is_refusal(context) else []

    def _info(self, context: EventContext) -> list[Draft]:
        subtype = context.text("subtype")
        if subtype == PERMISSION_REQUESTED:
            return calls_.asked(context, self._calls)
        if subtype == PERMISSION_COMPLETED:
            return calls_.decided(context, self._calls.requests)
        if subtype in (calls_.SERVERS, calls_.TOOLS):
            return calls_.connected(context, self._session)
        if subtype == files.READ:
            return files.told_read(dict_of(context.payload.get("data")), context.metadata.cwd, context.ids())
        return []

    def _turn_ended(self, context: EventContext) -> list[Draft]:
        if not context.is_own:
            return []
        aborted = context.text("reason") == "aborted"
        drafts = session_.interrupted(context, self._turns) if aborted else []
        self._turns.end()
        return [*drafts, *self._checkpoint(context)]

    def _used(self, context: EventContext) -> list[Draft]:
        self._sums.add(context.payload, context.answers)
        if not context.is_own:
            self._agents.use(context.event.session.subagent, counts_of(context.payload, context.answers))
        self._usage.record(context, is_added=bool(self._held.addition(context, ev.USAGE)))
        return []

    def _checkpoint(self, context: EventContext) -> list[Draft]:
        sums = self._sums.checkpoint() if context.is_own else {}
        if not sums:
            return []
        partial = {} if self._session.whole else {"katod_partial": True}
        return [Draft("usage.checkpoint", context.ids() | sums | partial | timestamp_of(context.event), "usage")]

    def _compacted(self, context: EventContext) -> list[Draft]:
        return [notes.summarized(context, self._session, self._turns)]

    def _changed(self, context: EventContext) -> list[Draft]:
        return notes.changed(context, self._session)

    def _failed(self, context: EventContext) -> list[Draft]:
        return notes.failed(context)

    def _agent_started(self, context: EventContext) -> list[Draft]:
        return self._agents.started(context, self._calls)

    def _agent_ended(self, context: EventContext) -> list[Draft]:
        return self._agents.ended(context, self._calls)

    def _ended(self, context: EventContext) -> list[Draft]:
        return session_.ended(context, self._session, self._turns, self._sums) if context.is_own else []

    _HANDLERS: ClassVar[dict[str, Callable[["MatrixPrinter", EventContext], list[Draft]]]] = {
        ev.SESSION_START: _started, ev.SESSION_END: _ended, ev.USER_MESSAGE: _prompt, ev.ASSISTANT_MESSAGE: _response,
        ev.ASSISTANT_THINKING: _thought, ev.TOOL_CALL: _call, ev.TOOL_RESULT: _result, ev.SYSTEM_MESSAGE: _system,
        ev.PROVIDER_INFO: _info, ev.TURN_END: _turn_ended, ev.USAGE: _used,
        ev.COMPACTION: _compacted, ev.CONFIG_CHANGE: _changed, ev.ERROR: _failed, ev.AGENT_START: _agent_started,
        ev.AGENT_END: _agent_ended,
    }  # fmt: skip
