"""What is found twice, and what is only alike."""

from math import inf

from katod.search.twice import FoundBefore, FoundPlace

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
