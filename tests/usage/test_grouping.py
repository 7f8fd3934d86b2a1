"""What was used, by day, project, model or agent."""

from datetime import date

from katod.usage.cells import CellKey, CostState, UsageCell
from katod.usage.counting import SpentCell
from katod.usage.counts import TokenCounts
from katod.usage.grouping import BY, Period, document, grouped, priced
from tests.usage.test_pricing import Prices

DAY = date(2026, 2, 10).toordinal()


def cell(day=0, model="m", state=CostState.OPEN, given=1_000_000, cost=0.0, **more):
    spent = UsageCell(CellKey(DAY + day, model, 0, state), 1, TokenCounts(given), cost)
    return SpentCell(**{"agent": "a", "session": b"s", "project": b"p", "cell": spent} | more)


def rows(cells, by="day", name_of=lambda _: "/home/me/app"):
    return grouped(priced(cells, Prices(), name_of), by)


def test_days_and_months_are_in_their_order_and_all_else_by_cost():
    """The most expensive first; without a cost, what used most tokens."""
    cells = [cell(1), cell(0), cell(0, "cheap", CostState.RECORDED, 5, 0.01), cell(0, "x"), cell(0, "y", given=7)]
    assert [name for name, _ in rows(cells).rows] == ["2026-02-10", "2026-02-11"]
    months = [cell(40), cell(-40, "x"), cell(-60, "x")]
    assert [name for name, _ in rows(months, "month").rows] == ["2025-12", "2026-01", "2026-03"]
    assert [name for name, _ in rows(cells, "model").rows] == ["m", "cheap", "x", "y"]


def test_each_way_to_group_has_its_names():
    """A project is a directory."""
    names = {by: [name for name, _ in rows([cell()], by).rows] for by in BY}
    assert names == {
        "day": ["2026-02-10"], "month": ["2026-02"], "project": ["/home/me/app"], "model": ["m"], "agent": ["a"],
    }  # fmt: skip


def test_a_project_is_named_once():
    """Its name is read from a session file."""
    asked = []
    rows([cell(), cell(1), cell(project=b"q")], "project", lambda project: asked.append(project) or "")
    assert asked == [b"p", b"q"]


def test_recorded_and_computed_costs_are_told_apart():
    """A recorded one comes first; tokens with neither are unpriced, and their cost is not 0."""
    cells = [cell(state=CostState.RECORDED, cost=0.5), cell(), cell(model="other"), cell(state=CostState.INCOMPLETE)]
    total = rows(cells).total
    assert (total.recorded, total.computed, total.cost, total.unpriced) == (0.5, 1.0, 1.5, 2_000_000)
    assert total.to_json()["cost"] == {"recorded": 0.5, "computed": 1.0}
    nothing = rows([cell(model="other")]).total
    assert (nothing.recorded, nothing.computed, nothing.cost) == (None, None, None)


def test_a_session_is_one_in_each_row():
    """However many days and models it has."""
    table = rows([cell(), cell(), cell(1), cell(1, session=b"t")])
    assert [found.sessions for _, found in table.rows] == [1, 2]
    assert table.total.sessions == 2


def test_a_period_includes_both_of_its_days():
    """Without a limit, it has no end."""
    assert [Period(5, 7).has(day) for day in (4, 5, 7, 8)] == [False, True, True, False]
    assert Period().has(1)
    assert [Period(0, 7).has(day) for day in (7, 8)] == [True, False]


def test_the_document_leaves_out_what_is_unknown():
    """There is no cost of 0, no name without letters, and no limit that was not given."""
    cells = [cell(state=CostState.RECORDED, cost=0.123456789), cell(model="")]
    printed = document(rows(cells, "model"), Period(DAY), "Europe/Berlin", Prices())
    tokens = {"input": 1_000_000, "cacheRead": 0, "cacheWrite": 0, "output": 0, "reasoning": 0, "total": 1_000_000}
    one = {"sessions": 1, "answers": 1, "tokens": tokens}
    assert printed == {
        "by": "model", "since": "2026-02-10", "timeZone": "Europe/Berlin", "prices": "a table",
        "rows": [
            {"model": "m"} | one | {"cost": {"recorded": 0.123457}, "unpricedTokens": 0},
            one | {"cost": {}, "unpricedTokens": 1_000_000, "unpricedModels": [""]},
        ],
        "total": {
            "sessions": 1, "answers": 2, "tokens": tokens | {"input": 2_000_000, "total": 2_000_000},
            "cost": {"recorded": 0.123457}, "unpricedTokens": 1_000_000, "unpricedModels": [""],
        },
    }  # fmt: skip


def test_a_day_that_is_unknown_has_no_name():
    """And its tokens have no price, as that depends on the day."""
    found = rows([cell(-DAY)])
    assert [name for name, _ in found.rows] == [""]
    assert found.total.unpriced == 1_000_000
