"""Where the last exchanges of a session begin: a question of the person, with everything up to the next one. Pure."""

from collections import deque
from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.events import Event
from katod.model import MOST_EXCHANGES

_SLASH: Final = "slash-command"
_ANSWERS: Final = frozenset(
    {ev.ASSISTANT_MESSAGE, ev.ASSISTANT_THINKING, ev.TOOL_CALL, ev.TOOL_RESULT, ev.DECISION_PROMPT}
)
_HEARD: Final = _ANSWERS | {ev.USER_MESSAGE}


class KeptExchanges(NamedTuple):
    """One exchange, or several: the question that they begin with, and the one after them, which is not part of them.

    `until` is empty if none is after them; `is_whole` says whether the last one ends with words of the agent.
    """

    start: str
    until: str
    is_whole: bool


class Exchanges:
    """Takes the events of a session, without those of its sub-agents, and knows where its last exchanges begin.

    What is asked before the agent answers is one question. A slash command is one if the agent answers it.
    """

    __slots__ = ("_answered", "_is_asked", "_is_whole", "_open")

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._answered = deque[str](state.get("answered", ()), MOST_EXCHANGES)
        self._open: str = state.get("open", "")  # the question that has no answer yet
        self._is_asked: bool = state.get("asked", False)  # whether that is more than a slash command
        self._is_whole: bool = state.get("whole", False)  # whether the agent said something last

    def state(self) -> dict[str, Any]:
        """Return what is known as JSON, empty if nothing was asked."""
        if not (self._answered or self._open):
            return {}
        asked = {"open": self._open, "asked": self._is_asked} if self._open else {}
        return asked | {"answered": list(self._answered), "whole": self._is_whole}

    def observe(self, event: Event) -> None:
        """Take the next event."""
        kind = event.kind
        if kind not in _HEARD:
            return
        if kind in _ANSWERS:
            self._answer(is_said=kind == ev.ASSISTANT_MESSAGE)
        elif (subtype := event.payload.get("subtype")) is None or subtype == _SLASH:
            self._ask(event.id, is_question=subtype is None)

    def _answer(self, *, is_said: bool) -> None:
        self._is_whole = is_said
        if self._open:
            self._answered.append(self._open)
            self._open, self._is_asked = "", False

    def _ask(self, event: str, *, is_question: bool) -> None:
        if not self._open or (is_question and not self._is_asked):
            self._open = event
        self._is_asked = self._is_asked or is_question

    def last(self, count: int, command: str = "") -> KeptExchanges | None:
        """Return the last exchanges, or all if there are fewer; None if there is none.

        What was typed in the message of a `command`, given its id, is not part of any.
        """
        is_own = bool(command) and self._open.rpartition(".")[0] == command.rpartition(".")[0]
        is_running = self._is_asked and not is_own
        questions = self._questions(with_open=is_running)[-count:]
        if not questions:
            return None
        return KeptExchanges(questions[0], self._open if is_own else "", self._is_whole and not is_running)

    def beginning_with(self, question: str) -> KeptExchanges | None:
        """Return the exchange that begins with a question, None if no exchange that is known does."""
        questions = self._questions(with_open=self._is_asked)
        if question not in questions:
            return None
        if following := questions[questions.index(question) + 1 :]:
            return KeptExchanges(question, following[0], is_whole=True)
        return KeptExchanges(question, "", self._is_whole and not self._is_asked)

    def _questions(self, *, with_open: bool) -> list[str]:
        return [*self._answered, *([self._open] if with_open else [])]
