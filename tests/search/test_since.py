"""When a search begins and ends, as people type it."""

import time
from datetime import date, datetime
from math import inf

import pytest

from katod.config import local_zone
from katod.errors import SelectionError
from katod.formats.text.when import When, utc, zone_of
from katod.search import since
from katod.search.since import day_number, last_second, since_seconds, until_seconds
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


def test_an_age_is_as_long_where_clocks_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hours ago it may have been three hours earlier."""
    now = datetime.fromisoformat("2026-03-29T01:30Z").astimezone(zone_of("Europe/Berlin"))
    monkeypatch.setattr(since, "_now", lambda: now)
    assert (since_seconds("2h"), since_seconds("1d")) == (now.timestamp() - 7200, now.timestamp() - 86_400)


@each("zone", ["CET-1CEST", "MET-1METDST", "EST5EDT", "Europe/Berlin"])
def test_days_begin_at_midnight_of_the_zone_that_is_shown(zone: str) -> None:
    """Of a rule without dates, the system takes those of the United States, and katod those of the zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        shown = When(local_zone())
        for day in ("2026-03-07", "2026-03-15", "2026-03-29", "2026-06-01", "2026-10-25", "2026-10-28", "2026-11-01"):
            begin = since_seconds(day)
            assert shown.iso(utc(begin))[:19] == f"{day}T00:00:00"
            assert (shown.day(utc(begin - 1)) < day, shown.day(utc(until_seconds(day) - 1))) == (True, day)
            assert date.fromordinal(day_number(begin)).isoformat() == day
            assert shown.iso(utc(since_seconds(f"{day}T12:30")))[:16] == f"{day}T12:30"
            patch.setattr(since, "_now", lambda at=begin: datetime.fromtimestamp(at, zone_of(local_zone())))
            assert (since_seconds("today"), until_seconds("yesterday")) == (begin, begin)
    time.tzset()


@each("zone", ["Asia/Tokyo", "Europe/Berlin", "America/Los_Angeles"])
def test_days_may_be_those_of_another_zone(zone: str) -> None:
    """As they are shown there, whatever the machine's zone is."""
    shown = When(zone)
    for day in ("2026-03-08", "2026-03-29", "2026-10-25", "2026-11-01"):
        begin, end = since_seconds(day, zone), until_seconds(day, zone)
        assert shown.iso(utc(begin))[:19] == f"{day}T00:00:00"
        assert (shown.day(utc(begin - 1)) < day, shown.day(utc(end - 1)) == day, shown.day(utc(end)) > day) == (
            True,
        ) * 3
        assert shown.iso(utc(since_seconds(f"{day}T12:30", zone)))[:16] == f"{day}T12:30"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(since, "_now", lambda at=end: datetime.fromtimestamp(at, zone_of("UTC")))
            assert (since_seconds("yesterday", zone), until_seconds("yesterday", zone)) == (begin, end)


def test_a_moment_may_say_its_own_zone() -> None:
    """As other programs write it."""
    assert since_seconds("2026-03-15T00:30+01:00") == since_seconds("2026-03-14T23:30Z") == at("2026-03-14T23:30+00:00")
