"""What became of the records of a session, counted up to each event."""

import json

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.receipt import RangeReceipts, RecordTally, SourceCount, left_out, receipt, told

REF = SessionRef("claude", "s")


def event(kind=ev.ASSISTANT_MESSAGE, offset=0, **payload):
    return Event("claude:s:1", kind, REF, payload, {"offset": offset})


def played(records, tally=None):
    """Return a tally after records: each is told with an event, or left out under its name."""
    tally = tally or RecordTally()
    for name in records:
        if name == "told":
            tally.count(told([event()]))
            tally.pass_event()
        else:
            tally.count(left_out(name))
    return tally


RECORDS = st.lists(st.sampled_from(["told", "progress", "hook"]), max_size=12)


# -- what becomes of a record --------------------------------------------------------------------------


def test_a_record_with_a_raw_part_is_not_understood():
    """It counts by the type of that part, whatever else is in it."""
    assert told([event(), event(ev.PROVIDER_RAW, rawType="new"), event()]) == ("notUnderstood/new",)


def test_encrypted_thinking_is_a_gap():
    """The record is told, once, and so is the gap."""
    thought = event(ev.ASSISTANT_THINKING, text="", encrypted=True)
    assert told([thought, thought, event()]) == ("told", "gaps/encryptedThinking")
    assert told([event(ev.ASSISTANT_THINKING, text="Hm.")]) == ("told",)


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
    tally.pass_event()
    tally.pass_event()
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


def test_the_record_of_an_echo_repeats():
    """All of its events together are one record that says nothing new."""
    tally = RecordTally()
    for offset in (0, 10):
        tally.count(told([event()]))
        tally.note_echo(event(offset=offset), "/s.jsonl")
        tally.note_echo(event(offset=offset), "/s.jsonl")
    assert receipt(played(["told"], tally).up_to())["repeated"] == 2
    assert receipt(tally.up_to())["told"] == 1


# -- each record once ----------------------------------------------------------------------------------


def counted(*steps, again=False):
    """Return the sums after steps: `new` and `known` records, `-` for one without an event, `|` for a new document."""
    tally = RecordTally()
    count = SourceCount(tally, again=again)
    is_part = "|" in steps
    for step in steps:
        if step == "|":
            count.begin_document()
        elif step == "-":
            count.skip(left_out("x"), again=is_part)
        else:
            count.begin(("told",), again=is_part)
            if step == "new":
                count.confirm()
                count.confirm()
                tally.pass_event()
            count.end()
    tally.pass_event()
    row = receipt(tally.up_to())
    return (row["told"], row["repeated"], row["leftOut"].get("x", 0)) if row else (0, 0, 0)


def test_a_record_counts_once_with_the_first_event_that_is_new():
    """One without a new event was written again by the client."""
    assert counted("-", "new", "known", "-", "new") == (2, 1, 2)


def test_what_katod_reads_again_is_not_counted_again():
    """Until there is something new, with what stands before that."""
    assert counted("-", "known", "-", "known", "-", "new", "-", "new", again=True) == (2, 0, 2)
    assert counted("-", "known", again=True) == (0, 0, 0)


def test_a_document_is_read_from_its_beginning_at_each_change():
    """Its messages count once, and so do those without an event between them."""
    first = ["|", "new", "-", "new"]
    assert counted(*first) == (2, 0, 1)
    assert counted(*first, "|", "known", "-", "known", "-", "new") == (3, 0, 2)


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


def test_a_receipt_is_never_negative():
    """After an upgrade, katod may understand more of what was read before."""
    receipts = RangeReceipts({"notUnderstood/new": 5, "told": 1})
    assert receipts.end({"told": 8}) == {
        "records": 7, "told": 7, "repeated": 0, "leftOut": {}, "notUnderstood": {}, "gaps": {},
    }  # fmt: skip
