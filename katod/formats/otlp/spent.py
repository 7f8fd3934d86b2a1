"""What an answer, or a session, used: tokens and cost, each counted in one span. Pure."""

from typing import Any, Final, NamedTuple

from katod.agents.answers import Answers
from katod.formats.otlp import names
from katod.formats.otlp.spans import Attributes
from katod.formats.usage import completion_tokens, cost, count, prompt_tokens

_PLACES: Final = 10  # decimals of a cost: more are traces of binary arithmetic


class Spent(NamedTuple):
    """Tokens and cost in US dollars, None for what is not recorded. The details are parts of the first two."""

    prompt: int | None = None
    completion: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cost: float | None = None

    @classmethod
    def of(cls, payload: dict[str, Any], answers: Answers) -> "Spent":
        """Return what a `usage` event says, counted alike for all agents."""
        return cls(
            prompt_tokens(payload, answers), completion_tokens(payload, answers), count(payload, "cacheRead"),
            count(payload, "cacheWrite"), count(payload, "reasoning"), cost(payload),
        )  # fmt: skip

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was used."""
        return not any(self)

    def plus(self, other: "Spent") -> "Spent":
        """Return the sum; what only one of both has is kept."""
        return Spent(*map(_sum, self, other))

    def beyond(self, other: "Spent") -> "Spent":
        """Return what is more than the other; what is not recorded stays so."""
        return Spent(*map(_beyond, self, other))

    def is_below(self, other: "Spent") -> bool:
        """Return whether any of it is less than of the other."""
        return any(own is not None and more is not None and own < more for own, more in zip(self, other, strict=True))

    def attributes(self) -> Attributes:
        """Return it as attributes of a span."""
        both = self.prompt is not None and self.completion is not None
        return {
            names.INPUT_TOKENS: self.prompt, names.OUTPUT_TOKENS: self.completion, names.CACHE_READ: self.cache_read,
            names.CACHE_WRITE: self.cache_write, names.REASONING: self.reasoning, names.OI_PROMPT: self.prompt,
            names.OI_COMPLETION: self.completion,
            names.OI_TOTAL: (self.prompt or 0) + (self.completion or 0) if both else None,
            names.OI_CACHE_READ: self.cache_read, names.OI_CACHE_WRITE: self.cache_write,
            names.OI_REASONING: self.reasoning, names.OI_COST: None if self.cost is None else float(self.cost),
        }  # fmt: skip


class SpentSums:
    """What the spans so far say that was used, and what the agent says of all of its session.

    An agent may sum up its session now and then. What its sum has and no span has yet is then said in one of its own.
    """

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._used = Spent(*state.get("used", ()))
        self._last = Spent(*state.get("last", ()))
        self._closed = Spent(*state.get("closed", ()))  # from before the agent began to count from 0 again

    def state(self) -> dict[str, Any]:
        """Return the sums as JSON."""
        row = {"used": self._used, "last": self._last, "closed": self._closed}
        return {name: list(spent) for name, spent in row.items() if not spent.is_nothing}

    def use(self, spent: Spent) -> None:
        """Count what a span says."""
        self._used = self._used.plus(spent)

    def rest(self, summed: Spent, *, whole: bool) -> Spent:
        """Return what a sum has that no span has said.

        Nothing, unless the `whole` session was seen until now: it is not known what of the rest belongs to it.
        """
        if summed.is_below(self._last):
            self._closed = self._closed.plus(self._last)
        self._last = summed
        total = self._closed.plus(summed)
        rest = total.beyond(self._used)
        self._used = self._used.plus(rest)
        return rest if whole else Spent()


def _sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return _rounded(one + other)


def _beyond(own: Any, other: Any) -> Any:
    return None if own is None else max(0, _rounded(own - (other or 0)))


def _rounded(number: Any) -> Any:
    return round(number, _PLACES) if isinstance(number, float) else number
