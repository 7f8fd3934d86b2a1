"""The times of hits: moments, days of which no more is known, and what is no time."""

from datetime import UTC, datetime
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.text.when import When
from katod.search.hittime import as_known, day_in, iso, moment_of, span_of, stamp
from tests.examples import examples

TOKYO = "Asia/Tokyo"
MIDNIGHT = datetime(2026, 3, 1, 15, tzinfo=UTC).timestamp()  # in Tokyo, of March 2
NO_TIMES = ["", "1772442000", "2026-02-30", "abcdefghij", "9999-99-99", "2026-W60-1", "10000-01-01", "\uff12026-03-02"]


@pytest.mark.parametrize("day", ["2026-03-02", "20260302", "2026-W10-1"])
def test_of_a_day_no_more_is_known(day):
    """It begins at its midnight and lasts until the next one, and is shown without a time, in every zone."""
    assert moment_of(day, TOKYO) == MIDNIGHT
    assert span_of(day, None, TOKYO) == span_of(day, day, TOKYO) == (MIDNIGHT, MIDNIGHT + 86_400)
    for zone in (TOKYO, "America/Los_Angeles"):
        when = When(zone)
        assert as_known(day) == iso(day, when) == stamp(day, "", when) == stamp(day, "2026-03-01", when) == "2026-03-02"
        assert stamp(day, "2026-03-02", when) == ""


def test_a_moment_is_one_in_every_zone():
    """One that names no zone is of that in which days are meant."""
    moment = "2026-03-02T00:00:00+09:00"
    assert moment_of(moment) == moment_of("2026-03-02T00:00", TOKYO) == MIDNIGHT
    assert span_of(moment, None) == (MIDNIGHT, MIDNIGHT)
    assert span_of(moment, "") == (MIDNIGHT, inf)
    assert stamp(moment, "2026-03-01", When("UTC")) == "15:00"
    assert iso(moment, When("UTC")) == "2026-03-01T15:00:00+00:00"


@pytest.mark.parametrize("text", NO_TIMES)
def test_what_is_no_time_has_no_limits(text):
    """It is left as it is, and not shown."""
    assert day_in(text) is None
    assert moment_of(text) is None
    assert span_of(text, None) == (-inf, inf)
    assert (as_known(text), iso(text, When(TOKYO)), stamp(text, "", When(TOKYO))) == (text, "", "")


def test_the_calendar_has_an_end():
    """The last day has no next one, and the first one may begin before it."""
    assert span_of("9999-12-31", None, TOKYO)[1] == inf
    assert span_of("0001-01-01", None, TOKYO)[0] <= span_of("0001-01-01", None, "America/Los_Angeles")[0]


_DIGITS = st.from_regex(r"[0-9]{4}[-0-9W]{1,6}([T ][0-9:.]{0,12}([Z+-][0-9:]{0,6})?)?", fullmatch=True)


@examples(100, 2000)
@given(st.one_of(st.text(), _DIGITS), st.one_of(st.none(), st.text(), _DIGITS), st.sampled_from(["", TOKYO, "no zone"]))
def test_any_text_may_be_a_time(text, end, zone):
    """Whatever a record has there is taken, and ends nothing."""
    span_of(text, end, zone)
    iso(text, When(zone))
    stamp(as_known(text), "2026-03-02", When(zone))
