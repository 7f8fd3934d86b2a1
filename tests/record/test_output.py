"""One output while katod works on it: what becomes its intent."""

import json
from pathlib import Path

import pytest

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.redact.redactor import REDACTED
from katod.metadata import SessionMetadata
from katod.model import Options, Range, SessionKey
from katod.record.output import Output
from katod.record.ranges import RangePrinter
from katod.store.rows import OutputRow
from katod.write.output import Comparison, FileFingerprint
from tests.looping import each
from tests.support.parts import put
from tests.support.records import SESSION

KEY = SessionKey("claude", SESSION)


def row(world, **options):
    """Return an output with all of a session."""
    head = {"key": list(KEY), "metadata": {}}
    options = Options(**options)
    return OutputRow(0, 1, world.out, world.out / "n.jsonl", "jsonl", 1, options, head, ranges=(Range(""),))


def message(text, **fields):
    return Event(f"claude:{SESSION}:{text}", ev.USER_MESSAGE, SessionRef(*KEY), {"text": text}, {}, **fields)


def test_a_step_becomes_the_intent_with_the_ends_of_its_events(parts):
    """The bounds show, after a crash, which events were written; the next step begins with an empty intent."""
    output, metadata = Output(row(parts.world)), SessionMetadata(KEY)
    output.take(message("one"), metadata)
    output.take(message("zwölf"), metadata)
    output.stage()
    *_, first, second = output.row.intent.split(b"\n")[:-1]
    assert [json.loads(line)["payload"]["text"] for line in (first, second)] == ["one", "zwölf"]
    assert output.row.bounds[-2:] == (len(output.row.intent) - len(second) - 1, len(output.row.intent))
    put(output, intent=None)
    output.stage()
    assert (output.row.intent, output.row.bounds) == (None, ())


def test_an_intent_that_is_not_written_yet_is_never_replaced(parts):
    """Staging with an open intent is an error: its text would be lost."""
    output = Output(row(parts.world))
    output.add("one")
    output.stage()
    output.add("two")
    with pytest.raises(RuntimeError, match="would be lost"):
        output.stage()
    assert output.row.intent == b"one"


def test_a_staged_output_knows_where_its_printer_is(parts):
    """The printer's state is stored with the intent, so that the next process resumes from there."""
    output = Output(row(parts.world))
    output.take(message("one"), SessionMetadata(KEY))
    output.stage()
    assert output.row.printer["active"]
    assert Output(output.row).printer.active


def test_redactions_are_counted(parts):
    """Redactions are counted per output, for `katod status`."""
    output = Output(row(parts.world))
    output.add(f"{REDACTED}x {REDACTED}y {REDACTED}z")
    output.add("nothing")
    assert output.row.redactions == 3


@pytest.mark.whole
@pytest.mark.parametrize(("attachments", "start", "saved"), [("save", "", 1), ("name", "", 0), ("save", "later", 0)])
def test_attachments_are_gathered_where_they_are_to_be_saved(parts, attachments, start, saved):
    """Attachments are collected only if they are to be saved and their event is in the output."""
    output = Output(row(parts.world, attachments=attachments)._replace(ranges=(Range(start),)))
    picture = {"type": "image", "mediaType": "image/png", "bytes": 3, "sha256": "sha"}
    event = message("one", blobs=(("sha", "image/png", "AAAA"),))
    event.payload["attachments"] = [picture]
    output.take(event, SessionMetadata(KEY))
    assert output.assets == [("image/png", "AAAA")] * saved


def test_a_row_names_the_pictures_that_its_text_waits_for(parts):
    """Only as long as it does: another process reads them in the session again."""
    output = Output(row(parts.world, attachments="save"))
    output._assets += [("image/png", "aGk=")]
    output.stage()
    output.keep_printer()
    [name] = Output(output.row).lost_assets
    assert (name[-4:], output.lost_assets) == (".png", frozenset())
    output.saved_asset()
    output.saved_assets()
    output.keep_printer()
    assert (output.assets, Output(output.row).lost_assets) == ([], frozenset())


def test_an_undone_step_leaves_nothing_of_it(parts):
    """Neither text, nor pictures, nor how its file was found."""
    output = Output(row(parts.world, attachments="save"))
    before = output.row
    output.take(message("one", blobs=(("sha", "image/png", "AAAA"),)), SessionMetadata(KEY))
    output.note_missing("once")
    output.restore(before)
    assert (output.missing, output.assets, output.printer.active) == ("", [], False)
    output.stage()
    assert output.row.intent is None


def test_text_that_cannot_be_encoded_is_written_all_the_same(parts):
    """A lone surrogate, which an agent may have escaped in its JSON, becomes a question mark."""
    output = Output(row(parts.world))
    output.add("a\ud800b")
    output.stage()
    assert output.row.intent == b"a?b"


def test_a_range_begins_when_the_head_says_so(parts):
    """`katod status` shows since when a recording runs: since its last range was opened, as the ledger has it, too."""
    ledger, session = parts.ledger, parts.ledger.add_session(SessionKey("claude", "a"))
    output = Output(ledger.add_output(row(parts.world)._replace(id=0, session=session.id, ranges=())))
    for number, since in enumerate(("2026-02-10T23:00:00Z", "2026-02-11T08:00:00Z"), 1):
        output.begin(Range("one"), since)
        output.end("two", since, "stopped")
        output.save(ledger)
        [stored] = ledger.outputs()
        assert (stored.since, len(stored.ranges)) == (since, number)


def test_an_output_that_gets_its_name_is_printed_with_it(parts):
    """What prints it has the title of the named row, and goes on where it was."""
    output = Output(row(parts.world))
    output.hold("")
    output.take(message("one"), SessionMetadata(KEY))
    output.release(lambda held: held._replace(head=held.head | {"metadata": {"title": "named"}}))
    assert (output.printer.head_metadata.title, output.printer.active, output.waits) == ("named", True, False)
    output.stage()
    assert b'"named"' not in output.row.intent
    assert b'"one"' in output.row.intent


def test_only_words_of_the_person_say_that_they_did_not_leave(parts):
    """What the agent goes on to say in a session says nothing of where the person is."""
    output = Output(row(parts.world)._replace(successor="other"))
    for event, left in ((message("one"), "other"), (message("two", typed=True), "")):
        output.take(event, SessionMetadata(KEY))
        assert output.row.successor == left


def test_another_version_of_a_format_goes_on_with_its_own_state(parts):
    """Whatever printed the output before is dropped."""
    output = Output(row(parts.world)._replace(format="markdown"))
    output.take(message("one", typed=True), SessionMetadata(KEY))
    output.keep_printer()
    fresh = RangePrinter.of(output.row, None).state()["format"]
    assert output.printer.state()["format"] != fresh
    output.upgrade(7, fresh)
    assert (output.row.version, output.printer.state()["format"], output.printer.active) == (7, fresh, True)


def test_an_edit_is_marked_before_the_next_text(parts):
    """With a printer at once; otherwise its next one does so, as an intent is completed without one."""
    output = Output(row(parts.world)._replace(format="markdown"))
    output.note_edited()
    assert output.row.printer == {"edited": True}
    assert "by hand" in output.printer.state()["pending"]
    other = Output(row(parts.world)._replace(format="markdown"))
    assert other.printer.state().get("pending") is None
    other.note_edited()
    assert "by hand" in other.row.printer["pending"]


@each(("change", "made", "reverted"), [("gone", False, False), ("reverted", True, True), ("edited", True, False)])
def test_a_file_that_others_changed_is_taken_as_it_is(change, made, reverted):
    """It is noted if it is an older copy, or gone."""
    output = Output(OutputRow(0, 1, Path("/o"), Path("/o/n.md"), "markdown", 1, Options(), {}, made=not made))
    output.adopt_change(Comparison(change, FileFingerprint(1, 2, 3, "tail")))
    assert (output.row.made, output.row.reverted) == (made, reverted)
    assert output.known == FileFingerprint(1, 2, 3, "tail")


@each(
    ("intent", "head", "expected"),
    [(None, b"head", (None, ())), (b"one", b"", (b"one", (3,))), (b"one", b"head", (b"headone", (4, 7)))],
)
def test_a_new_file_begins_with_a_head_if_text_follows(intent, head, expected):
    """The bounds of the events in the text are moved by it."""
    bounds = (3,) if intent else ()
    output = Output(
        OutputRow(0, 1, Path("/o"), Path("/o/n.md"), "markdown", 1, Options(), {}, intent=intent, bounds=bounds)
    )
    output.continue_in_new_file(head)
    assert (output.row.intent, output.row.bounds) == expected


def test_a_problem_is_counted_until_it_is_over():
    """`katod status` says what it is, and how often it was tried."""
    output = Output(OutputRow(0, 1, Path("/o"), Path("/o/n.md"), "markdown", 1, Options(), {}))
    output.park("full")
    output.park("still full")
    assert (output.row.problem, output.row.attempts) == ("still full", 2)
    output.clear_problem()
    assert (output.row.problem, output.row.attempts) == ("", 0)
