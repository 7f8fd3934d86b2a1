"""What one session file says of tokens and costs."""

from katod.agents.answers import Answers
from katod.usage.counts import TokenCounts
from katod.usage.source import SourceUsage

DAY = 739_000


def taken(*events, answers=Answers()):  # noqa: B008 - a constant
    """Return the usage after some events: a key, a model, and the payload."""
    usage = SourceUsage()
    for key, model, payload in events:
        usage.take(key, DAY, model, {"scope": "message"} | payload, answers)
    return usage


def message(given, made, **more):
    return {"input": given, "output": made} | more


def session(cost, given=0, **costs):
    return {"scope": "session", "input": given, "output": 0, "costUsd": cost} | ({"costs": costs} if costs else {})


def test_the_largest_figures_of_an_answer_count():
    """An agent may write an answer again, with figures that are not final, before or after those that are."""
    first, last = message(10, 1), message(10, 99)
    for order in ([first, last], [last, first], [last, last]):
        (answer,) = taken(*((1, "m", payload) for payload in order)).counted_once()
        assert answer.tokens == TokenCounts(10, 99)


def test_an_answer_without_a_model_is_of_the_model_before_it():
    """Some records name the model only where it changes."""
    found = taken((1, "", message(1, 1)), (2, "a", message(1, 1)), (3, "", message(1, 1))).counted_once()
    assert [answer.model for answer in found] == ["", "a", "a"]


def test_an_answer_that_used_nothing_is_none():
    """A failed request has no tokens."""
    assert taken((1, "m", message(0, 0))).counted_once() == []


def test_the_sum_of_a_session_is_not_added():
    """It stands in place of answers without input, as far as it has more than the others, and of nothing else."""
    total = {"scope": "session", "input": 100, "output": 30}
    complete = taken((1, "m", message(40, 10)), (2, "m", message(50, 20)), (3, "", total))
    assert [answer.tokens for answer in complete.counted_once()] == [TokenCounts(40, 10), TokenCounts(50, 20)]
    some = taken((1, "m", message(40, 10)), (2, "n", {"output": 5}), (3, "n", {"output": 15}), (4, "", total))
    assert [(answer.model, answer.tokens, answer.is_complete) for answer in some.counted_once()] == [
        ("m", TokenCounts(40, 10), True),
        ("n", TokenCounts(60, 20), True),
    ]


def test_without_a_sum_such_answers_stay_incomplete():
    """Their output is counted, and no price can be computed."""
    (answer,) = taken((1, "m", {"output": 5})).counted_once()
    assert (answer.tokens, answer.is_complete) == (TokenCounts(output=5), False)


def shared(usage):
    return [key for key, answer in usage.answers.items() if answer.is_shared]


def test_the_last_cost_of_a_session_counts():
    """It includes the answers before it, by model if the agent says so."""
    usage = taken(
        (1, "m", message(1, 1)), (0, "", session(0.5, 2)), (2, "m", message(1, 1)), (0, "", session(0.7, 4)),
        (3, "m", message(1, 1)),
    )  # fmt: skip
    assert (shared(usage), usage.mark.costs, usage.marked_day) == ([1, 2], {"": 0.7}, DAY)
    assert taken((0, "", session(0.7, a=0.4, b=0.3))).mark.costs == {"a": 0.4, "b": 0.3}


def test_a_cost_includes_the_latest_answers_that_its_tokens_are_for():
    """What a client used that was killed is in no sum; the one that goes on with the session counts without it."""
    answers = [(key, "m", message(90 + key, 10)) for key in range(1, 6)]
    usage = taken(*answers, (0, "", session(0.5, 205)))
    assert shared(usage) == [4, 5]
    usage.take(0, DAY, "", session(0.9, 510), Answers())  # a client that ran beside it counted the others
    assert shared(usage) == [1, 2, 3, 4, 5]


def test_a_cost_includes_what_is_in_no_answer():
    """Titles and summaries take tokens, too: as few as less than half of an answer are not one that was left out."""
    usage = taken((1, "m", message(90, 10)), (2, "m", message(90, 10)), (0, "", session(0.5, 149)))
    assert shared(usage) == [2]


def test_a_cost_without_tokens_includes_all_before_it():
    """Nothing says that it does not."""
    usage = taken((1, "m", message(90, 10)), (2, "m", message(90, 10)), (0, "", session(0.5)))
    assert shared(usage) == [1, 2]


def test_an_answer_that_is_written_again_stays_included():
    """Its last figures may come behind the sum."""
    usage = taken((1, "m", message(10, 1)), (0, "", session(0.5, 11)), (1, "m", message(10, 9)))
    assert (shared(usage), usage.answers[1].tokens.output) == ([1], 9)


def test_a_sum_without_a_cost_leaves_the_mark():
    """The agent does not know the prices of all models: what it knew before counts."""
    usage = taken((1, "m", message(1, 1)), (0, "", session(0.5, 2)), (2, "m", message(1, 1)))
    usage.take(0, DAY, "", {"scope": "session", "input": 3, "output": 3}, Answers())
    assert (shared(usage), usage.mark.costs) == ([1], {"": 0.5})


def test_a_cost_before_any_answer_is_of_its_own_day():
    """It has no answers whose day it could have; once there are some, it has the day of the last one."""
    usage = taken((0, "", session(0.5)))
    assert (shared(usage), usage.mark.costs, usage.marked_day) == ([], {"": 0.5}, DAY)
    usage.take(1, DAY - 2, "m", {"scope": "message"} | message(1, 1), Answers())
    assert usage.marked_day == DAY
    usage.take(0, DAY, "", session(0.7, 2), Answers())
    assert usage.marked_day == DAY - 2
