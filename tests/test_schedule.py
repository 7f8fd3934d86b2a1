"""When each changed source is stepped."""

import pytest

from katod.discover.source import Source
from katod.model import Identity, SessionKey, Stat
from katod.pipeline import COALESCE, LONGEST_RETRY, NOW, RETRY_AFTER, Schedule
from katod.store.rows import SourceRow


def source(name: str = "a") -> Source:
    return Source(SourceRow(0, 1, f"/{name}", Identity(SessionKey("claude", name)), Stat(0, 0, 0, 0)))


@pytest.fixture
def schedule() -> Schedule:
    return Schedule()


def test_nothing_is_due_of_an_empty_schedule(schedule):
    """An empty schedule has no deadline."""
    assert (bool(schedule), schedule.due(NOW), schedule.deadline()) == (False, [], NOW)


def test_a_change_is_stepped_at_once(schedule):
    """The first change is stepped without waiting for more."""
    changed = source()
    schedule.queue([changed])
    assert (bool(schedule), schedule.due(100.0)) == (True, [changed])
    assert schedule.deadline() <= 100.0


def test_what_comes_right_after_a_step_is_one_batch(schedule):
    """Changes right after a step are stepped together after a fixed pause, which further changes do not extend."""
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
    """After a long pause, a change is stepped at once."""
    changed = source()
    schedule.queue([changed])
    schedule.done(changed, 100.0)
    schedule.queue([changed])
    assert schedule.due(200.0) == [changed]


def test_sources_are_stepped_in_the_order_in_which_they_changed(schedule):
    """A source that changes again while it waits keeps its place."""
    first, second = source("a"), source("b")
    schedule.queue([first, second])
    schedule.queue([first])
    assert schedule.due(100.0) == [first, second]
    assert schedule.due(NOW) == [first, second]


def test_a_source_that_cannot_be_read_is_tried_again_after_growing_pauses(schedule):
    """A failing source is retried even without a change: the problem may disappear without one."""
    failing, now, pauses = source(), 100.0, []
    failing.set_problem("cannot be opened")
    schedule.queue([failing])
    for _ in range(8):
        schedule.done(failing, now)
        pauses.append(schedule.deadline() - now)
        now = schedule.deadline()
        assert schedule.due(now) == [failing]
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, LONGEST_RETRY, LONGEST_RETRY, LONGEST_RETRY]


def test_a_failing_source_that_changes_is_tried_soon_but_not_at_once(schedule):
    """A change makes a failing source due soon, but not at once: its agent may write to it all the time."""
    failing = source()
    failing.set_problem("cannot be opened")
    schedule.queue([failing])
    for now in (100.0, 102.0, 106.0):
        schedule.done(failing, now)
    assert schedule.deadline() == 106.0 + 8.0
    schedule.queue([failing])
    assert schedule.deadline() == 106.0 + RETRY_AFTER


def test_a_source_that_can_be_read_again_begins_with_the_shortest_pause(schedule):
    """After a successful step, a source is paced like any other, and its next failure gets the shortest pause."""
    failing = source()
    failing.set_problem("cannot be opened")
    schedule.queue([failing])
    schedule.done(failing, 100.0)
    failing.set_problem("")
    schedule.done(failing, 102.0)
    assert not schedule
    schedule.queue([failing])
    assert schedule.deadline() == 102.0 + COALESCE
    failing.set_problem("cannot be opened")
    schedule.done(failing, 103.0)
    assert schedule.deadline() == 103.0 + 2.0


def test_a_pass_over_everything_tries_nothing_again(schedule):
    """In `katod run --once`, failing sources are not retried and steps are not paced."""
    failing = source()
    failing.set_problem("cannot be opened")
    schedule.queue([failing])
    schedule.done(failing, NOW)
    assert not schedule
    schedule.queue([failing])
    assert schedule.due(1.0) == [failing]


@pytest.mark.fault("decompression bomb")
def test_what_only_a_change_can_help_is_not_retried(schedule):
    """A source whose content cannot be read waits until it changes."""
    changed = source()
    changed.set_problem("cannot be decompressed")
    changed.set_usable(usable=False)
    schedule.queue([changed])
    schedule.done(changed, 100.0)
    assert not schedule
    schedule.queue([changed])
    assert schedule.due(NOW) == [changed]
