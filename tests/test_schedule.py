"""When each changed source is stepped."""

import pytest

from katod.discover.catalog import Source
from katod.model import Identity, SessionKey, Stat
from katod.schedule import COALESCE, LONGEST_RETRY, NOW, RETRY_AFTER, Schedule


def source(name: str = "a") -> Source:
    return Source(0, 1, f"/{name}", Identity(SessionKey("claude", name)), Stat(0, 0, 0, 0))


@pytest.fixture
def schedule() -> Schedule:
    return Schedule()


def test_nothing_is_due_of_an_empty_schedule(schedule):
    """The loop may wait as long as it likes."""
    assert (bool(schedule), schedule.due(NOW), schedule.deadline()) == (False, [], NOW)


def test_a_change_is_stepped_at_once(schedule):
    """The first one does not wait for more to come."""
    changed = source()
    schedule.queue([changed])
    assert (bool(schedule), schedule.due(100.0)) == (True, [changed])
    assert schedule.deadline() <= 100.0


def test_what_comes_right_after_a_step_is_one_batch(schedule):
    """It is stepped when its pace allows, however often it changes meanwhile: continuous writing delays nothing."""
    changed = source()
    schedule.queue([changed])
    schedule.done(changed, 100.0)
    assert not schedule
    for _ in range(3):
        schedule.queue([changed])
        assert schedule.deadline() == 100.0 + COALESCE
    assert schedule.due(100.0 + COALESCE / 2) == []
    assert schedule.due(100.0 + COALESCE) == [changed]


def test_a_quiet_source_that_changes_again_is_stepped_at_once(schedule):
    """Its pace is over long ago."""
    changed = source()
    schedule.queue([changed])
    schedule.done(changed, 100.0)
    schedule.queue([changed])
    assert schedule.due(200.0) == [changed]


def test_sources_are_stepped_in_the_order_in_which_they_changed(schedule):
    """One that changes again while it waits keeps its place."""
    first, second = source("a"), source("b")
    schedule.queue([first, second])
    schedule.queue([first])
    assert schedule.due(100.0) == [first, second]
    assert schedule.due(NOW) == [first, second]


def test_a_source_that_cannot_be_read_is_tried_again_after_growing_pauses(schedule):
    """Changed or not: what hinders may pass without a change of the file."""
    failing, now, pauses = source(), 100.0, []
    failing.problem = "cannot be opened"
    schedule.queue([failing])
    for _ in range(8):
        schedule.done(failing, now)
        pauses.append(schedule.deadline() - now)
        now = schedule.deadline()
        assert schedule.due(now) == [failing]
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, LONGEST_RETRY, LONGEST_RETRY, LONGEST_RETRY]


def test_a_failing_source_that_changes_is_tried_soon_but_not_at_once(schedule):
    """Its agent may write to it all the time."""
    failing = source()
    failing.problem = "cannot be opened"
    schedule.queue([failing])
    for now in (100.0, 102.0, 106.0):
        schedule.done(failing, now)
    assert schedule.deadline() == 106.0 + 8.0
    schedule.queue([failing])
    assert schedule.deadline() == 106.0 + RETRY_AFTER


def test_a_source_that_can_be_read_again_begins_with_the_shortest_pause(schedule):
    """And it is paced as any other."""
    failing = source()
    failing.problem = "cannot be opened"
    schedule.queue([failing])
    schedule.done(failing, 100.0)
    failing.problem = ""
    schedule.done(failing, 102.0)
    assert not schedule
    schedule.queue([failing])
    assert schedule.deadline() == 102.0 + COALESCE
    failing.problem = "cannot be opened"
    schedule.done(failing, 103.0)
    assert schedule.deadline() == 103.0 + 2.0


def test_a_pass_over_everything_tries_nothing_again(schedule):
    """`katod run --once` ends; what it steps has no pace either."""
    failing = source()
    failing.problem = "cannot be opened"
    schedule.queue([failing])
    schedule.done(failing, NOW)
    assert not schedule
    schedule.queue([failing])
    assert schedule.due(1.0) == [failing]
