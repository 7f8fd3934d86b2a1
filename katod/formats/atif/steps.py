"""ATIF: joins the events of one thread of a conversation to steps. Pure."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Final

from katod import events as ev
from katod.agents.answers import Answers, Parts
from katod.agents.fields import list_of, text_of
from katod.events import Event
from katod.formats.atif.answer import OpenStep, Reference, Row, Step, chosen, own_fields, result_of, step_head
from katod.formats.atif.metrics import Totals, metrics_of

MOST_HELD: Final = 4_000_000  # bytes of the events of answers that wait for results, and of what follows them
_MOST_KNOWN: Final = 4096
_ABOUT_CALLS: Final = frozenset({ev.TOOL_RESULT, ev.AGENT_START, ev.AGENT_END})
_OF_ERROR: Final = ("code", "httpStatus", "retry")
_OF_COMPACTION: Final = ("trigger", "tokensBefore", "tokensAfter")
_OF_MESSAGE: Final = ("subtype", "speaker", "attachments")
_OF_START: Final = (
    "cliVersion", "cwd", "branch", "commit", "repository", "modelProvider", "permissionMode", "sandbox", "origin",
    "parent",
)  # fmt: skip


@dataclass(slots=True)
class ThreadState:
    """What is known of a thread beside its steps."""

    start: Row = field(default_factory=dict)
    model: str = ""  # of the first answer
    effort: str = ""  # the latest
    totals: Totals = field(default_factory=Totals)
    left_out: Counter[str] = field(default_factory=Counter)
    subagents: set[str] = field(default_factory=set)  # that were referred to
    questions: set[str] = field(default_factory=set)  # that no call asked


class Trajectory:
    """The steps of one thread: of a session, or of a sub-agent.

    An answer is held until the next one begins, so that its step has the results of its own calls; what else is said
    meanwhile waits behind it. A result that comes later is a step of its own.
    """

    def __init__(self, answers: Answers, reference: Reference) -> None:
        self.known = ThreadState()
        self._answers, self._reference = answers, reference
        self._answer: OpenStep | None = None
        self._answered = ""  # the call of the answer whose result was the last event
        self._waiting: list[Step] = []
        self.held = 0  # bytes

    @property
    def is_held(self) -> bool:
        """Whether steps are held back."""
        return self._answer is not None

    def event(self, event: Event, size: int) -> list[Step]:
        """Return the steps that are complete with this event, which has so many bytes."""
        handler = self._HANDLERS.get(event.kind)
        if handler is None:
            self.known.left_out[event.kind] += 1
            return []
        steps = handler(self, event)
        if event.kind not in _ABOUT_CALLS:
            self._answered = ""
        self.held += size
        return steps

    def rest(self) -> list[Step]:
        """Return the steps that were held back."""
        steps = [self._answer.step(self._reference)] if self._answer is not None else []
        steps += self._waiting
        self._answer, self._answered, self._waiting, self.held = None, "", [], 0
        return steps

    # -- what the model says ------------------------------------------------------------------------

    def _message(self, event: Event) -> list[Step]:
        done, answer = self._joined(event)
        answer.say(text_of(event.payload.get("text")), chosen(event.payload, ("phase", "stopReason")))
        return done

    def _thinking(self, event: Event) -> list[Step]:
        done, answer = self._joined(event)
        answer.think(event.payload)
        return done

    def _call(self, event: Event) -> list[Step]:
        done, answer = self._joined(event)
        answer.call(event)
        return done

    def _question(self, event: Event) -> list[Step]:
        """Say a question that no call asks; the others are arguments of their calls."""
        if self._answer is not None and _call_of(event) in self._answer.calls:
            return []
        _add(self.known.questions, text_of(event.payload.get("decisionId")))
        done, answer = self._joined(event)
        answer.say(text_of(event.payload.get("prompt")))
        return done

    def _joined(self, event: Event) -> tuple[list[Step], OpenStep]:
        """Return the answer that an event is a part of, and the steps before it if the answer begins with it."""
        answer = self._answer
        if answer is not None and self._belongs(answer, event):
            answer.rename(_key(event))
            return [], answer
        done = self.rest()
        self._answer = OpenStep(key=_key(event), head=self._head(event))
        return done, self._answer

    def _belongs(self, answer: OpenStep, event: Event) -> bool:
        if self._answers.parts is Parts.NAMED:
            return answer.key == _key(event) or (answer.is_bare and self._answers.usage_is_apart and not answer.is_cut)
        if answer.metrics or answer.is_cut or any(step["source"] == "user" for step in self._waiting):
            return False
        return self._answers.parts is Parts.COUNTED or not answer.has_results

    def _head(self, event: Event) -> Row:
        known = self.known
        known.model = known.model or event.model
        row = {"model_name": event.model, "reasoning_effort": known.effort}
        return step_head(event, "agent") | {name: value for name, value in row.items() if value}

    def _usage(self, event: Event) -> list[Step]:
        """Count what an answer used; one that said nothing is a step without text."""
        scope, metrics = text_of(event.payload.get("scope")), metrics_of(event.payload, self._answers)
        self.known.totals.add(scope, metrics)
        if scope != "message" or not metrics:
            return []
        answer, done = self._answer, []
        if answer is None or answer.metrics or not self._is_used_by(answer, event):
            done = self.rest()
            answer = self._answer = OpenStep(key=_key(event), head=self._head(event))
        answer.use(metrics)
        return done

    def _is_used_by(self, answer: OpenStep, event: Event) -> bool:
        """Return whether usage is that of an answer: a request that failed may have usage, too, and no answer."""
        if self._answers.have_names:
            return answer.key == _key(event)
        name = text_of(event.source.get("messageId"))
        return not name or name == answer.key

    # -- what comes of it ---------------------------------------------------------------------------

    def _result(self, event: Event) -> list[Step]:
        call = text_of(event.payload.get("toolCallId"))
        if self._answer is not None and call in self._answer.calls:
            self._answer.calls[call].results.append(result_of(event.payload))
            self._answered = call
            return []
        row = result_of(event.payload)
        row.setdefault("extra", {"katod": {}})["katod"]["toolCallId"] = call
        return self._beside(_observed(event, row))

    def _response(self, event: Event) -> list[Step]:
        """Say the answer to a question that no call asked; the others are the results of their calls."""
        if text_of(event.payload.get("decisionId")) not in self.known.questions:
            return []
        said = [*list_of(event.payload.get("selections")), event.payload.get("freeText")]
        return self._beside(_said(event, "user", "\n".join(filter(None, map(text_of, said)))))

    def _subagent(self, event: Event) -> list[Step]:
        """Refer to a sub-agent in the result of the call that started it; what follows later becomes a step."""
        payload = event.payload
        subagent, result = text_of(payload.get("subagent")), text_of(payload.get("result"))
        about = chosen(payload, ("task", "status"))
        is_known = subagent in self.known.subagents
        _add(self.known.subagents, subagent)
        call = self._caller(event.kind, subagent)
        if self._answer is not None and call is not None:
            is_known, result = True, self._answer.calls[call].start(subagent, about, result)
        if result or not (is_known or event.kind == ev.AGENT_START):
            refers = {"subagent_trajectory_ref": [self._reference(subagent, about)]}
            return self._beside(_observed(event, ({"content": result} if result else {}) | refers))
        if call is None:
            self.known.left_out[event.kind] += 1
        return []

    def _caller(self, kind: str, subagent: str) -> str | None:
        """Return the call of the answer that began a sub-agent: noted before, of the same id, or answered just now."""
        answer = self._answer
        if answer is None:
            return None
        begun = [name for name, call in answer.calls.items() if subagent in call.subagents]
        if begun or subagent in answer.calls:
            return (begun or [subagent])[0]
        return self._answered or (answer.latest_open if kind == ev.AGENT_START else None)

    def _end_of_turn(self, event: Event) -> list[Step]:
        reason = text_of(event.payload.get("reason"))
        if reason in ("", "done") or self._answer is None:
            self.known.left_out[event.kind] += 1
        else:
            self._answer.own["turnEnd"] = reason
            return self.rest()
        return []

    # -- what others say ----------------------------------------------------------------------------

    def _user(self, event: Event) -> list[Step]:
        """Say a prompt: the user's, or the task of a sub-agent. Other words between agents are no prompt."""
        text = text_of(event.payload.get("text"))
        if ev.is_between(event) and event.payload["subtype"] != ev.Between.TASK:
            return self._system(event)
        return self._beside(_said(event, "user", text, chosen(event.payload, _OF_MESSAGE)))

    def _command(self, event: Event) -> list[Step]:
        return self._beside(_said(event, "user", text_of(event.payload.get("line")), {"kind": event.kind}))

    def _system(self, event: Event) -> list[Step]:
        text = text_of(event.payload.get("text"))
        return self._beside(_said(event, "system", text, chosen(event.payload, _OF_MESSAGE)))

    def _error(self, event: Event) -> list[Step]:
        row = {"kind": event.kind} | chosen(event.payload, _OF_ERROR)
        if self._answer is not None:
            self._answer.cut()
        return self._beside(_said(event, "system", text_of(event.payload.get("message")), row))

    def _compaction(self, event: Event) -> list[Step]:
        row = {"kind": event.kind} | chosen(event.payload, _OF_COMPACTION)
        return self._beside(_said(event, "system", text_of(event.payload.get("summary")), row))

    def _beside(self, step: Step) -> list[Step]:
        """Return a step that is not the model's; it waits as long as more of the answer before it may come."""
        answer = self._answer
        if answer is None:
            return [step]
        self._waiting.append(step)
        return self.rest() if step["source"] == "user" and answer.is_complete else []

    # -- what the client says of itself -------------------------------------------------------------

    def _started(self, event: Event) -> list[Step]:
        self.known.start = chosen(event.payload, _OF_START) | self.known.start
        self.known.effort = text_of(event.payload.get("effort")) or self.known.effort
        return []

    def _changed(self, event: Event) -> list[Step]:
        if event.payload.get("what") == "effort":
            self.known.effort = text_of(event.payload.get("after"))
        else:
            self.known.left_out[event.kind] += 1
        return []

    _HANDLERS: ClassVar[dict[str, Callable[["Trajectory", Event], list[Step]]]] = {
        ev.USER_MESSAGE: _user,
        ev.USER_COMMAND: _command,
        ev.DECISION_RESPONSE: _response,
        ev.ASSISTANT_MESSAGE: _message,
        ev.ASSISTANT_THINKING: _thinking,
        ev.TOOL_CALL: _call,
        ev.TOOL_RESULT: _result,
        ev.DECISION_PROMPT: _question,
        ev.SYSTEM_MESSAGE: _system,
        ev.SESSION_START: _started,
        ev.TURN_END: _end_of_turn,
        ev.USAGE: _usage,
        ev.COMPACTION: _compaction,
        ev.CONFIG_CHANGE: _changed,
        ev.ERROR: _error,
        ev.AGENT_START: _subagent,
        ev.AGENT_END: _subagent,
    }


def _key(event: Event) -> str:
    """Return what the parts of one answer have in common: the id of their message, or else their record."""
    name = text_of(event.source.get("messageId"))
    return name or (f"@{event.source['offset']}" if "offset" in event.source else "")


def _call_of(event: Event) -> str:
    """Return the call that asks a question: its id is the beginning of the question's."""
    return text_of(event.payload.get("decisionId")).rpartition(":")[0]


def _said(event: Event, source: str, text: str, own: Row | None = None) -> Step:
    return step_head(event, source) | {"message": text} | own_fields(own or {})


def _observed(event: Event, result: Row) -> Step:
    """Return a step for a result whose call is not in the step before."""
    return step_head(event, "system") | {"message": "", "observation": {"results": [result]}}


def _add(known: set[str], name: str) -> None:
    if len(known) < _MOST_KNOWN:
        known.add(name)
