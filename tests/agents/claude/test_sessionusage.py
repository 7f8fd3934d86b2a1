"""What a session used is the sum over the processes that worked on it."""

import pytest

from katod.agents.claude.sessionusage import SessionUsage


def state(start, given, cost=None, made=0, **more):
    """Return a record of the client: when it began to count, and what was used since."""
    model = {"inputTokens": given, "outputTokens": made} | ({} if cost is None else {"costUSD": cost})
    row = {"type": "cost-state", "startTime": start, "totalCostUSD": cost, "hasUnknownModelCost": cost is None}
    return row | {"modelUsage": {"m": model}} | more


def whole(given, cost=None, made=0):
    return {"scope": "session", "input": given, "output": made} | (
        {} if cost is None else {"costUsd": cost, "costs": {"m": cost}}
    )


def test_a_sum_replaces_the_earlier_one_from_the_same_start():
    """A process that goes on with a session counts on from what is in its file."""
    found = SessionUsage()
    assert found.take(state(1, 10, 0.5)) == whole(10, 0.5)
    assert found.take(state(1, 15, 0.75)) == whole(15, 0.75)


def test_sums_from_different_starts_are_added():
    """A process that was killed wrote none, and one that still runs will: whoever comes next counts from 0."""
    found = SessionUsage()
    found.take(state(2, 10, 0.5))
    assert found.take(state(1, 5, 0.25)) == whole(15, 0.75)
    assert found.take(state(2, 20, 1.0)) == whole(25, 1.25)


def test_what_says_nothing_new_is_nothing():
    """The client repeats its sums; a lower one from the same start is that of another process."""
    found = SessionUsage()
    found.take(state(1, 10, 0.5))
    assert [found.take(row) for row in (state(1, 10, 0.5), state(1, 9, 0.4), {}, {"modelUsage": []})] == [{}] * 4


def test_a_cost_is_known_only_if_that_of_every_process_is():
    """Tokens are added all the same."""
    found = SessionUsage()
    found.take(state(1, 10, 0.5))
    assert found.take(state(2, 5)) == whole(15)
    assert found.take(state(2, 6, 0.25)) == whole(16, 0.75)


def test_each_model_has_its_own_cost():
    """One that only one of the processes used keeps its cost."""
    found = SessionUsage()
    found.take(state(1, 10, 0.5))
    other = state(2, 5, 0.25, modelUsage={"n": {"inputTokens": 5, "costUSD": 0.25}})
    assert found.take(other)["costs"] == {"m": 0.5, "n": 0.25}


@pytest.mark.parametrize("starts", [3, 40])
def test_it_goes_on_from_its_state(starts):
    """However many processes there were: the oldest ones are kept as one sum."""
    found, again = SessionUsage(), SessionUsage()
    for number in range(1, starts + 1):
        again = SessionUsage(again.state())
        assert again.take(state(number, 1, 0.5)) == found.take(state(number, 1, 0.5)) == whole(number, number / 2)
    assert len(again.state()) <= 16


@pytest.mark.parametrize("start", [None, "x", True, [], -1, 2**80])
def test_a_start_of_another_form_is_one_start(start):
    """Nothing that is in a file breaks the sum."""
    found = SessionUsage()
    found.take(state(start, 10, 0.5))
    assert found.take(state(start, 15, 0.75)) == whole(15, 0.75)
