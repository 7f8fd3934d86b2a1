"""Which parts of a session were recorded: exactly the events that its recordings have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.archive.manifest import WHOLE
from katod.archive.recordedtally import RecordedTally
from katod.events import Event, SessionRef
from katod.metadata import SessionMetadata
from katod.model import Options, Range, SessionKey
from katod.store.rows import OutputRow
from tests.examples import examples

REF = SessionRef("claude", "s")
METADATA = SessionMetadata(SessionKey("claude", "s"))


def events(count):
    return [Event(f"e{number}", ev.USER_MESSAGE, REF, {"text": "hi"}, {}) for number in range(count)]


def output(*ranges):
    """Return a recording with these ranges: the number of the event that begins each, and of the one that ends it."""
    made = tuple(
        Range(start=f"e{first}", inclusive=True, end="" if last is None else f"e{last}") for first, last in ranges
    )
    head = {"key": ("claude", "s", ""), "metadata": {}}
    return OutputRow(1, 1, None, None, "markdown", 1, Options(), head, ranges=made)


def parts(outputs, found):
    tally = RecordedTally(outputs)
    for _ in tally.over((event, METADATA) for event in found):
        pass
    return tally.parts


def within(found, recorded):
    """Return the ids of the events in these parts."""
    names, inside = [event.id for event in found], []
    for first, last in names and [(names[0], names[-1])] if recorded == WHOLE else recorded:
        inside += names[names.index(first) : names.index(last) + 1]
    return inside


@st.composite
def recordings(draw):
    """Return a number of events, and the ranges of some recordings of them."""
    count = draw(st.integers(1, 12))
    outputs = []
    for _ in range(draw(st.integers(0, 3))):
        places = sorted(draw(st.sets(st.integers(0, count - 1), max_size=6)))
        pairs = list(zip(places[::2], places[1::2], strict=False))
        outputs.append([*pairs, (places[-1], None)] if len(places) % 2 else pairs)
    return count, outputs


@examples(20, 1000)
@given(recordings())
def test_the_parts_are_what_any_of_the_recordings_has(case):
    """Whatever they have in common, and however often one ends and begins again."""
    count, ranges = case
    found = events(count)
    expected = {
        number
        for some in ranges
        for first, last in some
        for number in range(first, count if last is None else last + 1)
    }
    assert within(found, parts([output(*some) for some in ranges if some], found)) == [
        f"e{n}" for n in sorted(expected)
    ]


def test_nothing_is_recorded_of_a_session_without_recordings():
    """Its events pass all the same."""
    assert parts([], events(3)) == ()
    assert parts([output((2, None))], events(2)) == ()


@pytest.mark.parametrize(("kind", "recorded"), [(ev.SESSION_START, WHOLE), (ev.USER_MESSAGE, (("e1", "e2"),))])
def test_a_session_of_which_all_that_was_said_is_recorded_counts_as_a_whole(kind, recorded):
    """What only says how it began may be outside."""
    found = [events(1)[0]._replace(kind=kind), *events(3)[1:]]
    assert parts([output((1, None))], found) == recorded
