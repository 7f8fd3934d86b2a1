"""Tests for when agents delete sessions."""

from katod.agents.spec import Retention
from katod.rescue.due import DAY_NS, Deletable, days_left

NOW = 100 * DAY_NS


def old(name: str, days: float, folder: str = "a", files: int = 1) -> Deletable:
    """Return a session that was last changed so many days ago."""
    return Deletable(name, folder, int(NOW - days * DAY_NS), files)


def test_a_session_is_deleted_at_its_age() -> None:
    """What is left is counted from its last change; nothing is left of one that is older."""
    left = dict(days_left([old("young", 1), old("old", 29.5), older := old("older", 40)], Retention(30.0), NOW))
    assert left == {"young": 29.0, "old": 0.5, older.name: -10.0}


def test_the_next_start_is_itself_one_of_the_sessions_that_are_kept() -> None:
    """Of each folder, one less than the number stays; without a number, none is deleted for that."""
    found = [old("1", 1), old("2", 2), old("3", 3), old("other", 9, "b")]
    assert dict(days_left(found, Retention(None, 3), NOW)) == {"3": 0.0}
    assert dict(days_left(found, Retention(None, 1), NOW)) == {"1": 0.0, "2": 0.0, "3": 0.0, "other": 0.0}
    assert dict(days_left(found, Retention(), NOW)) == {}


def test_a_session_with_two_files_may_go_at_once() -> None:
    """Where the agent deletes pairs; elsewhere, its age counts."""
    assert dict(days_left([old("pair", 1, files=2)], Retention(30.0, pairs=True), NOW)) == {"pair": 0.0}
    assert dict(days_left([old("pair", 1, files=2)], Retention(30.0), NOW)) == {"pair": 29.0}
