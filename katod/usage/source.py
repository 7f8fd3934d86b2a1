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
    is_shared: bool = False  # whether the recorded cost of the session includes it


class CostMark(NamedTuple):
    """What a session cost up to some place, as its agent says: US dollars by model."""

    costs: dict[str, float] = {}  # noqa: RUF012 - never changed
    tokens: int = 0  # how many these costs are for
    day: int = 0  # on which it was recorded


class SourceUsage:
    """The answers of one source in their order, the latest mark of their cost, and their sum if the agent has one."""

    def __init__(self) -> None:
        self.answers: dict[int, AnswerUsage] = {}
        self.mark = CostMark()
        self.sum: TokenCounts | None = None
        self.adapter: dict[str, Any] = {}  # the state to read on with: see `Adapter.usage_state`
        self._open: list[int] = []  # the keys of answers that the mark does not include

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
        if known is None:
            self._open.append(key)
        self.answers[key] = AnswerUsage(
            key, day, model or self._last_model(), tokens, spent, is_complete(payload),
            known is not None and known.is_shared,
        )  # fmt: skip

    def restore(
        self, answers: Iterable[AnswerUsage], mark: CostMark, total: TokenCounts | None, adapter: dict[str, Any]
    ) -> None:
        """Take up what was taken before."""
        self.answers = {answer.key: answer for answer in answers}
        self.mark, self.sum, self.adapter = mark, total, adapter
        self._open = [answer.key for answer in self.answers.values() if not answer.is_shared]

    @property
    def marked_day(self) -> int:
        """The last day of the answers that the mark includes; if there are none, the day of the mark itself."""
        return max((answer.day for answer in self.answers.values() if answer.is_shared), default=self.mark.day)

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
        used = counted(payload, answers, MOST_IN_SESSION)
        if count(payload, "input") is not None:
            self.sum = used
        whole = cost(payload)
        if whole is not None:
            self._share(used.total - self.mark.tokens if used.total else MOST_IN_SESSION)
            self.mark = CostMark(payload.get("costs") or {ALL_MODELS: whole}, used.total, day)

    def _share(self, tokens: int) -> None:
        """Note that the cost includes so many tokens more: those of the latest answers that it did not include.

        What a client used that was killed is in no sum. Such answers are older than those of the client that goes on.
        A sum also has tokens of no answer in this source, such as those for titles: less than half of an answer is not
        one that was left out. Where they are many, as of summaries and sub-agents, older answers count as included.
        """
        while self._open and 2 * tokens >= (used := self.answers[self._open[-1]].tokens.total):
            key = self._open.pop()
            self.answers[key] = self.answers[key]._replace(is_shared=True)
            tokens -= used


def _size(tokens: TokenCounts) -> tuple[int, int]:
    return tokens.output, tokens.prompt
