"""Where the last exchanges of a session begin: a question of the user, with everything up to the next one. Pure."""

from collections import deque
from typing import Any, Final, Literal, NamedTuple

from katod import events as ev
from katod.events import Event
from katod.model import LONGEST_NAME, MOST_EXCHANGES

# What a person gives the client itself: a question if the agent answers it.
_GIVEN: Final = frozenset({"slash-command", "shell"})
_WORK: Final = frozenset({ev.ASSISTANT_THINKING, ev.TOOL_CALL, ev.TOOL_RESULT, ev.DECISION_PROMPT})
_HEARD: Final = _WORK | {ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE, ev.TURN_END}


class KeptExchanges(NamedTuple):
    """One exchange, or several: the question that they begin with, and the first event after them.

    `until` is empty if there is none yet; `is_whole` says whether the last one has its answer.
    """

    start: str
    until: str
    is_whole: bool


class Exchanges:
    """Takes the events of a source, without those of sub-agents, and knows where its last exchanges begin.

    What is asked while the agent works is part of the same exchange. It ends when the agent has said something, or its
    turn ends. What is said between a command and the next question is part of none.
    """

    __slots__ = ("_after", "_doubted", "_given", "_questions", "_turn")

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._questions = deque[str](state.get("questions", ()), MOST_EXCHANGES)
        self._turn: Literal["", "asked", "works", "said"] = state.get("turn", "")  # how far the last exchange is
        self._given: str = state.get("given", "")  # what was given to the client since, as long as it has no answer
        self._after: str = state.get("after", "")  # the first event after the last exchange
        self._doubted: set[str] = set(state.get("doubted", ()))  # of these events, those that may be gone

    def state(self) -> dict[str, Any]:
        """Return what is known as JSON, empty if nothing was asked."""
        row = {
            "questions": list(self._questions), "turn": self._turn, "given": self._given, "after": self._after,
            "doubted": sorted(self._doubted),
        }  # fmt: skip
        return {name: value for name, value in row.items() if value} if self._questions or self._given else {}

    def doubt(self) -> None:
        """Note that the source is read again from its beginning: what does not come again is gone."""
        self._doubted = {*self._questions, self._after} - {""}

    def confirm(self, event: str) -> None:
        """Note that an event is still there."""
        self._doubted.discard(event)

    def observe(self, event: Event) -> None:
        """Take the next event."""
        kind = event.kind
        if kind == ev.USER_MESSAGE:
            self._hear(event)
        elif kind == ev.USER_COMMAND:
            self._end(event.id)
        elif kind == ev.TURN_END:
            self._turn = "said" if self._turn else ""
        elif kind == ev.ASSISTANT_MESSAGE or kind in _WORK:
            self._answer("said" if kind == ev.ASSISTANT_MESSAGE else "works")

    def _hear(self, event: Event) -> None:
        subtype = event.payload.get("subtype")
        if self._is_running or len(event.id) > LONGEST_NAME:
            return
        if subtype is None:
            self._ask(event.id, "asked")
        elif subtype in _GIVEN:
            self._given = self._given or event.id
            self._end(event.id)

    def _ask(self, question: str, turn: Literal["asked", "works", "said"]) -> None:
        self._questions.append(question)
        self._turn, self._given, self._after = turn, "", ""

    def _answer(self, turn: Literal["works", "said"]) -> None:
        if self._given:
            self._ask(self._given, turn)
        elif self._questions and not self._after:
            self._turn = turn

    def _end(self, event: str) -> None:
        if self._turn and not self._is_running and len(event) <= LONGEST_NAME and self._after in {"", *self._doubted}:
            self._after = event

    @property
    def _is_running(self) -> bool:
        """Whether the agent works on the last question; it does not if that is gone."""
        return self._turn in ("asked", "works") and self.newest not in self._doubted

    def last(self, count: int, command: str = "") -> KeptExchanges | None:
        """Return the last exchanges, or all if there are fewer; None if there is none.

        A question that is typed in the message of a `command`, given its id, is not part of any.
        """
        found, own = self._found(), ""
        if found and self._turn == "asked" and _is_same_message(found[-1], command):
            own = found.pop()
        if not found:
            return None
        start = found[-count:][0]
        return KeptExchanges(start, own, is_whole=True) if own else self._kept(start)

    def beginning_with(self, question: str) -> KeptExchanges | None:
        """Return the exchange that begins with a question, None if no exchange that is known does."""
        found = self._found()
        if question not in found:
            return None
        following = found[found.index(question) + 1 :]
        return KeptExchanges(question, following[0], is_whole=True) if following else self._kept(question)

    @property
    def newest(self) -> str:
        """The question that the last exchange begins with, empty if there is none."""
        return self._questions[-1] if self._questions else ""

    def _kept(self, start: str) -> KeptExchanges:
        until = "" if self._after in self._doubted else self._after
        return KeptExchanges(start, until, not self._is_running)

    def _found(self) -> list[str]:
        return [question for question in self._questions if question not in self._doubted]


def _is_same_message(event: str, command: str) -> bool:
    """Return whether an event is a part of the message with a command, whose parts are numbered."""
    return event.rpartition(".")[0] == command.rpartition(".")[0] != ""


class SessionExchanges:
    """The exchanges of a session in each of its sources: one that begins in a source ends there."""

    __slots__ = ("_last", "_of", "_subagent")

    def __init__(self, subagent: str, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._subagent = subagent
        self._last: str = state.get("last", "")  # the path of the source of the last event
        self._of = {path: Exchanges(kept) for path, kept in state.get("of", {}).items()}

    def state(self) -> dict[str, Any]:
        """Return what is known as JSON, empty if nothing was asked."""
        of = {path: kept for path, one in self._of.items() if (kept := one.state())}
        return {"last": self._last, "of": of} if of else {}

    def observe(self, event: Event, path: str) -> None:
        """Take the next event of a source."""
        if event.session.subagent != self._subagent:
            return
        self._last = path
        if event.kind in _HEARD:
            one = self._of.get(path)
            if one is None:
                one = self._of[path] = Exchanges()
            one.observe(event)

    def doubt(self, path: str) -> None:
        """Note that a source is read again from its beginning."""
        if (one := self._of.get(path)) is not None:
            one.doubt()

    def confirm(self, event: Event, path: str) -> None:
        """Note that an event of a source is still there."""
        if (one := self._of.get(path)) is not None:
            one.confirm(event.id)

    @property
    def newest_path(self) -> str:
        """The path of the source of the last event, empty if there is none."""
        return self._last

    def of(self, path: str = "") -> Exchanges:
        """Return the exchanges of a source, or of the one with the last event."""
        return self._of.get(path) or self._of.get(self._last) or Exchanges()
