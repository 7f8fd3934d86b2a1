"""Which events of a session an output contains, and the marks between them."""

import json
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.lines import Lines
from katod.metadata import SessionMetadata
from katod.model import Options, Range, SessionKey
from katod.receipt import RecordTally
from katod.record import ranges as module
from katod.record.ranges import RangePrinter, recorded
from katod.store.rows import OutputRow
from tests.looping import each
from tests.support.tallies import pass_record, skip_record

KEY = SessionKey("claude", "s")


class Plain:
    """A format that shows `H` for the head, an event's id, and `<mark>`; ids with a dash are not shown."""

    def __init__(self, _options, state=None):
        self.printed = (state or {}).get("printed", 0)

    def state(self):
        return {"printed": self.printed}

    def head(self, metadata, time):
        return f"H({metadata.title}{time})"

    def event(self, event, _metadata):
        self.printed += 1
        return "" if "-" in event.id else f" {event.id}"

    def mark(self, mark):
        shown = "".join(f"{'+' if on else '-'}{name}" for name, on in mark.switches)
        return f" <{mark.kind}{mark.time}{shown}>"

    def pause(self):
        return ""

    def end(self):
        return ""


@pytest.fixture(autouse=True)
def _plain_format():
    with mock.patch.object(module, "open_format", lambda _name, options, state: Plain(options, state)):
        yield


def event(name, time=""):
    return Event(name, ev.USER_MESSAGE, SessionRef("claude", "s"), {"text": ""}, {}, time=time)


def begun(*ranges, state=None):
    return RangePrinter("markdown", Options(), list(ranges), state)


class Shown(Lines):
    """A format that keeps the ids of its events, and of receipts how many records were told and left out."""

    def __init__(self, shown):
        self.shown = shown

    def event(self, event, _metadata):
        row = event.payload
        self.shown += [(row["told"], row["leftOut"].get("x", 0)) if event.kind == ev.RECEIPT else event.id]
        return ""


def received(ranges, names, **options):
    """Return what a recording has of a session: each letter is an event, each other sign a record without one.

    After each event, the printer is that of a new process.
    """
    shown, state, metadata = [], None, SessionMetadata(KEY, None, RecordTally())
    options = Options(**{"receipts": True} | options)
    for name in names:
        if not name.isalpha():
            skip_record(metadata.tally, "x")
        else:
            pass_record(metadata.tally, event(name))
            metadata.observe(event(name))
            printer = RangePrinter("jsonl", options, ranges, state, printer=Shown(shown))
            printer.take(event(name), metadata)
            state = printer.state()
    return shown


def play(printer, names, time=""):
    metadata = SessionMetadata(KEY)
    return "".join(printer.take(event(name, time), metadata) for name in names)


# -- ranges ------------------------------------------------------------------------------------------


def test_events_before_the_range_do_not_print():
    """Events before a range are not written."""
    assert play(begun(Range("c")), "abcde") == "H() <started> c d e"


def test_range_without_a_start_begins_with_the_session():
    """A range without a start begins with the first event of the session."""
    assert play(begun(Range("")), "abc") == "H() <started> a b c"


def test_range_ends_with_its_last_event():
    """The stop mark is after the last event of a range, and nothing follows it."""
    printer = begun(Range("b", end="d"))
    assert play(printer, "abcdefg") == "H() <started> b c d <stopped>"
    assert printer.done


def test_recording_goes_on_in_the_same_output():
    """A second range follows the first, without a second head."""
    printer = begun(Range("b", end="c"), Range("e"))
    assert play(printer, "abcdef") == "H() <started> b c <stopped> <started> e f"
    assert not printer.done


def test_range_within_one_event():
    """A range may begin and end at the same event."""
    assert play(begun(Range("b", end="b")), "abc") == "H() <started> b <stopped>"


def test_range_from_the_shell_begins_behind_its_event():
    """A range requested from the shell begins after the last event, with its mark there."""
    assert play(begun(Range("b", inclusive=False, start_time="9")), "abcd") == "H(9) <started9> c d"


def test_ranges_from_the_shell_end_and_begin_at_one_event():
    """Ranges that the shell ends and begins between two events are marked there, in order."""
    ranges = [Range("a", inclusive=False, end="c"), Range("c", inclusive=False, end="c"), Range("c", inclusive=False)]
    shown = "H() <started> b c <stopped> <started> <stopped> <started> d"
    assert play(begun(*ranges), "abcd") == shown


def test_range_ends_before_the_first_event_that_is_no_part_of_it():
    """That event may begin the next range; a mark of the end has its time."""
    printer = begun(Range("b", until="d", end="f", end_mark="unfinished"), Range("d", end="e"))
    assert play(printer, "abcdefg", time="5") == "H(5) <started5> b c <unfinished5> <started5> d e <stopped5>"
    assert printer.done
    alone = begun(Range("b", marked=False, until="d", end="f", end_mark=""))
    assert (play(alone, "abcdefg"), alone.done) == ("H() b c", True)


def test_range_that_ended_is_not_begun_again():
    """An event of a range that has ended does not reopen it when its id appears again."""
    assert play(begun(Range("b", end="c")), "abcbc") == "H() <started> b c <stopped>"


# -- marks and heads ---------------------------------------------------------------------------------


def test_unmarked_range_prints_no_mark():
    """An export is a copy: its start and end have no marks."""
    assert play(begun(Range("", marked=False, end="c", end_mark="")), "abcd") == "H() a b c"


def test_capture_is_marked_where_it_was_asked_for():
    """A capture begins with the session, but its mark is before the event that requested it."""
    shown = play(begun(Range("", mark_at="c", switches=(("tools", True),))), "abcd", time="7")
    assert shown == "H(7) a b <started7+tools> c d"


def test_marks_carry_times_and_switches():
    """A mark has the time of its event, or the one given for the range."""
    ranges = [Range("a", end="b", switches=(("thinking", True),)), Range("c", start_time="8", end="d", end_time="9")]
    shown = "H(5) <started5+thinking> a b <stopped5> <started8> c d <stopped9>"
    assert play(begun(*ranges), "abcd", time="5") == shown


def test_a_range_from_the_shell_without_a_time_is_marked_at_that_of_its_event():
    """Also if another range ends there."""
    ranges = [Range("a", end="b"), Range("b", inclusive=False), Range("x")]
    assert play(begun(*ranges), "abc", time="5") == "H(5) <started5> a b <stopped5> <started5> c"


def test_after_a_pause_a_recording_is_resumed():
    """Its mark says so; that of a range after any other end does not, nor that of the first one."""
    ranges = [Range("a", end="b", end_mark="paused"), Range("c", end="d"), Range("e", end="f", end_mark="paused")]
    shown = "H() <started> a b <paused> <resumed> c d <stopped> <started> e f <paused>"
    assert play(begun(*ranges), "abcdefg") == shown


def test_what_waits_in_a_range_is_printed_when_it_is_released():
    """Outside of a range nothing waits."""
    printer = begun(Range("b"))
    with mock.patch.object(Plain, "pause", return_value=" waited"):
        assert printer.release() == ""
        play(printer, "ab")
        assert printer.release() == " waited"


def test_exclusion_has_a_mark_of_its_own():
    """A recording ended by the settings has a mark of its own."""
    assert play(begun(Range("a", end="b", end_mark="excluded")), "abc") == "H() <started> a b <excluded>"


def test_event_that_does_not_print_opens_and_closes_ranges_all_the_same():
    """Commands are not shown, but ranges begin and end at them."""
    assert play(begun(Range("b-", end="d-")), ["a", "b-", "c", "d-", "e"]) == "H() <started> c <stopped>"


def test_head_shows_the_facts_of_when_the_output_was_made():
    """The head uses the metadata that were frozen with the output."""
    printer = begun(Range(""))
    printer.head_metadata = SessionMetadata(KEY, {"title": "frozen"})
    assert play(printer, "a").startswith("H(frozen)")


# -- interruptions -----------------------------------------------------------------------------------


@each("kind", ["edited", "gap"])
def test_interruption_is_marked_before_the_next_text(kind):
    """The mark of an interruption is written once, where the recording continues."""
    printer = begun(Range("a"))
    shown = play(printer, "a")
    printer.interrupt(kind)
    assert shown + play(printer, ["b-", "c", "d"]) == f"H() <started> a <{kind}> c d"


def test_interruption_is_marked_before_the_next_mark():
    """If only a stop follows, its mark is after that of the interruption."""
    printer = begun(Range("a", end="b-"))
    play(printer, "a")
    printer.interrupt("edited")
    assert play(printer, ["b-"]) == " <edited> <stopped>"


def test_new_file_after_a_lost_one_has_a_head():
    """A file that continues a lost one begins with a head and a mark."""
    printer = begun(Range("a"))
    play(printer, "a")
    printer.interrupt("continued")
    assert play(printer, "bc") == "H() <continued> b c"


def test_new_file_after_a_lost_one_has_a_head_also_when_the_recording_stops():
    """A file that contains only the end of a recording also begins with a head."""
    printer = begun(Range("a", end="b-"))
    play(printer, "a")
    printer.interrupt("continued")
    assert play(printer, ["b-"]) == "H() <continued> <stopped>"


# -- state -------------------------------------------------------------------------------------------

RANGES = st.lists(
    st.builds(
        lambda start, length, inclusive, marked: (start, length, inclusive, marked),
        st.integers(1, 3), st.integers(0, 3), st.booleans(), st.booleans(),
    ),
    max_size=3,
)  # fmt: skip


def ranges_of(drawn):
    """Return consecutive ranges; the last one is open."""
    at, made = 0, []
    for start, length, inclusive, marked in drawn:
        at += start
        made.append(Range(str(at), inclusive=inclusive, marked=marked, end=str(at + length)))
        at += length
    if made:
        made[-1] = made[-1]._replace(end="")
    return made


@given(RANGES, st.integers(0, 20), st.sampled_from(["", "edited", "continued"]))
def test_recorder_goes_on_from_its_state(drawn, cut, interruption):
    """A printer restored from JSON between any two events writes the same as one that was not interrupted."""

    def run(*, reopened):
        printer = begun(*ranges_of(drawn))
        shown = play(printer, map(str, range(cut)))
        if interruption:
            printer.interrupt(interruption)
        if reopened:
            printer = begun(*ranges_of(drawn), state=json.loads(json.dumps(printer.state())))
        return shown + play(printer, map(str, range(cut, 20)))

    assert run(reopened=True) == run(reopened=False)


@given(RANGES)
def test_events_in_ranges_print_once_and_no_others_do(drawn):
    """Each event of a range is written once and in order, and no other event is."""
    ranges = ranges_of(drawn)
    inside = {n for r in ranges for n in range(int(r.start) + (not r.inclusive), int(r.end or 29) + 1)}
    words = play(begun(*ranges), map(str, range(30))).split()
    assert [int(word) for word in words if word.isdigit()] == sorted(inside)


# -- receipts ----------------------------------------------------------------------------------------


def test_a_range_ends_with_a_receipt_of_the_records_in_it():
    """From that of its first event to that of its last one; what is left out before and after is not in it."""
    assert received([Range("b", end="d")], "a-b--c-d--e") == ["b", "c", "d", (3, 3)]


def test_a_range_that_begins_with_the_session_has_all_records_before_its_first_event():
    """Nothing of the session is before it."""
    assert received([Range("", end="b", end_mark="")], "--a-b-") == ["a", "b", (2, 3)]


def test_a_range_after_an_event_does_not_have_its_record():
    """As when the shell begins it: what is left out between the event and the next one is in it."""
    assert received([Range("a", inclusive=False, end="c")], "a-b-c-") == ["b", "c", (2, 2)]


def test_each_range_has_a_receipt():
    """What is between two of them is in neither."""
    assert received([Range("a", end="b"), Range("d", end="e")], "a-b-c-d-e") == ["a", "b", (2, 1), "d", "e", (2, 1)]


def test_exchanges_that_end_before_an_event_do_not_have_its_record():
    """The event after them may be the command that keeps them."""
    assert received([Range("a", until="c", end="d")], "a-b-c-d") == ["a", "b", (2, 2)]


def test_a_range_without_records_has_no_receipt():
    """A pause that is ended by a stop has none."""
    assert received([Range("a", end="b"), Range("b", inclusive=False, end="b")], "abc") == ["a", "b", (2, 0)]


def test_a_recording_of_before_there_were_receipts_has_none():
    """Its export is what was written to it."""
    assert received([Range("b", end="d")], "a-b--c-d--e", receipts=False) == ["b", "c", "d"]


def test_a_receipt_is_named_by_the_last_event_of_its_range():
    """It has the time of what was said last: katod's own clock is in no event."""
    metadata = SessionMetadata(KEY, None, RecordTally())
    row = OutputRow(
        1, 1, Path("/"), Path("/n.jsonl"), "jsonl", 1, Options(receipts=True), {"key": [*KEY], "metadata": {}},
        ranges=(Range("", end="b", end_time="9"),),
    )  # fmt: skip

    def replayed():
        for name in "abc":
            pass_record(metadata.tally, event(name))
            metadata.observe(event(name, f"time of {name}"))
            yield event(name), metadata

    events = [one for one, _ in recorded(row, replayed())]
    assert [one.id for one in events] == ["a", "b", "b:receipt"]
    assert (events[-1].time, events[-1].time_source, events[-1].session) == ("time of b", "derived", SessionRef(*KEY))
