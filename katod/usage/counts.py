"""The tokens of one answer or of many, counted alike for all agents. Pure."""

from operator import add
from typing import Any, Final, NamedTuple

from katod.agents.answers import Answers
from katod.formats.usage import MOST_TOKENS

MOST_IN_ANSWER: Final = 10**9  # tokens of one kind: no answer has nearly as many, and sums stay below 64 bits
MOST_IN_SESSION: Final = 10**12
_NAMES: Final = ("input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning")


class TokenCounts(NamedTuple):
    """How many tokens were used; no token is in two of the first four counts."""

    input: int = 0  # neither read from the cache nor written to it
    output: int = 0  # with the reasoning
    cache_read: int = 0
    cache_write: int = 0
    cache_hour: int = 0  # those of `cache_write` that are kept for an hour
    reasoning: int = 0  # those of `output` that were reasoning

    @property
    def prompt(self) -> int:
        """The tokens that an answer was made of: they decide its tier."""
        return self.input + self.cache_read + self.cache_write

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt + self.output

    def plus(self, other: "TokenCounts") -> "TokenCounts":
        """Return the sum of both."""
        return TokenCounts(*map(add, self, other))

    def less(self, other: "TokenCounts") -> "TokenCounts":
        """Return what is left without the other; no count is below 0."""
        return TokenCounts(*(max(0, own - theirs) for own, theirs in zip(self, other, strict=True)))


def counted(payload: dict[str, Any], answers: Answers, most: int = MOST_IN_ANSWER) -> TokenCounts:
    """Return the tokens of a `usage` event, at most so many of each kind, whatever its agent counts as which."""
    counts = [_count(payload[name], most) if name in payload else 0 for name in _NAMES]
    given, made, read, written, hour, reasoning = counts
    if answers.input_has_cached:
        given = max(0, given - read - written)
    if not answers.output_has_reasoning:
        made = min(made + reasoning, most)
    return TokenCounts(given, made, read, written, min(written, hour), reasoning)


def is_complete(payload: dict[str, Any]) -> bool:
    """Return whether a `usage` event has both sides of an answer: with one of them, no price can be computed."""
    return type(payload.get("input")) is int and type(payload.get("output")) is int


def _count(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= MOST_TOKENS:
        return 0
    return min(most, value)
