"""What one session file says of tokens and costs, collected from its `usage` events. Pure.

Each answer is known by a key, which is the same in a copy of it. An agent may write an answer again, with figures that
are not final yet, so the largest ones of a key count, in whatever order they are read.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from katod.agents.answers import Answers
from katod.formats.usage import cost, count
from katod.usage.counts import MOST_IN_SESSION, TokenCounts, counted, is_complete

ALL_MODELS: Final = ""  # of a cost that is not recorded by model


class AnswerUsage(NamedTuple):
    """One answer: its key, its day (as `date.toordinal` counts), its model, and what it used."""

    key: int
    day: int
    model: str
    tokens: TokenCounts
    cost: float | None = None  # as recorded, in US dollars
    is_complete: bool = True


class CostMark(NamedTuple):
    """What the answers of a session before this place cost together, as its agent says: US dollars by model."""

    answers: int = 0  # how many of this source are before it
    costs: dict[str, float] = {}  # noqa: RUF012 - never changed
    closed: dict[str, float] = {}  # noqa: RUF012 - the part of them from before the agent began to count again
    day: int = 0  # on which it was recorded


class SourceUsage:
    """The answers of one source in their order, the latest mark of their cost, and their sum if the agent has one."""

    def __init__(self) -> None:
        self.answers: dict[int, AnswerUsage] = {}
        self.mark = CostMark()
        self.sum: TokenCounts | None = None

    def take(self, key: int, day: int, model: str, payload: dict[str, Any], answers: Answers) -> None:
        """Take a `usage` event, given the key and the day of it."""
        if payload.get("scope") == "session":
            self._take_sum(day, payload, answers)
            return
        tokens, known = counted(payload, answers), self.answers.get(key)
        if known is not None and _size(known.tokens) >= _size(tokens):
            return
        spent = cost(payload)
        if not tokens.total and not spent:
            return  # an answer that failed
        self.answers[key] = AnswerUsage(key, day, model or self._last_model(), tokens, spent, is_complete(payload))

    def restore(self, answers: Iterable[AnswerUsage], mark: CostMark, total: TokenCounts | None) -> None:
        """Take up what was taken before."""
        self.answers = {answer.key: answer for answer in answers}
        self.mark, self.sum = mark, total

    @property
    def marked_day(self) -> int:
        """The last day of the answers before the mark; if there are none, the day of the mark itself."""
        before = list(self.answers.values())[: self.mark.answers]
        return max((answer.day for answer in before), default=self.mark.day)

    def counted_once(self) -> list[AnswerUsage]:
        """Return the answers.

        If some have no input, and the agent recorded the sum of all, what is left of that stands in their place.
        """
        answers = list(self.answers.values())
        incomplete = [answer for answer in answers if not answer.is_complete]
        if self.sum is None or not incomplete:
            return answers
        rest, last = self.sum, incomplete[-1]
        complete = [answer for answer in answers if answer.is_complete]
        for answer in complete:
            rest = rest.less(answer.tokens)
        return [*complete, last._replace(model=last.model or self._last_model(), tokens=rest, is_complete=True)]

    def _last_model(self) -> str:
        return next((answer.model for answer in reversed(self.answers.values()) if answer.model), "")

    def _take_sum(self, day: int, payload: dict[str, Any], answers: Answers) -> None:
        if count(payload, "input") is not None:
            self.sum = counted(payload, answers, MOST_IN_SESSION)
        whole = cost(payload)
        if whole is None:
            return
        costs = payload.get("costs") or {ALL_MODELS: whole}
        before, closed = self._since_closed(), self.mark.closed
        if any(costs.get(name, 0.0) < spent for name, spent in before.items()):
            closed = self.mark.costs  # the agent counts from 0 again
        sums = {name: costs.get(name, 0.0) + closed.get(name, 0.0) for name in {**closed, **costs}}
        self.mark = CostMark(len(self.answers), sums, closed, day)

    def _since_closed(self) -> dict[str, float]:
        return {name: spent - self.mark.closed.get(name, 0.0) for name, spent in self.mark.costs.items()}


def _size(tokens: TokenCounts) -> tuple[int, int]:
    return tokens.output, tokens.prompt
