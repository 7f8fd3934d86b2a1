"""Times as they are shown in a transcript."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.text.when import When, utc
from tests.looping import each

BERLIN = When("Europe/Berlin")
TIME = "2026-02-10T23:36:18.123Z"


def test_time_is_shown_in_the_frozen_zone():
    """Hour, day and offset are those of the recording's time zone."""
    assert BERLIN.iso(TIME) == "2026-02-11T00:36:18+01:00"
    assert BERLIN.day(TIME) == "2026-02-11"
    assert BERLIN.stamp(TIME, "2026-02-11") == "00:36"


def test_summer_time_is_kept():
    """The offset is that of the given day, not of today."""
    assert BERLIN.iso("2026-07-10T12:00:00Z") == "2026-07-10T14:00:00+02:00"


def test_date_stands_before_the_time_on_another_day():
    """The date is shown only if it differs from the last one shown."""
    assert BERLIN.stamp(TIME, "2026-02-10") == "2026-02-11 00:36"
    assert BERLIN.stamp(TIME, "") == "2026-02-11 00:36"


@pytest.mark.parametrize(
    "time",
    [
        "2026-02-10T23:36:18Z",
        "2026-02-10T23:36:18.5Z",
        "2026-02-10T23:36:18.123456Z",
        "2026-02-10T18:36:18-05:00",
        "2026-02-11T00:36:18+01:00",
    ],
)
def test_forms_of_the_same_time_are_shown_alike(time):
    """Fractions and offsets make no difference to what is shown."""
    assert (BERLIN.iso(time), BERLIN.day(time), BERLIN.stamp(time, "")) == (
        "2026-02-11T00:36:18+01:00", "2026-02-11", "2026-02-11 00:36",
    )  # fmt: skip


def test_time_without_a_zone_is_local():
    """A time without a zone is taken to be in the recording's zone."""
    assert BERLIN.iso("2026-02-10T23:36:18") == "2026-02-10T23:36:18+01:00"


@each("time", ["", "yesterday", "2026-13-01T00:00:00Z", "1770766578", "2026-02-10T25:00:00Z", "Z", "\u0662026-02-10"])
def test_time_that_cannot_be_read_shows_as_nothing(time):
    """A time that cannot be parsed is shown as nothing, without an error."""
    assert (BERLIN.iso(time), BERLIN.day(time), BERLIN.stamp(time, "")) == ("", "", "")


@each("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00", "9999-12-31T23:59:59-12:00"])
@each("zone", ["America/New_York", "Asia/Tokyo", "UTC"])
def test_time_at_the_edge_of_the_calendar_does_not_fail(time, zone):
    """A zero time, as some programs write for an unknown one, is shown or left out, but never an error."""
    when = When(zone)
    assert isinstance(when.iso(time) + when.day(time) + when.stamp(time, ""), str)


@pytest.mark.parametrize("zone", ["", "Nowhere/Land", "../etc/passwd", "/etc/localtime", "\0"])
def test_unknown_zone_is_utc(zone):
    """An unknown time zone is treated as UTC."""
    assert When(zone).iso("2026-02-10T23:36:18Z") == "2026-02-10T23:36:18+00:00"


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001 - the zone is given below
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Kiritimati"]),
    st.sampled_from(["Z", "+00:00"]),
    st.sampled_from(["seconds", "milliseconds", "microseconds"]),
)
def test_day_and_stamp_are_those_of_the_whole_time(moment, zone, ending, precision):
    """Day, stamp and full time agree in any zone."""
    when, time = When(zone), moment.isoformat(timespec=precision) + ending
    local = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    assert when.iso(time) == local.isoformat(timespec="seconds")
    assert when.day(time) == local.date().isoformat()
    assert when.stamp(time, "") == local.strftime("%Y-%m-%d %H:%M")
    assert when.stamp(time, when.day(time)) == local.strftime("%H:%M")


@pytest.mark.parametrize(
    "time", ["20260210T233618Z", "2026-02-10T23Z", "2026-02-10T23:36Z", "2026-02-10", "2026-W07-2T23:36:18Z"]
)
def test_short_forms_give_the_same_day_as_the_whole_time(time):
    """Every short form of a time gives the same day and stamp as its full form."""
    assert BERLIN.day(time) == BERLIN.iso(time)[:10]
    assert BERLIN.stamp(time, BERLIN.day(time)) == BERLIN.iso(time)[11:16]


def test_day_does_not_depend_on_what_was_asked_before():
    """The results are the same in any order of calls."""
    times = [f"2026-02-10T{hour:02}:{minute:02}:00Z" for hour in range(24) for minute in range(0, 60, 7)]
    first = [BERLIN.day(time) for time in times]
    assert [When("Europe/Berlin").day(time) for time in reversed(times)] == first[::-1]
    assert len(set(first)) == 2
    assert timedelta(days=1) == datetime.fromisoformat(first[-1]) - datetime.fromisoformat(first[0])


@pytest.mark.parametrize(
    "time", ["2026-02-10T22:36:99.000Z", "2026-02-10T22:36Z and more Z", "2026-02-10T22:36:18+14:00Z"]
)
def test_what_only_begins_like_a_time_has_no_day(time):
    """Text that only begins like a time has no day, whatever was asked before."""
    when = When("Europe/Berlin")
    assert when.day("2026-02-10T22:36:18.000Z") == "2026-02-10"
    assert when.day(time) == When("Europe/Berlin").day(time) == ""
    assert when.day("2026-02-10T22:36:19.000Z") == "2026-02-10"


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+14:00"])
def test_the_edge_of_the_calendar_is_no_error(time):
    """A time that is out of range in a zone is shown as nothing, or with the day in its text."""
    for zone in ("Pacific/Kiritimati", "America/Adak"):
        assert When(zone).day(time) in ("", time[:10])


def test_a_time_beyond_the_calendar_is_shown_at_its_edge():
    """A file may say that it changed then, and a record of another program."""
    assert utc(1_770_766_600.123) == "2026-02-10T23:36:40.123Z"
    assert utc(1_770_766_600.123, "seconds") == "2026-02-10T23:36:40Z"
    assert [utc(seconds)[:4] for seconds in (-1e300, -1e12, -1, 0, 1e12, 1e300)] == [
        "0001", "0001", "1969", "1970", "9999", "9999",
    ]  # fmt: skip
