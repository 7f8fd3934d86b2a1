"""What a usage counts, whatever its agent counts where."""

from katod.agents.answers import ANSWERS, Answers
from katod.formats.usage import completion_tokens, cost, count, prompt_tokens
from tests.looping import each

USED = {"input": 10, "output": 7, "cacheRead": 100, "cacheWrite": 5, "reasoning": 3}


def test_the_prompt_has_what_came_from_the_cache_and_the_answer_its_reasoning():
    """Both are added only if the agent counts them apart."""
    apart = Answers(input_has_cached=False, output_has_reasoning=False)
    together = Answers(input_has_cached=True, output_has_reasoning=True)
    assert (prompt_tokens(USED, apart), completion_tokens(USED, apart)) == (115, 10)
    assert (prompt_tokens(USED, together), completion_tokens(USED, together)) == (10, 7)
    assert prompt_tokens({}, ANSWERS) is completion_tokens({}, ANSWERS) is None


@each("given", [None, -1, True, 1.5, "7", 2**60])
def test_what_is_no_count_is_absent(given):
    """A negative, a fraction, a text, or more than all readers of JSON can tell apart."""
    assert count({"input": given}, "input") is None
    assert count({"input": 0}, "input") == 0


@each("given", [None, -0.1, True, "1", float("nan"), float("inf")])
def test_what_is_no_cost_is_absent(given):
    """A cost is a number of dollars."""
    assert cost({"costUsd": given}) is None
    assert cost({"costUsd": 0.25}) == 0.25
