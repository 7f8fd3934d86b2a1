"""Answers of one source, summed up by what their price depends on: day, model, size of the prompt. Pure."""

from bisect import bisect_left
from collections.abc import Container
from enum import IntEnum
from typing import Final, NamedTuple

from katod.usage.counts import TokenCounts
from katod.usage.source import AnswerUsage, SourceUsage

# A model may cost more for prompts of more tokens than one of these.
STEPS: Final = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288, 1_000_000)


class CostState(IntEnum):
    """What is known of a cost from the records."""

    OPEN = 0  # nothing
    RECORDED = 1  # the cost of each answer
    SHARED = 2  # a share in the cost of the session
    INCOMPLETE = 3  # nothing, nor all tokens


class CellKey(NamedTuple):
    """What the answers of a cell have in common; of the size, the prompts have more tokens than that step."""

    day: int
    model: str
    size: int  # the number of steps below
    state: CostState


class UsageCell(NamedTuple):
    """The sum over such answers."""

    key: CellKey
    answers: int
    tokens: TokenCounts
    cost: float


def cells_of(source: SourceUsage, without: Container[int] = ()) -> list[UsageCell]:
    """Return the sums over the answers of a source, but for those with these keys."""
    sums: dict[CellKey, UsageCell] = {}
    for answer in source.counted_once():
        if answer.key not in without:
            key = CellKey(answer.day, answer.model, size_of(answer.tokens.prompt), _state(answer))
            known = sums.get(key) or UsageCell(key, 0, TokenCounts(), 0.0)
            sums[key] = UsageCell(
                key, known.answers + 1, known.tokens.plus(answer.tokens), known.cost + (answer.cost or 0)
            )
    return list(sums.values())


def size_of(prompt: int) -> int:
    """Return how many steps a prompt exceeds."""
    return bisect_left(STEPS, prompt)


def _state(answer: AnswerUsage) -> CostState:
    if answer.cost is not None:
        return CostState.RECORDED
    if answer.is_shared:
        return CostState.SHARED
    return CostState.OPEN if answer.is_complete else CostState.INCOMPLETE
