"""What a session used is the sum over the processes that worked on it."""

import pytest

from katod.agents.claude.sessionusage import SessionUsage as Sums
from katod.model import Record


class SessionUsage(Sums):
    """Takes a sum, and returns what is new of the whole."""

    def after(self, row):
        """Return the payload after a record, empty without news."""
        self.take(Record(7, row))
        found = self.give()
        return {} if found is None else found[1]


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
    assert found.after(state(1, 10, 0.5)) == whole(10, 0.5)
    assert found.after(state(1, 15, 0.75)) == whole(15, 0.75)


def test_sums_from_different_starts_are_added():
    """A process that was killed wrote none, and one that still runs will: whoever comes next counts from 0."""
    found = SessionUsage()
    found.after(state(2, 10, 0.5))
    assert found.after(state(1, 5, 0.25)) == whole(15, 0.75)
    assert found.after(state(2, 20, 1.0)) == whole(25, 1.25)


def test_what_says_nothing_new_is_nothing():
    """The client repeats its sums; a lower one from the same start is that of another process."""
    found = SessionUsage()
    found.after(state(1, 10, 0.5))
    assert [found.after(row) for row in (state(1, 10, 0.5), state(1, 9, 0.4), {}, {"modelUsage": []})] == [{}] * 4


def test_a_cost_is_known_only_if_that_of_every_process_is():
    """Tokens are added all the same."""
    found = SessionUsage()
    found.after(state(1, 10, 0.5))
    assert found.after(state(2, 5)) == whole(15)
    assert found.after(state(2, 6, 0.25)) == whole(16, 0.75)


def test_each_model_has_its_own_cost():
    """One that only one of the processes used keeps its cost."""
    found = SessionUsage()
    found.after(state(1, 10, 0.5))
    other = state(2, 5, 0.25, modelUsage={"n": {"inputTokens": 5, "costUSD": 0.25}})
    assert found.after(other)["costs"] == {"m": 0.5, "n": 0.25}


@pytest.mark.parametrize("starts", [3, 40])
def test_it_goes_on_from_its_state(starts):
    """However many processes there were: the oldest ones are kept as one sum."""
    found, again = SessionUsage(), SessionUsage()
    for number in range(1, starts + 1):
        again = SessionUsage(again.state())
        assert again.after(state(number, 1, 0.5)) == found.after(state(number, 1, 0.5)) == whole(number, number / 2)
    assert len(again.state()["sums"]) <= 16


def test_a_sum_without_a_start_is_one_of_many():
    """It is lost no more than the others when there are too many to tell apart."""
    found = SessionUsage()
    for start in (None, *range(1, 41)):
        last = found.after(state(start, 1, 0.5))
    assert last == whole(41, 20.5)


def test_a_process_that_goes_on_is_told_apart_however_many_others_there_were():
    """Those that wrote longest ago are put together first."""
    found = SessionUsage()
    for start in range(1, 41):
        found.after(state(start, 1, 0.5))
        last = found.after(state(1, start + 1, 0.5 * (start + 1)))
    assert last == whole(41 + 39, 0.5 * (41 + 39))


@pytest.mark.parametrize("start", [None, "x", True, [], -1, 2**80])
def test_a_start_of_another_form_is_one_start(start):
    """Nothing that is in a file breaks the sum."""
    found = SessionUsage()
    found.after(state(start, 10, 0.5))
    assert found.after(state(start, 15, 0.75)) == whole(15, 0.75)
