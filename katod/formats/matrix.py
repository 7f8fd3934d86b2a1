"""The events of `foundation.protocols.ai.claude`, as they are sent to a Matrix room: one per line.

A line has a transaction, a type, the content, and in `large` what does not fit into the event. Lines refer to earlier
ones by `$katod:` and their transaction; whoever sends them puts the server's id there.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.answers import Parts
from katod.events import Event
from katod.formats import matrix_calls as calls_
from katod.formats import matrix_notes as notes
from katod.formats import matrix_session as session_
from katod.formats.matrix_agents import Agents, finished, record_of
from katod.formats.matrix_calls import Calls
from katod.formats.matrix_json import Content, canonical, cleaned
from katod.formats.matrix_lines import (
    Draft,
    Line,
    Wait,
    checked_prefix,
    line_of,
    printed,
    timestamp_of,
    transaction_of,
)
from katod.formats.matrix_names import PREFIX
from katod.formats.matrix_session import LONGEST_KEPT, Session, Told, Turns, state_of
from katod.formats.matrix_sums import Sums, counts_of
from katod.formats.rows import row_of
from katod.metadata import SessionMetadata
from katod.model import Mark, Options

_LARGEST_HELD: Final = 64 * 1024  # bytes of a content that waits
_SUMMARY: Final = "compact-summary"
_STOPS: Final = frozenset({"end_turn", "tool_use", "max_tokens", "stop_sequence"})


class _Held(NamedTuple):
    """A line that the next event may add to, and by what that is recognised."""

    line: Line | None = None
    waits: Wait | None = None
    key: str = ""

    @classmethod
    def of(cls, state: list[Any] | None) -> "_Held":
        """Return what was held back, given its state."""
        if not state:
            return _NOTHING
        line, waits, key = state
        txn, name, content, at = line
        return cls(Line(txn, name, content, tuple(at)), waits, key)

    def state(self) -> list[Any]:
        """Return this as JSON, empty for nothing."""
        return [[*self.line[:3], list(self.line.at)], self.waits, self.key] if self.line else []

    @property
    def is_small(self) -> bool:
        """Whether it may be held back: it is part of the state until then."""
        return self.line is not None and not self.line.pictures and len(canonical(self.line.content)) <= _LARGEST_HELD

    def addition(self, told: Told, kind: str) -> Content:
        """Return what an event adds to the line, empty if nothing."""
        if self.waits == "usage" and kind == ev.USAGE and _usage_key(told) == self.key:
            return counts_of(told.payload, AGENTS[told.event.session.agent].answers)
        if self.waits == "summary" and kind == ev.SYSTEM_MESSAGE and told.text("subtype") == _SUMMARY:
            return {"summary_text": told.text("text")}
        if self.waits == "agent" and kind == ev.AGENT_END and record_of(told) == self.key:
            return finished(told)
        return {}

    def with_addition(self, added: Content) -> "_Held":
        """Return the line with what was added."""
        assert self.line is not None
        return self._replace(line=self.line._replace(content=self.line.content | cleaned(added)))


_NOTHING: Final = _Held()


def _usage_of(told: Told) -> tuple[Wait, str] | None:
    """Return by what the usage of an answer is recognised, None if the agent records none."""
    has_usage = AGENTS[told.event.session.agent].answers.has_usage
    return ("usage", _usage_key(told)) if has_usage else None


def _usage_key(told: Told) -> str:
    """Return what an answer and its usage have in common."""
    session, source = told.event.session, told.event.source
    if told.event.kind == ev.USAGE and told.payload.get("scope") != "message":
        return "none"
    is_named = AGENTS[session.agent].answers.parts is Parts.NAMED
    return f"{session.subagent}:{source.get('messageId') or record_of(told) if is_named else ''}"


class Matrix:
    """Writes what the protocol has a name for, in the order in which it was recorded.

    A line is held back only until the next event, if that may add to it: the usage of an answer, the summary of a
    compaction, the id of a sub-agent.
    """

    def __init__(self, options: Options, state: dict[str, Any] | None = None, prefix: str = PREFIX) -> None:
        """Start an output, or continue one. Raises ValueError for a prefix that is too long for a server."""
        state = state or {}
        self._options = options
        self._prefix = checked_prefix(prefix)
        self._session = Session(**state.get("session", {}))
        self._turns = Turns(**state.get("turns", {}))
        self._sums = Sums(state.get("sums"))
        self._calls = Calls(state.get("calls"))
        self._agents = Agents(state.get("agents"))
        self._held = _Held.of(state.get("held"))

    def state(self) -> dict[str, Any]:
        """Return the thread, the turn, the sums, what is open, and the line that is held back."""
        parts = {
            "session": state_of(self._session), "turns": state_of(self._turns), "sums": self._sums.state(),
            "calls": self._calls.state(), "agents": self._agents.state(), "held": self._held.state(),
        }  # fmt: skip
        return {name: part for name, part in parts.items() if part}

    def head(self, _metadata: SessionMetadata, _time: str) -> str:
        """Return nothing: the first line is that of the first event."""
        return ""

    def mark(self, _: Mark) -> str:
        """Return nothing, but count nothing any more: a part of the session may be missing."""
        if self._session.root:
            self._session.whole = False
        return ""

    def pause(self) -> str:
        """Return the line that is held back."""
        line, self._held = self._held.line, _NOTHING
        return printed(line, self._prefix) if line else ""

    def end(self) -> str:
        """Return that the session was exported, in the export of a whole session; an output may always go on."""
        if not self._options.exported or not self._session.root:
            return ""
        return printed(session_.exported(self._session), self._prefix)

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return what is said of one event: no line, one, or several."""
        row, _ = row_of(event, redact=self._options.redact)
        told = Told(event, row["payload"], metadata, self._options.redact, self._options.attachments == "save")
        self._session.last = event.id
        kind = row["kind"]
        added = self._held.addition(told, kind)
        drafts = [] if added and kind != ev.USAGE else self._drafts(told, kind)
        if drafts and not self._session.root:
            drafts = [*session_.begun(told, self._session), *drafts]
        if added:
            self._held = self._held.with_addition(added)
        elif not drafts and self._held.waits == "summary":
            return ""
        text = self.pause()
        lines = [line_of(draft, event, self._session.root) for draft in drafts]
        if drafts and drafts[-1].waits and (held := _Held(lines[-1], *drafts[-1].waits)).is_small:
            self._held = held
            lines.pop()
        return text + "".join(printed(line, self._prefix) for line in lines)

    def _drafts(self, told: Told, kind: str) -> list[Draft]:
        handler = self._HANDLERS.get(kind)
        return handler(self, told) if handler else []

    # -- one method per kind of event -------------------------------------------------------------------

    def _started(self, told: Told) -> list[Draft]:
        return [] if self._session.root or not told.is_own else session_.begun(told, self._session)

    def _prompt(self, told: Told) -> list[Draft]:
        return [*self._checkpoint(told), *session_.prompted(told, self._session, self._turns)]

    def _thought(self, told: Told) -> list[Draft]:
        own, text, subject = told.is_own, told.text("text"), told.text("subject")
        content = told.ids(self._turns if own else None) | ({"thinking_text": text} if text else {})
        content |= {"katod_subject": subject} if subject else {}
        content |= {"katod_encrypted": True} if told.payload.get("encrypted") else {}
        draft = Draft("thinking", content, reply=self._turns.prompt if own else "", at=("thinking_text",))
        return [*notes.remodelled(told, self._session), draft]

    def _response(self, told: Told) -> list[Draft]:
        turns, text, stop = self._turns, told.text("text"), told.text("stopReason")
        content = told.ids(turns if told.is_own else None) | {"text": text}
        if self._session.whole and told.is_own and turns.number:
            content["turn"] = turns.number
        content |= {"stop_reason": stop} if stop in _STOPS else {"katod_stop_reason": stop} if stop else {}
        content |= {"katod_phase": told.text("phase")} if told.text("phase") else {}
        draft = Draft(
            "response", content, reply=turns.prompt if told.is_own else "", at=("text",), waits=_usage_of(told)
        )
        if told.is_own:
            turns.response, turns.message = transaction_of(told.event), told.event.source.get("messageId", "")
            turns.text = text if len(text) <= LONGEST_KEPT else ""
        refused = [notes.blocked(told, turns)] if stop == notes.REFUSAL else []
        return [*notes.remodelled(told, self._session), draft, *refused]

    def _call(self, told: Told) -> list[Draft]:
        changed = notes.remodelled(told, self._session)
        return changed + calls_.called(told, self._calls, self._session, self._turns)

    def _result(self, told: Told) -> list[Draft]:
        call = self._calls.take(told.text("toolCallId"))
        if call and call["kind"] == "agent":
            return self._agents.result(told, call, self._calls.requests)
        return calls_.answered(told, call, self._calls.requests)

    def _system(self, told: Told) -> list[Draft]:
        return [notes.blocked(told, self._turns)] if notes.is_refusal(told) else []

    def _info(self, told: Told) -> list[Draft]:
        subtype = told.text("subtype")
        if subtype == calls_.REQUESTED:
            return calls_.asked(told, self._calls)
        return calls_.decided(told, self._calls.requests) if subtype == calls_.COMPLETED else []

    def _turn_started(self, told: Told) -> list[Draft]:
        return session_.active(told, self._session, "running")

    def _turn_ended(self, told: Told) -> list[Draft]:
        if not told.is_own:
            return []
        aborted = told.text("reason") == "aborted"
        drafts = session_.interrupted(told, self._turns) if aborted else []
        self._turns.text = ""
        return [*drafts, *self._checkpoint(told), *session_.active(told, self._session, "idle")]

    def _used(self, told: Told) -> list[Draft]:
        self._sums.add(told.payload, AGENTS[told.event.session.agent].answers)
        return []

    def _checkpoint(self, told: Told) -> list[Draft]:
        sums = self._sums.checkpoint() if told.is_own else {}
        if not sums:
            return []
        partial = {} if self._session.whole else {"katod_partial": True}
        return [Draft("usage.checkpoint", told.ids() | sums | partial | timestamp_of(told.event), "usage")]

    def _compacted(self, told: Told) -> list[Draft]:
        return [notes.summarized(told, self._session, self._turns)]

    def _changed(self, told: Told) -> list[Draft]:
        return notes.changed(told, self._session)

    def _failed(self, told: Told) -> list[Draft]:
        return notes.failed(told)

    def _agent_started(self, told: Told) -> list[Draft]:
        return self._agents.started(told, self._calls)

    def _agent_ended(self, told: Told) -> list[Draft]:
        return self._agents.ended(told, self._calls)

    def _ended(self, told: Told) -> list[Draft]:
        return session_.ended(told, self._session, self._turns, self._sums) if told.is_own else []

    _HANDLERS: ClassVar[dict[str, Callable[["Matrix", Told], list[Draft]]]] = {
        ev.SESSION_START: _started, ev.SESSION_END: _ended, ev.USER_MESSAGE: _prompt, ev.ASSISTANT_MESSAGE: _response,
        ev.ASSISTANT_THINKING: _thought, ev.TOOL_CALL: _call, ev.TOOL_RESULT: _result, ev.SYSTEM_MESSAGE: _system,
        ev.PROVIDER_INFO: _info, ev.TURN_START: _turn_started, ev.TURN_END: _turn_ended, ev.USAGE: _used,
        ev.COMPACTION: _compacted, ev.CONFIG_CHANGE: _changed, ev.ERROR: _failed, ev.AGENT_START: _agent_started,
        ev.AGENT_END: _agent_ended,
    }  # fmt: skip
