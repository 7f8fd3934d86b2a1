"""One output while katod works on it: what becomes its intent."""

import json

import pytest

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.redact.redactor import REDACTED
from katod.metadata import SessionMetadata
from katod.model import Options, Range, SessionKey
from katod.record.output import Output
from katod.store.rows import OutputRow
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


@pytest.mark.parametrize(("attachments", "start", "saved"), [("save", "", 1), ("name", "", 0), ("save", "later", 0)])
def test_attachments_are_gathered_where_they_are_to_be_saved(parts, attachments, start, saved):
    """Attachments are collected only if they are to be saved and their event is in the output."""
    output = Output(row(parts.world, attachments=attachments)._replace(ranges=(Range(start),)))
    picture = {"type": "image", "mediaType": "image/png", "bytes": 3, "sha256": "sha"}
    event = message("one", blobs=(("sha", "image/png", "AAAA"),))
    event.payload["attachments"] = [picture]
    output.take(event, SessionMetadata(KEY))
    assert output.take_assets() == [("image/png", "AAAA")] * saved
