"""The events of a conversation as messages of CodingBridge: for a file, or for a server that sends them. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event
from katod.formats.redact.redactor import redact
from katod.formats.rows import row_of
from katod.formats.stream import bridge
from katod.formats.stream.activity import IDLE, activity
from katod.formats.stream.bridge import Fields
from katod.formats.transcript.between import speaker_of
from katod.formats.transcript.results import compacted
from katod.formats.usage import completion_tokens, cost, count, prompt_tokens
from katod.lifecycle import PERMISSION_COMPLETED, PERMISSION_REQUESTED, Lifecycle, Line
from katod.metadata import SessionMetadata
from katod.model import SessionKey

# The messages of a conversation, which are sent in an envelope; all others are sent as they are.
_STREAMED: Final = frozenset({
    "assistant", "user", "system", "thinking", "tool_use", "tool_result", "usage", "state", "subagent_start",
    "subagent_complete",
})  # fmt: skip
_MODES: Final = frozenset({"default", "acceptEdits", "bypassPermissions"})
_ANSWERS: Final = frozenset({ev.ASSISTANT_MESSAGE, ev.ASSISTANT_THINKING, ev.TOOL_CALL})
_SHOWN: Final = frozenset({PERMISSION_REQUESTED, PERMISSION_COMPLETED})
_STARTED: Final = "subagent_start"
_MOST_AGENTS: Final = 256
_COMPLETED: Final = "completed"  # how a sub-agent ends, unless it says otherwise
_PLACES: Final = 10  # decimals of a cost: more are traces of binary arithmetic
Made = list[Fields]


class Messages:
    """Makes messages of one session's events, in their order. What its sub-agents say is not part of it."""

    def __init__(self, *, redact: bool, state: Fields | None = None) -> None:
        state = state or {}
        self._redact = redact
        # What was kept of it, until the first event says whose it is.
        self._lifecycle: Lifecycle | Fields = state.get("lifecycle", {})
        self._doing: list[str] = state.get("doing", [])  # as it was said last
        self._time: str = state.get("time", "")
        self._model: str = state.get("model", "")
        self._used: Fields = state.get("used", {})  # the sums of all usage so far
        self._begun: bool = state.get("begun", False)
        self._agents: list[str] = state.get("agents", [])  # the sub-agents that work, as far as it was said

    def state(self) -> Fields:
        """Return the state to resume from, as JSON."""
        kept = self._lifecycle.kept() if isinstance(self._lifecycle, Lifecycle) else self._lifecycle
        row = {
            "lifecycle": kept, "doing": self._doing, "time": self._time, "model": self._model, "used": self._used,
            "begun": self._begun, "agents": self._agents,
        }  # fmt: skip
        return {name: value for name, value in row.items() if value}

    def take(self, event: Event, metadata: SessionMetadata) -> Made:
        """Return the messages of the next event, ready to be sent; `metadata` is that at this event.

        An event without a time has that of the one before.
        """
        self._time = bridge.moment(event.time) or self._time or bridge.moment(metadata.time)
        if event.session.subagent != metadata.key.subagent:
            return [self._sent(event, message) for message in self._now(event, metadata)]
        row, _ = row_of(event, redact=self._redact)
        payload, handler = row["payload"], self._HANDLERS.get(row["kind"])
        made = self._answering(event) + (handler(self, payload, event, metadata) if handler else [])
        made += self._now(event, metadata)
        self._begun = self._begun or bool(made)
        return [self._sent(event, message) for message in made]

    def _sent(self, event: Event, message: Fields) -> Fields:
        """Return a message as it is sent. The id is the event's, but one beside the event's own message has another."""
        if message["type"] not in _STREAMED:
            return message
        is_beside = message["type"] == "state" or (message["type"] == _STARTED and event.kind != ev.AGENT_START)
        part = message["type"] if is_beside else ""
        return bridge.stream(bridge.event_uuid(event.id, part), self._time, message)

    def _now(self, event: Event, metadata: SessionMetadata) -> Made:
        """Return the state after an event, if it has changed."""
        if not isinstance(self._lifecycle, Lifecycle):
            self._lifecycle = AGENTS[metadata.key.agent].lifecycle(metadata.key.subagent, self._lifecycle)
        return self._changed(self._lifecycle.take(event))

    def settled(self, last: str) -> list[Fields]:
        """Return the messages after the last event, given its id, if nothing more will come."""
        lines = self._lifecycle.settled() if isinstance(self._lifecycle, Lifecycle) else []
        return [bridge.stream(bridge.event_uuid(last, "end"), self._time, message) for message in self._changed(lines)]

    def _changed(self, lines: list[Line]) -> Made:
        """Return the state after these steps, if it has changed."""
        before = self._doing
        if lines and isinstance(self._lifecycle, Lifecycle):
            self._doing = [self._say(word) for word in activity(self._lifecycle)]
        is_new = self._doing != before and (before or self._doing != [IDLE])
        return [{"type": "state"} | dict(zip(("state", "tool"), self._doing, strict=False))] if is_new else []

    def _answering(self, event: Event) -> Made:
        """Return that another model answers than before."""
        return self._model_is(event.model, self._model) if event.model and event.kind in _ANSWERS else []

    def _model_is(self, model: str, before: str) -> Made:
        self._model, known = model, before or self._model
        return [{"type": "model_changed", "model": model, "previousModel": known}] if known not in ("", model) else []

    # -- one maker for each kind -----------------------------------------------------------------------

    def _user(self, payload: Fields, event: Event, _metadata: SessionMetadata) -> Made:
        content = _with_notes(payload)
        if ev.is_between(event):
            return _system(f"{speaker_of(event, self._say)}: {content}")
        if not ev.is_printed(event):
            return _system(content, hidden=True)
        return [{"type": "user", "content": content}] if content else []

    def _answer(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        said = ", ".join(filter(None, [*payload.get("selections", ()), payload.get("freeText", "")]))
        return [{"type": "user", "content": said}] if said else []

    def _assistant(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        content = _with_notes(payload)
        return [{"type": "assistant", "content": content}] if content else []

    def _thinking(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        content = "\n\n".join(filter(None, [payload.get("subject", ""), payload["text"]]))
        return [{"type": "thinking", "content": content}] if content else []

    def _call(self, payload: Fields, event: Event, _metadata: SessionMetadata) -> Made:
        message = {
            "type": "tool_use", "id": payload["toolCallId"] or bridge.event_uuid(event.id),
            "name": payload["name"] or "tool", "input": _as_object(payload.get("input")),
        }  # fmt: skip
        about = payload.get("description")
        return [message | ({"inputDescription": about} if about else {})]

    def _result(self, payload: Fields, event: Event, metadata: SessionMetadata) -> Made:
        call, failed = payload["toolCallId"], bool(payload.get("isError"))
        declined = payload.get("denied") or payload.get("status") == "interrupted"
        name = self._say(metadata.called(event.payload["toolCallId"])) or "tool"
        message = {
            "type": "tool_result", "id": call or bridge.event_uuid(event.id), "tool": name,
            "output": _with_notes(payload), "success": not (failed or declined),
        }  # fmt: skip
        return [message | ({"isError": True} if failed else {})]

    def _prompt(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        """Return a question as a text: as a `question`, viewers would be asked to answer it."""
        options = [(row.get("label", ""), row.get("description", "")) for row in payload.get("options", ())]
        lines = ["- " + ": ".join(filter(None, option)) for option in options]
        return _system("\n".join([payload["prompt"], *([""] if lines else []), *lines]))

    def _client(self, payload: Fields, event: Event, _metadata: SessionMetadata) -> Made:
        if ev.is_between(event):
            return _system(f"{speaker_of(event, self._say)}: {payload['text']}")
        return _system(payload["text"], hidden=not ev.is_printed(event))

    def _info(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        return _system(payload["text"], hidden=payload.get("subtype") not in _SHOWN)

    def _error(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        return _system(f"Error: {payload['message']}", hidden="retry" in payload)

    def _compaction(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        return _system("\n\n".join(filter(None, [compacted(payload), payload.get("summary", "")])))

    def _begin(self, payload: Fields, event: Event, metadata: SessionMetadata) -> Made:
        """Return that the session was created, if it begins here and not in the middle."""
        self._model = self._model or event.model
        made = self._mode(payload.get("permissionMode", ""))
        if self._begun or not payload.get("cwd"):
            return made
        key = SessionKey(*event.session[: len(SessionKey._fields)])  # a file may be called otherwise
        about = bridge.about_session(key, metadata, 0, self._say)
        return [bridge.session_event("created", key, about), *made]

    def _change(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        what, before, after = payload["what"], payload.get("before", ""), payload["after"]
        if what == "model":
            return self._model_is(after, before)
        if what == "permissionMode":
            return self._mode(after)
        return _system(f"{what}: {before} → {after}" if before else f"{what}: {after}", hidden=True)

    def _mode(self, mode: str) -> Made:
        if not mode:
            return []
        known = mode if mode in _MODES else "default"
        said = [] if mode in _MODES else _system(f"Permission mode: {mode}")
        return [{"type": "permission_mode_changed", "mode": known}, *said]

    def _turn_end(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        if payload["reason"] == "aborted":
            return [{"type": "interrupted"}]
        return [{"type": "stopped", "reason": "error"}] if payload["reason"] == "error" else []

    def _end(self, _payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        return [{"type": "stopped", "reason": "complete"}]

    def _agent_start(self, payload: Fields, _event: Event, _metadata: SessionMetadata) -> Made:
        agent = payload["subagent"]
        self._agents = [*(one for one in self._agents if one != agent), agent][-_MOST_AGENTS:]
        return [{"type": _STARTED, "id": agent, "description": payload.get("task") or f"sub-agent {agent}"}]

    def _agent_end(self, payload: Fields, event: Event, metadata: SessionMetadata) -> Made:
        """Return the end of a sub-agent, after its start: that may not be noted, or be before all that is said."""
        started = [] if payload["subagent"] in self._agents else self._agent_start(payload, event, metadata)
        self._agents = [one for one in self._agents if one != payload["subagent"]]
        status = payload.get("status", "")
        summary = payload.get("result") or (status if status != _COMPLETED else "")
        message = {"type": "subagent_complete", "id": payload["subagent"]}
        return [*started, message | ({"summary": summary} if summary else {})]

    def _usage(self, payload: Fields, event: Event, _metadata: SessionMetadata) -> Made:
        """Return the tokens of an answer; of a sum over the session, what was not sent before."""
        used = _tokens(payload, event.session.agent)
        if "inputTokens" not in used or "outputTokens" not in used:
            return []
        if payload.get("scope") == "session":
            used = {name: max(0, round(value - self._used.get(name, 0), _PLACES)) for name, value in used.items()}
            if not any(used.values()):
                return []
        sums = {name: self._used.get(name, 0) + used.get(name, 0) for name in (*self._used, *used)}
        self._used = {name: round(value, _PLACES) for name, value in sums.items()}
        return [{"type": "usage"} | used | _context(payload, event.session.agent)]

    def _say(self, text: str) -> str:
        return redact(text) if self._redact else text

    _HANDLERS: ClassVar[Mapping[str, Callable[["Messages", Fields, Event, SessionMetadata], Made]]] = {
        ev.USER_MESSAGE: _user,
        ev.DECISION_RESPONSE: _answer,
        ev.ASSISTANT_MESSAGE: _assistant,
        ev.ASSISTANT_THINKING: _thinking,
        ev.TOOL_CALL: _call,
        ev.TOOL_RESULT: _result,
        ev.DECISION_PROMPT: _prompt,
        ev.SYSTEM_MESSAGE: _client,
        ev.PROVIDER_INFO: _info,
        ev.ERROR: _error,
        ev.COMPACTION: _compaction,
        ev.SESSION_START: _begin,
        ev.SESSION_END: _end,
        ev.TURN_END: _turn_end,
        ev.CONFIG_CHANGE: _change,
        ev.AGENT_START: _agent_start,
        ev.AGENT_END: _agent_end,
        ev.USAGE: _usage,
    }


def _system(content: str, *, hidden: bool = False) -> Made:
    """Return a line of the system; viewers do not show those of the subtype `progress`."""
    message = {"type": "system", "content": content} | ({"subtype": "progress"} if hidden else {})
    return [message] if content else []


def _with_notes(payload: Fields) -> str:
    """Return a text with a note for each attachment, which a message cannot have."""
    rows = payload.get("attachments", ())
    notes = [": ".join(filter(None, (row["type"], row.get("name") or row.get("mediaType")))) for row in rows]
    return "\n".join([*filter(None, [payload["text"]]), *(f"[{note}]" for note in notes)])


def _as_object(given: Any) -> Fields:
    """Return the input of a call as an object: text that is none is its `input`, other values are that as JSON."""
    if isinstance(given, dict):
        return given
    if given is None:
        return {}
    return {"input": given if isinstance(given, str) else orjson.dumps(given).decode()}


def _tokens(payload: Fields, agent: str) -> Fields:
    """Return the counts of a usage: the input is what did not come from the cache, the output has the reasoning."""
    answers = AGENTS[agent].answers
    given, cached = count(payload, "input"), count(payload, "cacheRead")
    row = {
        "inputTokens": max(0, given - (cached or 0)) if given is not None and answers.input_has_cached else given,
        "outputTokens": completion_tokens(payload, answers), "cacheReadTokens": cached,
        "cacheCreateTokens": count(payload, "cacheWrite"), "totalCost": cost(payload),
    }  # fmt: skip
    return {name: value for name, value in row.items() if value is not None}


def _context(payload: Fields, agent: str) -> Fields:
    """Return how full the context was when an answer was asked for; a sum over several answers does not say that."""
    used = prompt_tokens(payload, AGENTS[agent].answers) if payload.get("scope") == "message" else None
    row = {"contextUsed": used, "contextLimit": count(payload, "contextLimit")}
    return {name: value for name, value in row.items() if value is not None}
