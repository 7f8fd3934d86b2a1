"""The tokens of a `usage` event, in one form for all agents. Pure."""

from typing import Any, Final

from katod.agents.answers import Answers
from katod.agents.fields import cost_or_none, int_or_none

MOST_TOKENS: Final = 2**53  # more is no count, and not every reader of JSON could tell it from another


def prompt_tokens(payload: dict[str, Any], answers: Answers) -> int | None:
    """Return the tokens that an answer was made of, with those read from and written to the cache."""
    given = count(payload, "input")
    if given is None or answers.input_has_cached:
        return given
    return given + (count(payload, "cacheRead") or 0) + (count(payload, "cacheWrite") or 0)


def completion_tokens(payload: dict[str, Any], answers: Answers) -> int | None:
    """Return the tokens of an answer, with those of its reasoning."""
    given = count(payload, "output")
    if given is None or answers.output_has_reasoning:
        return given
    return given + (count(payload, "reasoning") or 0)


def count(payload: dict[str, Any], name: str) -> int | None:
    """Return a count, None if it is absent or none."""
    number = int_or_none(payload.get(name))
    return number if number is not None and 0 <= number <= MOST_TOKENS else None


def cost(payload: dict[str, Any]) -> float | None:
    """Return the cost of an answer in US dollars, None if it is not recorded."""
    return cost_or_none(payload.get("costUsd"))
