"""What is found twice, and what is only alike."""

import time
from math import inf

import pytest

from katod.search.duplicates import FoundBefore, FoundPlace

SESSION, TRANSCRIPT, COPY = (FoundPlace("s", file) for file in ("", "a.md", "b.md"))


def _shown(*hits):
    """Return which of some hits are new; each is a place, a time, and until when it may be said."""
    before = FoundBefore()
    return [before.is_new(str(number), "same", *hit) for number, hit in enumerate(hits)]


def test_a_copy_is_found_once():
    """It has the same name, in whatever session."""
    before = FoundBefore()
    assert [before.is_new("id", gist, FoundPlace(gist, "")) for gist in ("one", "two")] == [True, False]


def test_an_event_and_its_passage_are_one():
    """In either order, and without times; a passage is said between two headings."""
    event, passage = (SESSION, 1000.0, 1000.0), (TRANSCRIPT, 960.0, 3000.0)
    assert _shown(event, passage) == _shown(passage, event) == [True, False]
    assert _shown((SESSION, -inf, inf), (TRANSCRIPT, -inf, inf)) == [True, False]
    assert _shown((SESSION, 1019.0, 1019.0), (TRANSCRIPT, 960.0, 960.0)) == [True, False]  # one minute


def test_the_same_words_at_another_time_are_something_else():
    """They are neither hidden nor shown twice."""
    first, second = (SESSION, 1000.0, 1000.0), (SESSION, 9000.0, 9000.0)
    passage = (TRANSCRIPT, 8990.0, inf)
    assert _shown(passage, first, second) == [True, True, False]
    assert _shown(first, second, passage) == [True, True, False]
    assert _shown(passage, second, second) == [True, False, True]


def test_an_event_is_in_each_transcript_of_its_session_once():
    """Two transcripts are two places to look at, but stand for one event."""
    event, again = (SESSION, 1000.0, 1000.0), (SESSION, 1001.0, 1001.0)
    passage, copy = (TRANSCRIPT, 990.0, 2000.0), (COPY, 990.0, 2000.0)
    assert _shown(passage, copy, event, again) == [True, True, False, True]
    assert _shown(event, passage, copy) == [True, False, False]
    assert _shown((FoundPlace("t", ""), 1000.0, 1000.0), passage) == [True, True]


def test_what_is_said_where_an_hour_comes_twice_is_found_by_its_event():
    """What begins earlier may end later there: each event has its passage, however many are alike."""
    passages = [(TRANSCRIPT, 60.0 * (minute % 60), 60.0 * (minute % 60) + 3660) for minute in range(120)]
    events = [(SESSION, 60.0 * minute, 60.0 * minute) for minute in range(120)]
    assert _shown(*passages, *events) == [True] * 120 + [False] * 120


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [0, 1, 2])
def test_what_is_said_thousands_of_times_takes_linear_time(recorded):
    """In one file, in a session and its transcript, or where only a part of it was recorded."""
    count = 20_000
    passages = [(TRANSCRIPT, 600.0 * number, 600.0 * number + 600) for number in range(count)]
    events = [(SESSION, 600.0 * number + 30, 600.0 * number + 30) for number in range(count)]
    late = [(SESSION, 600.0 * number + 30, 600.0 * number + 30) for number in range(count + 1, 2 * count + 1)]
    began = time.process_time()
    shown = _shown(*passages, *([], events, late)[recorded])
    assert time.process_time() - began < 3  # was 20 s when it was quadratic
    assert sum(shown) == count * (2 if recorded == 2 else 1)
    assert sum(_shown(*([], events, late)[recorded], *passages)) == sum(shown)
