"""When a search begins and ends, as people type it."""

import time
from datetime import datetime
from math import inf

import pytest

from katod.errors import SelectionError
from katod.search import since
from katod.search.since import last_second, since_seconds, until_seconds
from tests.looping import each


def at(text: str) -> float:
    """Return a local time in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


@each(
    ("text", "begin", "end"),
    [
        ("2026-02-10", "2026-02-10", "2026-02-11"),
        ("2026-02-28", "2026-02-28", "2026-03-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2026-02-10T10:00", "2026-02-10T10:00", "2026-02-10T10:00"),
    ],
)
def test_a_day_and_a_month_are_included(text: str, begin: str, end: str) -> None:
    """A moment has no length."""
    assert (since_seconds(text), until_seconds(text)) == (at(begin), at(end))
    assert last_second(text) == (at(end) - 1 if begin != end else at(begin))


@each("text", ["2026-13", "2026-00", "2026-2", "26-02", "2026-02-30", "soon", "", "7x", "2026-02-", "-7d"])
def test_other_words_are_refused(text: str) -> None:
    """It is said what was expected."""
    for meant in (since_seconds, until_seconds, last_second):
        with pytest.raises(SelectionError, match="expected today, yesterday, an age"):
            meant(text)


def test_the_end_of_time_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor has what is not given."""
    assert (since_seconds(None), until_seconds(None)) == (-inf, inf)
    monkeypatch.setattr(since, "until_seconds", lambda _text: inf)
    assert last_second("2026-02") == at("2026-02-01")


@each(
    ("now", "begin"),
    [
        ("2026-03-29T12:00+02:00", "2026-03-29T00:00+01:00"),  # clocks changed at 02:00
        ("2026-03-30T12:00+02:00", "2026-03-30T00:00+02:00"),
        ("2026-10-25T12:00+01:00", "2026-10-25T00:00+02:00"),
        ("2026-10-26T12:00+01:00", "2026-10-26T00:00+01:00"),
    ],
)
def test_days_begin_at_midnight_where_clocks_change(now: str, begin: str) -> None:
    """Yesterday ends where today begins, and is as long as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        patch.setattr(since, "_now", lambda: datetime.fromisoformat(now).astimezone())
        assert since_seconds("today") == until_seconds("yesterday") == at(begin)
        day = datetime.fromisoformat(now).date()
        yesterday = day.replace(day=day.day - 1).isoformat()
        assert (since_seconds("yesterday"), until_seconds("today")) == (at(yesterday), until_seconds(day.isoformat()))
    time.tzset()


def test_an_age_is_that_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """In hours, days or weeks; days need no unit."""
    now = datetime.fromisoformat("2026-02-10T10:00").astimezone()
    monkeypatch.setattr(since, "_now", lambda: now)
    for text, seconds in (("2h", 7200), ("7d", 7 * 86_400), ("7", 7 * 86_400), ("1w", 7 * 86_400)):
        assert since_seconds(text) == now.timestamp() - seconds
    assert (since_seconds("today"), until_seconds("today")) == (at("2026-02-10"), at("2026-02-11"))
    assert (since_seconds("yesterday"), until_seconds("yesterday")) == (at("2026-02-09"), at("2026-02-10"))
