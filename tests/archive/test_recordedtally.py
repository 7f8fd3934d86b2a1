"""Which parts of a session were recorded: exactly the events that its recordings have."""

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.archive.manifest import RecordedParts
from katod.archive.recordedtally import RecordedTally, name_of
from katod.archive.tally import ExportedTexts, TextTally
from katod.events import Event, SessionRef
from katod.metadata import SessionMetadata
from katod.model import Options, Range, SessionKey
from katod.store.rows import OutputRow
from tests.examples import examples

REF = SessionRef("claude", "s")
METADATA = SessionMetadata(SessionKey("claude", "s"))


def events(*numbers):
    return [Event(f"e{number}", ev.USER_MESSAGE, REF, {"text": "hi"}, {}) for number in numbers]


def output(*ranges, options=None):
    """Return a recording with these ranges: the number of the event that begins each, and of the one that ends it."""
    made = tuple(
        Range(start=f"e{first}", inclusive=True, end="" if last is None else f"e{last}") for first, last in ranges
    )
    head = {"key": ("claude", "s", ""), "metadata": {}}
    return OutputRow(1, 1, None, None, "markdown", 1, options or Options(), head, ranges=made)


def recorded(outputs, found, **given):
    tally = RecordedTally(outputs, **given)
    for _ in tally.over((event, METADATA) for event in found):
        pass
    return tally.recorded


def within(found, parts):
    """Return the ids of the events in these parts."""
    names, inside = [event.id for event in found], []
    for first, last in parts:
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
    return count, [ranges for ranges in outputs if ranges]


@examples(20, 1000)
@given(recordings())
def test_the_parts_are_what_any_of_the_recordings_has(case):
    """Whatever they have in common, and however often one ends and begins again."""
    count, ranges = case
    found = events(*range(count))
    expected = {
        number
        for some in ranges
        for first, last in some
        for number in range(first, count if last is None else last + 1)
    }
    parts = recorded([output(*some) for some in ranges], found).parts
    assert within(found, parts) == [f"e{number}" for number in sorted(expected)]
    assert list(parts) == sorted(set(parts), key=parts.index)


@examples(20, 1000)
@given(recordings(), st.sets(st.integers(0, 11), max_size=4))
def test_nothing_is_recorded_that_a_recording_does_not_have_whatever_its_agent_drops(case, dropped):
    """A range of which the end is gone is none: nobody knows where it ended."""
    count, ranges = case
    found = events(*(number for number in range(count) if number not in dropped))
    expected = {
        number
        for some in ranges
        for first, last in some
        for number in range(first, count if last is None else last + 1)
    }
    parts = recorded([output(*some) for some in ranges], found).parts
    assert set(within(found, parts)) <= {f"e{number}" for number in expected}


def test_nothing_is_recorded_of_a_session_without_recordings():
    """Its events pass all the same."""
    assert recorded([], events(*range(3))) == RecordedParts()
    assert recorded([output((2, None))], events(0, 1)) == RecordedParts()


def test_what_is_shown_is_what_each_of_the_recordings_shows():
    """Of tools and thinking, the least."""
    all_of_it = Options(tools="full", thinking=True)
    found = events(*range(4))
    assert recorded([output((0, None), options=all_of_it)], found)[1:3] == ("full", True)
    less = output((2, None), options=Options(tools="none", thinking=False))
    assert recorded([output((0, None), options=all_of_it), less], found)[1:3] == ("none", False)


def test_the_recordings_that_have_the_parts_are_named():
    """By names that stay the same while they go on, and say nothing of them."""
    found = events(*range(4))
    one, other, none = output((0, 1)), output((2, None))._replace(id=2), output((9, None))._replace(id=3)
    names = recorded([one, other, none], found).of
    assert sorted(names) == sorted(name_of(each) for each in (one, other))
    assert len(set(names)) == 2
    assert name_of(output((0, None))) == name_of(output((0, 1), (2, 3))) == name_of(one)
    assert name_of(output()) not in names


def test_of_a_transcript_that_cannot_be_read_only_known_parts_count():
    """Neither what was added to its ranges, nor a new range, nor anything that only others have."""
    found, mine = events(1, 2, 3, 4, 5, 6, 7, 8), output((2, 4), (6, None))
    for known, parts in (
        ((), ()),
        ((("e2", "e4"), ("e6", "e6")), (("e2", "e4"), ("e6", "e6"))),
        ((("e1", "e3"),), (("e2", "e3"),)),
        ((("e3", "e7"),), (("e3", "e4"), ("e6", "e7"))),
    ):
        assert recorded([mine], found, unread={1}, known=(known, None)).parts == parts
    assert recorded([mine], found, unread={2}).parts == (("e2", "e4"), ("e6", "e8"))


def test_a_known_part_whose_end_is_gone_does_not_count():
    """What follows may be of anything, if nobody knows what was exported of it."""
    known = (("e2", "e3"), ("e6", "e9"))
    assert recorded([output((2, None))], events(1, 2, 3, 4, 5, 6, 7, 8), unread={1}, known=(known, None)).parts == (
        ("e2", "e3"),
    )


def exported(found, key=METADATA.key):
    """Return what a list says of an export that had these events."""
    tally = TextTally(key)
    list(tally.over((event, METADATA) for event in found))
    return ExportedTexts(key, tally.text)


def test_a_known_part_whose_end_is_gone_ends_with_what_was_exported_of_it():
    """Such as a prompt that has another id since. Neither what is new counts, nor what was exported behind the part."""
    texts, mine = exported(events(1, 2, 3, 4, 5, 9, 6, 7)), output((2, None))
    now = events(1, 2, 3, 4, 5, 8, 6, 7)
    assert recorded([mine], now, unread={1}, known=((("e2", "e9"),), texts)).parts == (("e2", "e5"),)
    assert recorded([mine], now, unread={1}, known=((("e2", "e9"), ("e6", "e6")), texts)).parts == (
        ("e2", "e5"),
        ("e6", "e6"),
    )


@examples(30, 1000)
@given(recordings(), st.sets(st.integers(0, 11), max_size=4), st.sets(st.integers(0, 11), max_size=3), st.data())
def test_nothing_is_marked_of_an_unread_transcript_that_was_not_marked(case, dropped, new, data):
    """Whatever its agent drops, and adds anywhere."""
    count, _ = case
    before = events(*range(count))
    places = sorted(data.draw(st.sets(st.integers(0, count - 1), max_size=6)))
    known = tuple((f"e{first}", f"e{last}") for first, last in zip(places[::2], places[1::2], strict=False))
    now = []
    for number in range(count):
        now += events(*([] if number in dropped else [number]), *([100 + number] if number in new else []))
    parts = recorded([output((0, None))], now, unread={1}, known=(known, exported(before))).parts
    assert set(within(now, parts)) <= {*within(before, known)}
    if not dropped and not new:
        assert within(now, parts) == within(before, known)


def test_only_the_part_whose_end_is_gone_is_lost():
    """It may be one of another recording, and those before and behind it have ends."""
    found, known = events(1, 2, 3, 4, 5, 6, 7, 8), (("e1", "e2"), ("e4", "e9"), ("e7", "e8"))
    other = output((4, None))._replace(id=2)
    for mine, parts in ((output((1, 2)), (("e1", "e2"),)), (output((1, 2), (4, None)), (("e1", "e2"), ("e7", "e8")))):
        assert recorded([mine], found, unread={1}, known=(known, None)).parts == parts
    assert recorded([output((1, 2)), other], found, unread={1}, known=(known, None)).parts == (
        ("e1", "e2"),
        ("e4", "e8"),
    )


def test_only_the_range_whose_end_is_gone_is_lost():
    """Although nothing of it would count, as no known part has any."""
    mine, known = output((1, 2), (4, 9)), (("e1", "e2"),)
    assert recorded([mine], events(1, 2, 3, 4, 5), unread={1}, known=(known, None)).parts == known


def test_what_is_new_within_a_known_part_does_not_count():
    """An answer may come in pieces, and what it used, with which the part ended, behind all of them."""
    used = Event("used", ev.USAGE, REF, {}, {})
    before, now = [*events(1, 2), used, *events(3)], [*events(1, 2, 8, 9), used, *events(3)]
    texts = exported(before)
    assert recorded([output((1, None))], now, unread={1}, known=((("e1", "used"),), texts)).parts == (("e1", "e2"),)
    assert recorded([output((1, None))], before, unread={1}, known=((("e1", "used"),), texts)).parts == (
        ("e1", "used"),
    )
    assert recorded([output((1, None))], now, unread={1}, known=((("e1", "e3"),), texts)).parts == (
        ("e1", "e2"),
        ("e3", "e3"),
    )


def test_what_another_version_exported_is_not_compared():
    """Its ids may be others: then all of a part counts, if both of its ends are there."""
    texts = exported(events(1))
    texts.is_comparable = False
    known = ((("e1", "e3"), ("e4", "e9")), texts)
    assert recorded([output((1, None))], events(1, 2, 3, 4), unread={1}, known=known).parts == (("e1", "e3"),)


def test_no_part_begins_or_ends_with_what_is_provisional():
    """It is in no transcript yet, and may have another id once it is. What is in the middle is no end."""
    for ranges, provisional, parts in (
        ([(1, None)], {"e4"}, (("e1", "e3"),)),
        ([(1, None)], {"e2"}, (("e1", "e4"),)),
        ([(2, None)], {"e2"}, (("e3", "e4"),)),
        ([(4, None)], {"e4"}, ()),
        ([(1, 2), (4, None)], {"e3"}, (("e1", "e2"), ("e4", "e4"))),
    ):
        assert recorded([output(*ranges)], events(1, 2, 3, 4), provisional=provisional).parts == parts
