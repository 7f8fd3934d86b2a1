"""What was counted, as rows."""

from datetime import date

from katod.model import SessionKey
from katod.tables.usagerows import digest_of, sessions_of, usage_rows
from katod.usage.cells import CellKey, CostState, UsageCell
from katod.usage.counting import CountedSource, SpentCell
from katod.usage.counts import TokenCounts

ONE, TWO, CHILD = SessionKey("claude", "1"), SessionKey("claude", "2"), SessionKey("claude", "1", "sub")
DAY = date(2026, 2, 10)


def spent(session, *, size=0, state=CostState.OPEN, cost=0.0, project=b"p"):
    key = CellKey(DAY.toordinal(), "opus", size, state)
    return SpentCell("claude", session, project, UsageCell(key, 1, TokenCounts(1, 2, 3, 4, 5, 6), cost))


def source(session, parent=b"", *, is_spawned=False):
    return CountedSource(
        "claude", session, b"", parent, False, is_spawned, 0, session, (), (), {}, 0, lambda: None
    )  # fmt: skip


def test_cells_of_one_day_and_model_are_one_row():
    """Whatever the size of their prompts; recorded costs are apart from what has none."""
    cells = [spent(b"1"), spent(b"1", size=3), spent(b"1", state=CostState.RECORDED, cost=0.25), spent(b"gone")]
    rows = usage_rows(cells, {b"1": ONE}, lambda project: project.decode())
    assert [*rows] == [ONE]
    open_, recorded = rows[ONE]
    assert open_ == {
        "session": "claude:1", "project": "p", "model": "opus", "day": DAY, "answers": 2, "input": 2, "output": 4,
        "cache_read": 6, "cache_write": 8, "cache_write_1h": 10, "reasoning": 12, "has_cost": False, "cost_usd": None,
    }  # fmt: skip
    assert (recorded["has_cost"], recorded["cost_usd"], recorded["answers"]) == (True, 0.25, 1)


def test_the_order_of_cells_makes_no_difference():
    """The digest tells rows apart, and depends on nothing else."""
    cells = [spent(b"1", size=size, state=CostState.RECORDED, cost=0.1 * size) for size in range(5)]
    digests = {digest_of(usage_rows(some, {b"1": ONE}, str)[ONE]) for some in (cells, cells[::-1])}
    assert len(digests) == 1
    assert digest_of(usage_rows(cells[1:], {b"1": ONE}, str)[ONE]) not in digests


def test_sub_agents_count_for_their_session():
    """Also if its own file is gone; a session that works for one that is unknown stands for it."""
    names = {ONE: b"1", CHILD: b"1", TWO: b"2"}
    everything = [source(b"1"), source(b"2")]
    assert sessions_of(everything, names, lambda _: True) == {b"1": ONE, b"2": TWO}
    del names[ONE]
    assert sessions_of(everything, names, lambda key: key != ONE) == {b"1": CHILD, b"2": TWO}
    spawned = [source(b"2", b"gone", is_spawned=True)]
    assert sessions_of(spawned, {TWO: b"2"}, lambda _: True)[b"gone"] == TWO
