"""Tokens are counted alike, whatever an agent counts as input and as output."""

from katod.agents.answers import Answers
from katod.usage.counts import TokenCounts, counted, is_complete


def test_no_token_is_in_two_counts():
    """What an agent counts as input may include the cache, and its output may lack the reasoning."""
    payload = {"input": 100, "output": 20, "cacheRead": 60, "cacheWrite": 10, "cacheWrite1h": 4, "reasoning": 5}
    apart = TokenCounts(100, 20, 60, 10, 4, 5)
    assert counted(payload, Answers()) == apart
    assert counted(payload, Answers(input_has_cached=True)) == apart._replace(input=30)
    assert counted(payload, Answers(output_has_reasoning=False)) == apart._replace(output=25)
    assert (apart.prompt, apart.total) == (170, 190)


def test_counts_that_cannot_be_are_none():
    """More from the cache than there was, negative numbers and other values count nothing."""
    strange = {"input": 5, "output": -1, "cacheRead": 9, "cacheWrite": True, "cacheWrite1h": 7}
    assert counted(strange, Answers(input_has_cached=True)) == TokenCounts(cache_read=9)
    assert counted({}, Answers()) == TokenCounts()


def test_sums_and_differences():
    """No difference is below 0."""
    assert TokenCounts(1, 2, 3, 4, 5, 6).plus(TokenCounts(10, 20, 30, 40, 50, 60)) == TokenCounts(
        11, 22, 33, 44, 55, 66
    )
    assert TokenCounts(5, 5).less(TokenCounts(2, 9, 1)) == TokenCounts(3)


def test_an_answer_without_one_side_is_incomplete():
    """Without its input, its price cannot be computed."""
    assert is_complete({"input": 0, "output": 3})
    assert not is_complete({"output": 3})
    assert not is_complete({"input": 3})


def test_a_count_has_a_limit():
    """No sum over all answers exceeds 64 bits, whatever a hostile file says; that of a session may be larger."""
    huge = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning"), 2**53)
    for answers in (Answers(), Answers(output_has_reasoning=False)):
        assert counted(huge, answers) == TokenCounts(*[10**9] * 6)
        assert counted(huge, answers, 10**12) == TokenCounts(*[10**12] * 6)
    assert counted({"input": 10**400, "output": 2}, Answers()) == TokenCounts(output=2)
