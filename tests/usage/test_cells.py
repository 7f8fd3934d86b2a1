"""Answers are summed up by what their price depends on."""

from katod.usage.cells import STEPS, CellKey, CostState, UsageCell, cells_of, size_of
from katod.usage.counts import TokenCounts
from katod.usage.source import AnswerUsage, CostMark, SourceUsage


def source(*answers):
    usage = SourceUsage()
    usage.restore(answers, CostMark(), None, {})
    return usage


def test_answers_of_a_day_a_model_and_a_size_are_one_cell():
    """Whatever differs in one of these has a cell of its own."""
    small, large = TokenCounts(10, 1), TokenCounts(250_000, 1)
    answers = [
        AnswerUsage(1, 7, "m", small), AnswerUsage(2, 7, "m", small), AnswerUsage(3, 8, "m", small),
        AnswerUsage(4, 7, "n", small), AnswerUsage(5, 7, "m", large),
    ]  # fmt: skip
    found = cells_of(source(*answers))
    assert found[0] == UsageCell(CellKey(7, "m", 0, CostState.OPEN), 2, TokenCounts(20, 2), 0.0)
    assert [(cell.key.day, cell.key.model, cell.answers) for cell in found[1:]] == [
        (8, "m", 1),
        (7, "n", 1),
        (7, "m", 1),
    ]
    assert found[3].key.size == size_of(250_000)


def test_what_is_known_of_the_cost_is_told_apart():
    """Recorded with the answer, a share in the cost of the session, to be computed, or not even that."""
    tokens = TokenCounts(1, 1)
    answers = [
        AnswerUsage(1, 7, "m", tokens, 0.25), AnswerUsage(2, 7, "m", tokens, is_shared=True), AnswerUsage(3, 7, "m", tokens),
        AnswerUsage(4, 7, "m", tokens, is_complete=False), AnswerUsage(5, 7, "m", tokens, 0.5),
    ]  # fmt: skip
    found = {cell.key.state: (cell.answers, cell.cost) for cell in cells_of(source(*answers))}
    assert found == {
        CostState.RECORDED: (2, 0.75), CostState.SHARED: (1, 0.0), CostState.OPEN: (1, 0.0),
        CostState.INCOMPLETE: (1, 0.0),
    }  # fmt: skip


def test_copies_are_left_out():
    """They are named by their keys."""
    answers = [AnswerUsage(n, 7, "m", TokenCounts(n, 1), is_shared=n < 3) for n in (1, 2, 3)]
    found = cells_of(source(*answers), without={1})
    assert [(cell.key.state, cell.tokens.input) for cell in found] == [(CostState.SHARED, 2), (CostState.OPEN, 3)]


def test_a_prompt_exceeds_the_steps_below_it():
    """As many tokens as a step do not exceed it."""
    assert [size_of(prompt) for prompt in (0, STEPS[0], STEPS[0] + 1, 10**9)] == [0, 0, 1, len(STEPS)]
