"""Follows a session to the calls that edit files, and to what each was made for. Pure."""

from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.events import Event
from katod.model import LONGEST_NAME

_MOST_OPEN: Final = 256  # calls
# What a message is that asks the agent for something; the others are words of a client, or summaries.
_ASKING: Final = frozenset({None, "slash-command", ev.Between.TASK, ev.Between.DELEGATED})


class EditingCall(NamedTuple):
    """A call that edits files, where its session works, and the ids of the prompt and the words before it.

    `time` is that of the call, or if it has none, the latest one before it.
    """

    event: Event
    prompt: str
    answer: str
    cwd: str
    time: str


class EndedCall(NamedTuple):
    """The id of the event of a call that edits files, and whether the call did what it was asked to."""

    event: str
    went_well: bool


class EditTracker:
    """Takes the events of a session in order, and knows what was asked for last, and which edits have no result yet."""

    __slots__ = ("_answer", "_open", "_prompt")

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        """Start before the first event, or go on from `state()`."""
        state = state or {}
        self._prompt: str = state.get("prompt", "")
        self._answer: str = state.get("answer", "")
        self._open: dict[str, str] = dict(
            state.get("open", {})
        )  # the events of calls, by the ids that their results name

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON, without empty fields."""
        row = {"prompt": self._prompt, "answer": self._answer, "open": dict(self._open)}
        return {name: value for name, value in row.items() if value}

    def take(self, event: Event, cwd: str, time: str = "") -> EditingCall | EndedCall | None:
        """Take the next event, and the latest time known with it; return what it says of an edit, if anything."""
        kind = event.kind
        if kind == ev.TOOL_CALL:
            return self._begin(event, cwd, event.time or time) if event.payload["family"] == "edit" else None
        if kind == ev.TOOL_RESULT:
            return self._end(event)
        if is_prompt(event):
            self._prompt, self._answer = _kept(event.id), ""
        elif kind == ev.ASSISTANT_MESSAGE:
            self._answer = _kept(event.id)
        return None

    def leave(self) -> None:
        """Pass over events that are not to be known: what was asked for before them explains nothing behind them."""
        self._prompt = self._answer = ""

    def _begin(self, event: Event, cwd: str, time: str) -> EditingCall | None:
        call = event.payload["toolCallId"]
        if max(len(call), len(event.id)) > LONGEST_NAME:
            return None
        self._open[call] = event.id
        if len(self._open) > _MOST_OPEN:
            del self._open[next(iter(self._open))]
        return EditingCall(event, self._prompt, self._answer, cwd, time)

    def _end(self, event: Event) -> EndedCall | None:
        call = self._open.pop(event.payload["toolCallId"], None)
        return EndedCall(call, ev.went_well(event.payload)) if call else None


def _kept(event: str) -> str:
    return event if len(event) <= LONGEST_NAME else ""


def is_prompt(event: Event) -> bool:
    """Return whether an event asks the agent for something: a person's words, an accepted plan, an agent's task."""
    if event.kind == ev.USER_MESSAGE:
        return event.payload.get("subtype") in _ASKING and bool(event.payload["text"].strip())
    return ev.is_plan(event)


def is_explaining(event: Event) -> bool:
    """Return whether an event may be what an edit is explained by."""
    return event.kind == ev.ASSISTANT_MESSAGE or is_prompt(event)
