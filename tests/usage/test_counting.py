"""Each answer counts once, and the cost of a session is shared among its answers."""

from functools import partial

import pytest

from katod.usage.cells import CostState, cells_of
from katod.usage.counting import CountedSource, spent
from katod.usage.counts import TokenCounts
from katod.usage.source import AnswerUsage, CostMark, SourceUsage

DAY = 739_000


def source(name, *answers, parent="", changed=0, mark=None, **more):
    """Return a source with these answers: (key, model, input) each; `mark` is how many share which costs."""
    usage = SourceUsage()
    share, costs = mark or (0, {})
    rows = [
        AnswerUsage(key, day, model, TokenCounts(given), is_shared=number < share)
        for number, (key, model, given, day) in enumerate(map(whole, answers))
    ]
    usage.restore(rows, CostMark(costs), None, {})
    fields = {
        "agent": "a", "session": name.encode(), "project": b"p", "parent": parent.encode(), "is_subagent": False,
        "is_spawned": False, "changed_ns": changed, "path": name.encode(), "keys": list(usage.answers),
        "cells": cells_of(usage), "costs": usage.mark.costs, "marked_day": usage.marked_day,
        "detail": partial(lambda usage: usage, usage),
    }  # fmt: skip
    return CountedSource(**fields | more)


def whole(answer):
    return answer if len(answer) == 4 else (*answer, DAY)


def counted(*sources, has_ids=True):
    """Return the input of each session, and its recorded cost."""
    found = {}
    for session, _, cell in (
        (one.session.decode(), one.project, one.cell) for one in spent(sources, lambda _: has_ids)
    ):
        tokens, cost = found.get(session, (0, 0.0))
        found[session] = (tokens + cell.tokens.input, round(cost + cell.cost, 9))
    return {session: tokens for session, (tokens, _) in found.items()}, {
        s: cost for s, (_, cost) in found.items() if cost
    }


def test_a_copied_answer_counts_where_it_was_first():
    """What goes on from a session has copies of its answers, whichever file changed last."""
    base = source("base", (1, "m", 10), (2, "m", 20), changed=9)
    fork = source("fork", (1, "m", 10), (2, "m", 20), (3, "m", 5), parent="base", changed=1)
    assert counted(fork, base)[0] == {"base": 30, "fork": 5}


def test_without_a_parent_the_older_file_has_what_both_have():
    """Agents that keep the ids of copied records need not say what they were copied from."""
    older = source("older", (1, "m", 10), changed=1)
    newer = source("newer", (1, "m", 10), (2, "m", 5), changed=2)
    assert counted(newer, older)[0] == {"older": 10, "newer": 5}


def test_content_is_compared_only_in_sessions_that_go_on_from_one_another():
    """Without ids, two answers that are alike may be two."""
    one, other = source("one", (1, "m", 10)), source("other", (1, "m", 10))
    fork = source("fork", (1, "m", 10), (2, "m", 1), parent="one")
    again = source("again", (1, "m", 10), (2, "m", 1), parent="fork")
    assert counted(one, other, fork, again, has_ids=False)[0] == {"one": 10, "other": 10, "fork": 1}


def test_sessions_that_name_each_other_are_counted():
    """Hostile files cannot make the count go round in a circle."""
    assert counted(source("x", (1, "m", 1), parent="y"), source("y", (2, "m", 2), parent="x"))[0] == {"x": 1, "y": 2}


def test_a_subagent_counts_for_its_session():
    """With a session file of its own or an id of its own; a fork is a session."""
    below = source("s", (2, "m", 2), is_subagent=True, path=b"s/agent")
    spawned = source("t", (3, "m", 4), parent="s", is_spawned=True)
    deeper = source("u", (4, "m", 8), parent="t", is_spawned=True)
    fork = source("f", (5, "m", 16), parent="s")
    assert counted(source("s", (1, "m", 1)), below, spawned, deeper, fork)[0] == {"s": 15, "f": 16}


def test_a_subagent_without_a_project_has_that_of_its_session():
    """Some agents say where a session works only in its first record."""
    found = spent([source("s", (1, "m", 1)), source("t", (2, "m", 1), parent="s", is_spawned=True, project=b"")], bool)
    assert [one.project for one in found] == [b"p", b"p"]


def test_the_cost_of_a_session_is_shared_among_its_answers_by_their_tokens():
    """Those before the mark, and those of its sub-agents; what came later has no part in it."""
    main = source("s", (1, "m", 10), (2, "m", 20), (3, "m", 999), mark=(2, {"m": 6.0}))
    below = source("s", (4, "m", 30), is_subagent=True, path=b"s/agent")
    found = spent([main, below], bool)
    assert [(one.cell.key.state, one.cell.tokens.input, one.cell.cost) for one in found] == [
        (CostState.RECORDED, 30, pytest.approx(3.0)),
        (CostState.OPEN, 999, 0.0),
        (CostState.RECORDED, 30, pytest.approx(3.0)),
    ]


def test_what_a_subagent_used_on_a_later_day_has_no_part_in_the_cost():
    """The mark is older than that."""
    main = source("s", (1, "m", 10), mark=(1, {"m": 6.0}))
    below = source("s", (2, "m", 10, DAY + 1), is_subagent=True, path=b"s/agent")
    assert [one.cell.cost for one in spent([main, below], bool)] == [6.0, 0.0]


def test_each_model_has_its_own_cost():
    """A model without answers in any file, such as one for titles, has its cost all the same; one without a cost is open."""
    main = source("s", (1, "m", 10), (2, "n", 10), (3, "o", 10), mark=(3, {"m": 5.0, "n[1m]": 0.5, "titles": 0.25}))
    found = {one.cell.key.model: (one.cell.key.state, one.cell.cost) for one in spent([main], bool)}
    assert found == {
        "m": (CostState.RECORDED, 5.0), "n": (CostState.RECORDED, 0.5), "o": (CostState.OPEN, 0.0),
        "titles": (CostState.RECORDED, 0.25),
    }  # fmt: skip


def test_a_model_whose_name_begins_another_one_has_no_part_in_its_cost():
    """But all variants of a model have: a longer context is one of them."""
    main = source("s", (1, "m-4", 10), (2, "m-4-1", 10), mark=(2, {"m-4-1": 5.0, "m-4-1[1m]": 1.0}))
    assert {one.cell.key.model: one.cell.cost for one in spent([main], bool)} == {"m-4": 0.0, "m-4-1": 6.0}


def test_a_cost_that_is_not_recorded_by_model_is_shared_by_all():
    """By what their tokens usually cost compared with each other."""
    main = source("s", (1, "m", 10), (2, "n", 30), mark=(2, {"": 4.0}))
    assert {one.cell.key.model: one.cell.cost for one in spent([main], bool)} == {"m": 1.0, "n": 3.0}


def test_the_share_of_a_copy_is_not_counted_twice():
    """The cost of a fork includes what it was copied with; that is counted where it was copied from."""
    base = source("base", (1, "m", 10), (2, "m", 20), mark=(2, {"m": 3.0}))
    fork = source("fork", (1, "m", 10), (2, "m", 20), (3, "m", 10), mark=(3, {"m": 4.0}), parent="base")
    assert counted(base, fork) == ({"base": 30, "fork": 10}, {"base": 3.0, "fork": 1.0})
