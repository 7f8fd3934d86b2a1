"""What became of the records of a session, counted up to each event."""

import json

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.receipt import RangeReceipts, RecordTally, left_out, receipt, translated, translated_later
from tests.support.tallies import PATH, count_record, pass_record, read_in_all, skip_record

REF = SessionRef("claude", "s")


def event(kind=ev.ASSISTANT_MESSAGE, offset=0, **payload):
    return Event("claude:s:1", kind, REF, payload, {"offset": offset})


def played(records, tally=None):
    """Return a tally after records: each is told with an event, or left out under its name."""
    tally = tally or RecordTally()
    for name in records:
        if name == "told":
            pass_record(tally, event())
        else:
            skip_record(tally, name)
    return tally


RECORDS = st.lists(st.sampled_from(["told", "progress", "hook"]), max_size=12)


# -- what becomes of a record --------------------------------------------------------------------------


def test_a_record_with_a_raw_part_is_not_understood():
    """It counts by the type of that part, whatever else is in it."""
    assert translated([event(), event(ev.PROVIDER_RAW, rawType="new"), event()]) == ("notUnderstood/new",)


def test_encrypted_thinking_is_a_gap():
    """The record is told, once, and so is the gap."""
    thought = event(ev.ASSISTANT_THINKING, text="", encrypted=True)
    assert translated([thought, thought, event()]) == ("told", "gaps/encryptedThinking")
    assert translated([event(ev.ASSISTANT_THINKING, text="Hm.")]) == ("told",)


def test_a_long_name_is_cut():
    """It is of whoever wrote the file, and is kept in the state."""
    [key] = left_out("x" * 10_000)
    assert len(key) < 100


# -- up to an event ------------------------------------------------------------------------------------


def test_what_follows_the_last_event_does_not_count_yet():
    """So a range that ends after its event is the same whenever it is asked."""
    tally = played(["told", "progress", "told"])
    before = tally.up_to()
    assert before == {"told": 2, "leftOut/progress": 1}
    assert played(["progress", "hook"], tally).up_to() == before
    assert played(["told"], tally).up_to() == {"told": 3, "leftOut/progress": 2, "leftOut/hook": 1}


def test_before_the_last_event_its_own_record_does_not_count():
    """A range begins before the record of its first event."""
    assert played(["told", "progress", "told"]).before() == {"told": 1, "leftOut/progress": 1}
    assert played([]).before() == {}


def test_the_events_of_one_record_count_it_once():
    """Each of them is up to the same record."""
    tally = played(["told"])
    tally.pass_event(event(), PATH)
    tally.pass_event(event(), PATH)
    assert (tally.before(), tally.up_to()) == ({}, {"told": 1})


@given(RECORDS, RECORDS)
def test_a_tally_goes_on_from_its_state(first, then):
    """The state is plain JSON; whether katod was restarted in between makes no difference."""
    whole, half = played([*first, *then]), played(first)
    again = played(then, RecordTally(json.loads(json.dumps(half.kept()))))
    assert (again.before(), again.up_to(), again.kept()) == (whole.before(), whole.up_to(), whole.kept())


def test_too_many_names_are_counted_together():
    """The state stays small, and the sum is that of all records."""
    tally = played([*(f"kind {n}" for n in range(1000)), "told"])
    row = receipt(tally.up_to())
    assert len(tally.kept()["before"]) < 200
    assert row["records"] == 1001
    assert row["leftOut"]["…"] > 800


# -- events that pass later ----------------------------------------------------------------------------


def waiting(*names, kind=ev.ASSISTANT_MESSAGE):
    """Return a tally after records whose events wait, and these events; `-` is a record without one."""
    tally, events = RecordTally(), []
    for name in names:
        if name == "-":
            skip_record(tally, "x")
            continue
        one = Event(name, kind, REF, {"rawType": "new"} if kind == ev.PROVIDER_RAW else {}, {"offset": 0})
        count_record(tally, one)
        events.append(one)
    return tally, events


def test_a_record_counts_when_its_event_passes():
    """However many were read while it waited, and also if it waits over a restart."""
    tally, (one, two) = waiting("one", "-", "two")
    assert tally.up_to() == {}
    again = RecordTally(json.loads(json.dumps(tally.kept())))
    for here in (tally, again):
        here.pass_event(one, PATH)
        assert (here.before(), here.up_to()) == ({}, {"told": 1})
        here.pass_event(two, PATH)
        assert (here.before(), here.up_to()) == ({"told": 1, "leftOut/x": 1}, {"told": 2, "leftOut/x": 1})


def test_an_event_that_passes_before_an_earlier_one_has_the_records_up_to_its_own():
    """As a call has that comes in the file after its result; the result adds nothing then."""
    tally, (result, call) = waiting("result", "-", "call")
    tally.pass_event(call, PATH)
    assert tally.up_to() == {"told": 2, "leftOut/x": 1}
    tally.pass_event(result, PATH)
    assert tally.up_to() == {"told": 2, "leftOut/x": 1}


def test_the_record_of_an_echo_repeats():
    """All of its events together are one record that says nothing new, whatever it would be otherwise."""
    for kind in (ev.ASSISTANT_MESSAGE, ev.PROVIDER_RAW):
        tally, events = waiting("one", "two", kind=kind)
        for echo in [*events, *events]:
            tally.note_echo(echo, PATH)
        row = receipt(played(["told"], tally).up_to())
        assert (row["records"], row["told"], row["repeated"]) == (3, 1, 2)


def test_an_event_of_another_source_says_nothing_of_a_place():
    """Two files of one session have records at the same places."""
    tally = RecordTally()
    tally.source(PATH).hold(translated(()), "@0")
    tally.pass_event(event(), "/other.jsonl")
    assert tally.up_to() == {}
    tally.pass_event(event(), PATH)
    assert tally.up_to() == {"told": 1}


# -- each record once ----------------------------------------------------------------------------------


def counted(*steps, is_past=False):
    """Return the sums after steps.

    `new`, `known` and `waits` are records, `-` is one without an event, `held` one whose event comes later, `unread` one
    that only a newer form of the document has, and with `|` the source is read again.
    """
    tally = RecordTally()
    for number, step in enumerate(steps):
        source, one = tally.source(PATH), Event(f"{number}", ev.ASSISTANT_MESSAGE, REF, {}, {"offset": number})
        if step == "|":
            source.begin_reading()
        elif step == "-":
            skip_record(tally, "x")
        elif step == "held":
            source.hold(translated(()), "@held")
        elif step == "unread":
            source.begin(translated(()))
            source.leave()
            source.end()
        elif step == "new":
            pass_record(tally, one)
        else:
            source.begin(translated(()), "@waits" if step == "waits" else "")
            for _ in range(2 * (step == "waits" or is_past)):
                source.confirm(one.id, is_past=is_past)
            source.end()
    row = read_in_all(tally)
    return (row["told"], row["repeated"], row["leftOut"].get("x", 0)) if row else (0, 0, 0)


def test_a_record_counts_once_with_the_first_event_that_is_new():
    """One without a new event was written again by the client."""
    assert counted("-", "new", "known", "-", "new") == (2, 1, 2)


def test_what_katod_reads_again_is_not_counted_again():
    """Nor is what has no event, if what follows it was known; what is new counts wherever it is."""
    first = ["-", "new", "-", "new", "-"]
    assert counted(*first, "|", "-", "known", "-", "known", "-") == (2, 0, 3)
    assert counted(*first, "|", "-", "known", "-", "new", "-", "known", "-", "known") == (3, 1, 4)
    assert counted(*first, "|", "-", "known", "-", "known", "-", "new", "known", "-", "new") == (4, 1, 4)


def test_what_was_taken_away_does_not_hide_what_is_new():
    """As where an agent shortens its file and goes on."""
    first = ["new", "-", "-", "-", "new", "new"]
    assert counted(*first, "|", "known", "-", "new", "-", "new") == (5, 0, 5)


def test_what_is_still_to_be_read_is_counted_when_it_is():
    """Until then nothing is known of it, and it does not repeat anything."""
    assert counted("new", "unread", "unread") == (1, 0, 0)
    assert counted("new", "unread", "-", "unread", "|", "known", "new", "-", "new") == (3, 0, 1)


def test_a_record_that_waits_is_counted_once_however_often_it_is_read():
    """As the last message of a document that is saved again and again."""
    assert counted("new", "waits", "|", "known", "waits", "|", "known", "waits") == (2, 0, 0)
    assert counted("new", "waits", "waits") == (2, 1, 0)
    assert counted("held", "|", "held", "new") == (2, 0, 0)


def test_what_a_message_has_besides_is_no_record():
    """Also if it waits while its document is read again."""
    tally = played(["told"])
    source = tally.source(PATH)
    source.begin_more(translated_later(event(ev.PROVIDER_RAW, rawType="new")))
    source.confirm("more")
    source.end()
    source.begin_reading()
    source.begin(translated(()))
    source.end()
    assert read_in_all(tally)["records"] == 1


def test_where_no_event_has_an_id_what_was_counted_is_not_counted_again():
    """All events of such a source look new when it is read again; what it has besides is."""
    assert counted("new", "-", "new", "|", "again", "-", "again", "-", "again", is_past=True) == (3, 0, 2)


# -- receipts ------------------------------------------------------------------------------------------


def test_the_parts_of_a_receipt_are_all_records():
    """Gaps are none: their records are told."""
    row = receipt({"told": 2, "repeated": 1, "leftOut/a/b": 3, "notUnderstood/c": 4, "gaps/encryptedThinking": 2})
    assert row == {
        "records": 10, "told": 2, "repeated": 1, "leftOut": {"a/b": 3}, "notUnderstood": {"c": 4},
        "gaps": {"encryptedThinking": 2},
    }  # fmt: skip
    assert receipt({}) == {}


def test_the_receipts_of_the_ranges_are_summed():
    """With the range that is still open."""
    tally, receipts = played(["told"]), RangeReceipts()
    receipts.begin(tally, tally.before())
    played(["progress", "told"], tally)
    assert receipts.end(tally.up_to())["records"] == 3
    played(["hook", "told"], tally)
    receipts.begin(tally, tally.up_to())
    played(["told"], tally)
    assert receipts.total()["records"] == 4
    assert receipts.total()["leftOut"] == {"progress": 1}


def test_a_message_that_ends_a_range_and_begins_the_next_counts_once_in_all():
    """In the receipt of each range it counts."""
    tally, receipts = played(["told"]), RangeReceipts()
    receipts.begin(tally, tally.before())
    played(["told"], tally)
    assert receipts.end(tally.up_to())["records"] == 2
    receipts.begin(tally, tally.before())
    played(["hook", "told"], tally)
    assert receipts.total()["records"] == 4
    assert receipts.end(tally.up_to())["records"] == 3
    assert receipts.total()["records"] == 4


def test_what_two_versions_counted_is_not_compared():
    """After an upgrade, katod may understand more of what was read before: then a range has no receipt."""
    receipts = RangeReceipts({"notUnderstood/new": 5, "told": 1})
    assert receipts.end({"told": 8}) == {}
    assert receipts.total() == {}


def test_gaps_keep_their_names():
    """However many names what is left out has."""
    tally = played(f"kind {n}" for n in range(1000))
    pass_record(tally, event(), ("told", "gaps/encryptedThinking"))
    assert receipt(tally.up_to())["gaps"] == {"encryptedThinking": 1}
