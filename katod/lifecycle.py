"""What a session is doing, step by step, and the state that follows: idle, working, blocked, done or error. Pure.

A step is said as a line in the vocabulary of Pi's JSON stream, which Glasspane reads. Starts and ends nest: an agent
runs turns, a turn has messages and tool calls, and each call that started ends once. A state follows from the lines
alone, so that whoever reads them comes to the same one. What katod shows of a session (`states`) depends on more.

The lines say what happened, never what was said.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, ClassVar, Final, Literal, NamedTuple

from katod import events as ev
from katod.events import Event, seconds
from katod.states import JudgedEvents, Need, State

Line = dict[str, Any]
# The subtypes of `provider.info` that say more of a session than the other kinds of events.
PERMISSION_REQUESTED: Final = "permission-requested"
PERMISSION_COMPLETED: Final = "permission-completed"
COMPACTING: Final = "compaction-started"  # the client sums up the conversation, until its `context.compaction`
PLAN: Final = "plan"  # the key of a decision about what was planned
STEP: Final = "lifecycle"  # the agent says the step itself: `data` has its type, and what it is about
# Text in the user's name that the model does not answer, or not for certain: commands of the client, and context.
NO_PROMPTS: Final = frozenset({"shell", "slash-command", "context"})
_MOST: Final = 256  # open calls, or open questions
_LONGEST: Final = 200  # characters of an id
_WELL: Final = ("stop", "tool_use")  # how turns and steps end that nothing cut off
_MORE_TO_COME: Final = frozenset({"tool_use", "toolUse", "tool_calls", "tool-calls", "pause_turn"})


AFTER: Final = {
    "session": State.IDLE,
    "agent_start": State.WORKING, "turn_start": State.WORKING, "message_start": State.WORKING,
    "message_update": State.WORKING, "tool_execution_start": State.WORKING, "tool_execution_update": State.WORKING,
    "tool_execution_end": State.WORKING,
    "queue_update": State.BLOCKED,
    "turn_end": State.DONE, "agent_end": State.DONE,
    "error": State.ERROR,
}  # fmt: skip


def after(state: State, line: str) -> State:
    """Return the state after a line of this type; a type without a state, or an unknown one, changes nothing."""
    return AFTER.get(line, state)


class _Mode(StrEnum):
    """Who says where turns begin and end."""

    DERIVED = ""  # nobody
    TASKS = "tasks"  # the agent, for everything that it does about a prompt
    STEPS = "steps"  # the agent, for each answer of the model
    LINES = "lines"  # the agent says all lines itself
    STOPPED = (
        "stopped"  # nobody, and a call that is recorded before the next prompt is of the turn that was interrupted
    )
    COMPACTION = "compaction"  # the client, which sums up the conversation and does nothing else


class _Whose(NamedTuple):
    """Whose events are followed, and whether the agent records what an answer used only after all of it."""

    subagent: str
    usage_ends: bool


class _Turn(NamedTuple):
    """The open turn: one answer of the model, with the calls in it. `spoke`: its last part was all it had to say."""

    message: str = ""
    called: bool = False
    spoke: bool = False
    prompt: Any = None  # the record of the prompt before it


class _Asked(NamedTuple):
    """What a person is asked: the call that it is about and its tool, and what is asked of them.

    Without a call, it is about all of the turn, and asked once that has ended.
    """

    call: str
    tool: str
    what: Literal["permission", "question"]


class Lifecycle:
    """Follows one session (`subagent`: one sub-agent of it) through its events."""

    __slots__ = ("_mode", "_prompt", "_ran", "_tools", "_turn", "_waiting", "_whose", "state")

    def __init__(self, subagent: str = "", kept: Mapping[str, Any] | None = None, *, usage_ends: bool = True) -> None:
        """Start before the first event, or go on from `kept()`.

        `usage_ends`: the agent records what an answer used after all of it (`Answers.usage_is_last`).
        """
        kept = kept or {}
        self._whose = _Whose(subagent, usage_ends)
        self.state = State(kept.get("state", State.IDLE))
        self._mode = _Mode(kept.get("mode", ""))
        self._ran: bool | None = kept.get("ran")  # whether the agent had a turn since it started; None: it ended
        self._turn = _Turn(*kept["turn"]) if kept.get("turn") else None
        self._tools: dict[str, str] = dict(kept.get("tools", {}))  # the open calls: their tools, by their ids
        self._prompt: list[Any] = kept.get("prompt", [])  # the record of the last prompt, and its time
        self._waiting = {
            key: _Asked(*one) for key, one in kept.get("waiting", {}).items()
        }  # by the ids of the questions

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON, without empty fields."""
        turn = list(self._turn) if self._turn else None
        row: dict[str, Any] = {"state": self.state.value, "mode": self._mode.value, "ran": self._ran, "turn": turn}
        row |= {"tools": dict(self._tools), "waiting": {key: list(one) for key, one in self._waiting.items()}}
        row |= {"prompt": self._prompt}
        return {name: value for name, value in row.items() if value or value is False}

    @property
    def tool(self) -> str:
        """The tool of the call that was made last of those that are open, empty if none is."""
        return next(reversed(self._tools.values()), "")

    def tool_of(self, call: str) -> str:
        """Return the tool of an open call, empty if it is not known."""
        return self._tools.get(call[:_LONGEST], "")

    @property
    def need(self) -> Need:
        """What is waited for, if anything is."""
        asked = self._asked
        return Need(asked.what, asked.tool) if asked and self.state is State.BLOCKED else Need()

    @property
    def seen(self) -> JudgedEvents:
        """What is known now."""
        turn, is_derived = self._turn, self._mode is _Mode.DERIVED
        may_be_over = is_derived and turn is not None and turn.spoke and not turn.called and not self._tools
        prompted = seconds(self._prompt[-1]) if self._prompt else 0.0
        return JudgedEvents(self.state, self.need, tuple(self._tools.values()), may_be_over, prompted)

    @property
    def _asked(self) -> "_Asked | None":
        """What the user was asked last, and has not answered."""
        return next(reversed(self._waiting.values()), None)

    def take(self, event: Event) -> list[Line]:
        """Return the lines of one event, and move on to the state after them."""
        out = []
        for line in self._lines(event):
            self.state = after(self.state, line["type"])
            if event.time:
                line["timestamp"] = event.time
            out.append(line)
        return out

    def settled(self) -> list[Line]:
        """Return the lines after the last event, if nothing more will come: an answer that may be the last one is."""
        lines = list(self._end("stop")) if self.seen.may_be_over else []
        for line in lines:
            self.state = after(self.state, line["type"])
        return lines

    def _lines(self, event: Event) -> Iterator[Line]:
        is_own = event.session.subagent == self._whose.subagent
        if self._mode is not _Mode.LINES and (is_own or event.kind == ev.PROVIDER_INFO):
            handler = self.HANDLERS.get(event.kind)
            if handler is not None:
                yield from handler(self, event)
        elif is_own and event.kind == ev.PROVIDER_INFO:
            yield from self._info(event)
        if self._waiting and self.state is not State.BLOCKED:
            yield from self._asks()

    def _asks(self) -> Iterator[Line]:
        """Say what the user is asked; about all of a turn, once that has ended."""
        asked = self._asked
        if asked and (asked.call or self._ran is None):
            about = {"toolCallId": asked.call} | Need(asked.what, asked.tool).row()
            yield {"type": "queue_update"} | {name: said for name, said in about.items() if said}

    # -- turns --------------------------------------------------------------------------------------

    def _typed(self, event: Event) -> Iterator[Line]:
        """Say what a person wrote; it ends what was open before, unless it was written while the agent works.

        A command to katod is sent to the model as well; it is the same message as the words around it.
        """
        record = [event.source.get("offset"), event.source.get("providerEventId"), event.time]
        if event.payload.get("subtype") in NO_PROMPTS or (event.time and record == self._prompt):
            return
        self._prompt = record
        self._waiting.clear()
        self._mode = _Mode.DERIVED if self._mode in (_Mode.COMPACTION, _Mode.STOPPED) else self._mode
        is_over = self._ran is True and not self._tools and self._mode in (_Mode.DERIVED, _Mode.STEPS)
        if is_over and (self._turn is None or self._mode is _Mode.DERIVED):
            yield from self._end("stop")
        yield from self._begin()
        yield {"type": "message_update", "message": {"role": "user"}}

    def _begin(self) -> Iterator[Line]:
        if self._ran is None:
            self._ran = False
            yield {"type": "agent_start"}

    def _step(self, event: Event) -> Iterator[Line]:
        """Open the turn to which a part of an answer belongs, if it is not open yet."""
        message = str(event.source.get("messageId") or "")[:_LONGEST]
        if self._turn is not None:
            if not self._is_next(self._turn, message):
                return
            yield from self._end_step()
        yield from self._begin()
        self._ran, self._turn = True, _Turn(message, prompt=self._prompt)
        yield {"type": "turn_start"}

    def _is_next(self, turn: _Turn, message: str) -> bool:
        """Return whether a part of an answer belongs to the turn after the open one.

        A model that answers a prompt has the results of its calls: if they are not recorded, the client was killed.
        """
        is_other = not message or message != turn.message
        if self._mode is _Mode.DERIVED and turn.prompt != self._prompt:
            return is_other
        if self._tools or self._mode is _Mode.STEPS:
            return False
        if turn.called:
            return is_other
        return self._mode is _Mode.DERIVED and bool(message and turn.message) and message != turn.message

    def _end_turn(self, stop: str) -> Iterator[Line]:
        for call in list(self._tools):  # no result of these will be recorded
            yield self._ended(call) | {"isError": True}
        self._waiting = {key: asked for key, asked in self._waiting.items() if not asked.call and stop in _WELL}
        if self._turn is not None:
            self._turn = None
            yield {"type": "turn_end", "stop": stop}

    def _end_step(self) -> Iterator[Line]:
        """End the open turn, as another one follows."""
        yield from self._end_turn("tool_use" if self._turn is not None and self._turn.called else "stop")

    def _end(self, stop: str) -> Iterator[Line]:
        yield from self._end_turn(stop)
        if self._ran is not None:
            self._ran = None
            yield {"type": "agent_end", "stop": stop}

    def _turn_start(self, event: Event) -> Iterator[Line]:
        if "number" in event.payload:
            yield from self._end_step()
            yield from self._begin()
            self._mode, self._ran, self._turn = _Mode.STEPS, True, _Turn(prompt=self._prompt)
            yield {"type": "turn_start"}
            return
        self._waiting.clear()
        if self._ran:  # what was begun before was not ended
            yield from self._end("stop")
        self._mode = _Mode.TASKS
        yield from self._begin()

    def _turn_end(self, event: Event) -> Iterator[Line]:
        """End the turn, and all that the agent did about the prompt.

        After a step with calls, more is to come: the agent is at work in between, so that turn ends with the next one.
        Where the client sends itself prompts, only the agent knows whether that is so.
        """
        reason = event.payload.get("reason", "done")
        turn, is_step = self._turn, self._mode is _Mode.STEPS and reason == "done"
        goes_on = is_step and turn is not None and event.payload.get("goesOn", turn.called)
        self._mode = _Mode.STOPPED if reason == "aborted" else _Mode.DERIVED
        if not goes_on:
            yield from self._end({"done": "stop"}.get(reason, str(reason)))

    def _session_end(self, _event: Event) -> Iterator[Line]:
        self._mode = _Mode.DERIVED
        yield from self._end("stop")

    def _usage(self, event: Event) -> Iterator[Line]:
        """End a turn whose answer is complete: what was used is recorded after it, and it called nothing."""
        turn, is_answer = self._turn, self._whose.usage_ends and event.payload.get("scope") == "message"
        is_open = self._mode is _Mode.DERIVED and turn is not None and not self._tools
        if is_answer and is_open and turn and turn.spoke and not turn.called:
            yield from self._end_turn("stop")

    def _error(self, event: Event) -> Iterator[Line]:
        """Say what failed, unless it is tried again. It ends the turn, unless calls are still running."""
        retry = event.payload.get("retry")
        if isinstance(retry, dict) and not _is_exhausted(retry):
            return
        if not self._tools:
            self._mode = _Mode.DERIVED
            yield from self._end("error")
        about = {name: event.payload[name] for name in ("message", "code") if event.payload.get(name)}
        yield {"type": "error"} | about

    # -- messages and calls ---------------------------------------------------------------------------

    def _message(self, event: Event) -> Iterator[Line]:
        self._mode = _Mode.DERIVED if self._mode is _Mode.STOPPED else self._mode
        yield from self._step(event)
        message = {"role": "assistant"} | ({"model": event.model} if event.model else {})
        yield {"type": "message_start", "message": message}
        yield {"type": "message_end", "message": message}
        stop = event.payload.get("stopReason")
        spoke = event.kind == ev.ASSISTANT_MESSAGE and stop not in _MORE_TO_COME
        if self._turn is not None:
            self._turn = self._turn._replace(spoke=spoke)
        if spoke and stop and self._mode is _Mode.DERIVED and not self._tools:
            yield from self._end(str(stop))

    def _call(self, event: Event) -> Iterator[Line]:
        yield from self._step(event)
        call = event.payload["toolCallId"][:_LONGEST]
        if self._turn is not None:
            self._turn = self._turn._replace(called=True)
        if call in self._tools:
            return
        if len(self._tools) >= _MOST:
            yield self._ended(next(iter(self._tools))) | {"isError": True}
        self._tools[call] = event.payload["name"][:_LONGEST]
        yield {"type": "tool_execution_start", "toolCallId": call, "toolName": self._tools[call]}

    def _result(self, event: Event) -> Iterator[Line]:
        call = event.payload["toolCallId"][:_LONGEST]
        if call in self._tools:
            self._waiting = {key: asked for key, asked in self._waiting.items() if asked.call != call}
            yield self._ended(call) | {"isError": bool(event.payload.get("isError"))}
        if self._mode is _Mode.STOPPED and not self._tools:
            yield from self._end("aborted")

    def _ended(self, call: str) -> Line:
        return {"type": "tool_execution_end", "toolCallId": call, "toolName": self._tools.pop(call)}

    # -- what a person is asked ------------------------------------------------------------------------

    def _question(self, event: Event) -> Iterator[Line]:
        """Wait for the answer to a question of an open call, or about a plan; nobody waits for that to any other."""
        decision = event.payload["decisionId"]
        call = next((call for call in reversed(self._tools) if decision.startswith(f"{call}:")), None)
        if call is not None:
            self._wait(decision, _Asked(call, self._tools[call], "question"))
        elif event.payload.get("decisionKey") == PLAN and self._mode is _Mode.TASKS:
            self._wait(decision, _Asked("", "", "question"))
        return iter(())

    def _answer(self, event: Event) -> Iterator[Line]:
        yield from self._answered(event.payload["decisionId"])

    def _info(self, event: Event) -> Iterator[Line]:
        subtype, data = event.payload.get("subtype"), event.payload.get("data")
        if not isinstance(data, dict):
            return
        if subtype == STEP and data.get("type") in (*AFTER, "message_end"):
            self._mode = _Mode.LINES
            yield {name: value for name, value in data.items() if isinstance(value, str | bool)}
        elif subtype == COMPACTING and self._ran is None:
            self._mode = _Mode.COMPACTION
            yield from self._begin()
        elif subtype == PERMISSION_REQUESTED:
            call = str(data.get("toolCallId", ""))[:_LONGEST]
            tool = self._tools.get(call) or str(data.get("kind", ""))[:_LONGEST]
            self._wait(str(data.get("requestId", "")), _Asked(call, tool, "permission"))
        elif subtype == PERMISSION_COMPLETED:
            yield from self._answered(str(data.get("requestId", "")))

    def _wait(self, key: str, asked: "_Asked") -> None:
        if len(self._waiting) < _MOST:
            self._waiting[key[:_LONGEST]] = asked

    def _answered(self, key: str) -> Iterator[Line]:
        """Go on with the call that waited; that of a sub-agent is a part of one of the session's own."""
        asked = self._waiting.pop(key[:_LONGEST], None)
        if asked is not None and self._tools:
            call = asked.call if asked.call in self._tools else next(iter(self._tools))
            yield {"type": "tool_execution_update", "toolCallId": call}

    # -- beside the conversation --------------------------------------------------------------------------

    def _compaction(self, event: Event) -> Iterator[Line]:
        trigger = event.payload.get("trigger")
        yield {"type": "auto_compaction_start"} | ({"reason": trigger} if isinstance(trigger, str) else {})
        yield {"type": "auto_compaction_end"}
        if self._mode is _Mode.COMPACTION:
            self._mode = _Mode.DERIVED
            yield from self._end("stop")

    def _change(self, event: Event) -> Iterator[Line]:
        if event.payload["what"] == "model":
            yield {"type": "model_changed", "model": event.payload["after"]}

    HANDLERS: ClassVar = {
        ev.USER_MESSAGE: _typed,
        ev.USER_COMMAND: _typed,
        ev.ASSISTANT_MESSAGE: _message,
        ev.ASSISTANT_THINKING: _message,
        ev.TOOL_CALL: _call,
        ev.TOOL_RESULT: _result,
        ev.DECISION_PROMPT: _question,
        ev.DECISION_RESPONSE: _answer,
        ev.PROVIDER_INFO: _info,
        ev.TURN_START: _turn_start,
        ev.TURN_END: _turn_end,
        ev.SESSION_END: _session_end,
        ev.USAGE: _usage,
        ev.ERROR: _error,
        ev.COMPACTION: _compaction,
        ev.CONFIG_CHANGE: _change,
    }


def _is_exhausted(retry: Mapping[str, Any]) -> bool:
    """Return whether this was the last attempt, as far as that is recorded."""
    attempt, most = retry.get("attempt"), retry.get("max")
    return isinstance(attempt, int | float) and isinstance(most, int | float) and attempt >= most
