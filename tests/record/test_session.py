"""One session while it is recorded: what is written, what is stored, and what it is loaded from."""

import json

import pytest

from katod import events as ev
from katod.agents.claude.adapter import ClaudeAdapter
from katod.events import Event, SessionRef
from katod.formats.redact.redactor import REDACTED
from katod.metadata import SessionMetadata
from katod.model import Options, Range, SessionKey
from katod.record.session import Changes, LiveOutput
from katod.store.rows import OutputRow
from tests.support.records import SESSION, Claude
from tests.support.versions import set_format_version

KEY = SessionKey("claude", SESSION)
QUEUED = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:50:00.000Z"}


def row(world, **options):
    """Return an output with all of a session."""
    head = {"key": list(KEY), "metadata": {}}
    found = OutputRow(0, 1, world.out, world.out / "n.jsonl", "jsonl", 1, Options(**options), head)
    found.ranges.append(Range(""))
    return found


def message(text, **fields):
    return Event(f"claude:{SESSION}:{text}", ev.USER_MESSAGE, SessionRef(*KEY), {"text": text}, {}, **fields)


def recorded(parts, session):
    """Record a session from here on; return its output."""
    output = parts.output(session)
    output.ranges.append(Range(""))
    session.live.append(LiveOutput(output))
    return output


# -- what is written ---------------------------------------------------------------------------------


def test_a_step_becomes_the_intent_with_the_ends_of_its_events(parts):
    """The bounds show, after a crash, which events were written; the next step begins with an empty intent."""
    live, metadata = LiveOutput(row(parts.world)), SessionMetadata(KEY)
    live.take(message("one"), metadata)
    live.take(message("zwölf"), metadata)
    live.stage()
    *_, first, second = live.row.intent.split(b"\n")[:-1]
    assert [json.loads(line)["payload"]["text"] for line in (first, second)] == ["one", "zwölf"]
    assert live.row.bounds[-2:] == [len(live.row.intent) - len(second) - 1, len(live.row.intent)]
    live.row.intent = None
    live.stage()
    assert (live.row.intent, live.row.bounds) == (None, [])


def test_an_intent_that_is_not_written_yet_is_never_replaced(parts):
    """Staging with an open intent is an error: its text would be lost."""
    live = LiveOutput(row(parts.world))
    live.add("one")
    live.stage()
    live.add("two")
    with pytest.raises(RuntimeError, match="would be lost"):
        live.stage()
    assert live.row.intent == b"one"


def test_a_staged_output_knows_where_its_printer_is(parts):
    """The printer's state is stored with the intent, so that the next process resumes from there."""
    live = LiveOutput(row(parts.world))
    live.take(message("one"), SessionMetadata(KEY))
    live.stage()
    assert live.row.printer["active"]
    assert LiveOutput(live.row).printer.active


def test_redactions_are_counted(parts):
    """Redactions are counted per output, for `katod status`."""
    live = LiveOutput(row(parts.world))
    live.add(f"{REDACTED}x {REDACTED}y {REDACTED}z")
    live.add("nothing")
    assert live.row.redactions == 3


@pytest.mark.parametrize(("attachments", "start", "saved"), [("save", "", 1), ("name", "", 0), ("save", "later", 0)])
def test_attachments_are_gathered_where_they_are_to_be_saved(parts, attachments, start, saved):
    """Attachments are collected only if they are to be saved and their event is in the output."""
    output = row(parts.world, attachments=attachments)
    output.ranges[0].start = start
    live = LiveOutput(output)
    picture = {"type": "image", "mediaType": "image/png", "bytes": 3, "sha256": "sha"}
    event = message("one", blobs=(("sha", "image/png", "AAAA"),))
    event.payload["attachments"] = [picture]
    live.take(event, SessionMetadata(KEY))
    assert live.assets == [("image/png", "AAAA")] * saved


def test_the_changes_of_a_step_are_stored_with_it(parts):
    """Applied commands, refusals without the typed line, and outputs with their ranges are stored together."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    changes, output = Changes(), parts.output(session)
    output.ranges.append(Range("a"))
    changes.applied["key"] = None
    changes.refusals.append(("2026-02-10T22:36:18.000Z", "start", "why"))
    changes.outputs[output.id] = output
    changes.save(session.row, parts.ledger)
    assert parts.ledger.is_applied("key")
    [refusal] = parts.ledger.refusals()
    assert (refusal.session, refusal.word, refusal.reason) == (KEY, "start", "why")
    assert parts.ledger.outputs()[0].ranges == [output.ranges[0]]


# -- the session -------------------------------------------------------------------------------------


def test_a_session_is_wanted_while_it_is_recorded_or_may_be_soon(parts):
    """A session is wanted while it is recorded, may be auto-recorded, or holds text back."""
    source = parts.world.claude().append(Claude().user("one"))
    found = parts.source()
    session = parts.load(found)
    assert not session.is_wanted
    session.row.auto = "wanted"
    assert session.is_wanted
    session.row.auto = "off"
    output = recorded(parts, session)
    assert session.is_wanted
    output.ranges[-1].end = "e"
    assert not session.is_wanted
    source.append(QUEUED | {"operation": "enqueue", "content": "x"}, QUEUED | {"operation": "remove"})
    parts.read(session, found)
    assert session.is_wanted


def test_the_present_output_is_the_sessions_own_recorded_to_or_not(parts):
    """`present` is the session's current output, recorded to or not; `recording` is the open one."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    assert (session.recording, session.present) == (None, None)
    output, other = parts.output(session, "a"), parts.output(session, "b")
    session.row.output = output.id
    other.ranges.append(Range("x"))
    assert (session.recording, session.present) == (other, output)


def test_an_output_that_is_kept_is_stored_with_the_step(parts):
    """A kept output belongs to the session, and is stored with the step."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    output = parts.output(session)
    output.problem = "changed"
    session.keep(output)
    assert session.outputs == session.changes.outputs == {output.id: output}
    session.save(parts.ledger)
    session.saved()
    assert parts.ledger.outputs()[0].problem == "changed"
    assert session.changes.outputs == {}


def test_a_source_that_is_found_later_is_backfilled(parts):
    """A new source makes the session need a backfill; a known one changes nothing."""
    parts.world.claude().append(Claude().user("one"))
    first = parts.source()
    session = parts.load(first)
    session.backfilled = True
    session.add_source(first)
    assert session.backfilled
    parts.world.claude(folder="-home-me-other").append(Claude().user("two"))
    second = parts.source()
    session.add_source(second)
    assert (session.sources, session.backfilled) == ([first, second], False)


def everything(parts):
    return "\n".join(parts.ledger.db.iterdump())


def test_of_an_unrecorded_session_nothing_that_was_said_is_stored(parts):
    """Title, calls and states of an unrecorded session are not stored; its project is, for `katod sessions`."""
    make = Claude()
    parts.world.claude().append(make.user("private words"), make.runs("t1", "private call"))
    source = parts.source()
    session = parts.load(source)
    parts.read(session, source)
    [stored] = parts.ledger.sources_of(session.row.id)
    assert "private" not in everything(parts)
    assert (stored.state, stored.version, parts.ledger.session(session.row.id).metadata) == (None, None, None)
    assert parts.ledger.session(session.row.id).cwd == make.cwd


def test_a_recorded_session_is_stored_with_its_states(parts):
    """States are stored while the session is recorded, and removed by the first step after its end."""
    make = Claude()
    file = parts.world.claude().append(make.user("kept words"))
    source = parts.source()
    session = parts.load(source)
    output = recorded(parts, session)
    parts.read(session, source)
    [stored] = parts.ledger.sources_of(session.row.id)
    assert (stored.version, stored.translated) == (ClaudeAdapter.version, source.cursor.offset)
    assert parts.ledger.session(session.row.id).metadata["title"] == "kept words"
    output.intent, output.ranges[-1].end = None, "e"
    file.append(make.says("more"))
    parts.read(session, source)
    assert parts.ledger.session(session.row.id).metadata is None
    assert parts.ledger.sources_of(session.row.id)[0].state is None


# -- loading -----------------------------------------------------------------------------------------


@pytest.fixture
def two(parts):
    """Return a recorded session with two sources, read to their ends and stored."""
    make = Claude()
    parts.world.claude().append(make.user("one"))
    parts.world.claude(folder="-home-me-other").append(make.says("two"))
    sources = parts.sweep()
    session = parts.load(sources[0])
    output = recorded(parts, session)
    for source in sources:
        parts.read(session, source)
        output.intent = None
    parts.ledger.save_output(output)
    return parts, session


def test_a_session_is_taken_up_with_the_states_of_all_sources(two):
    """A session is loaded with the states of all its sources, so that nothing is translated again."""
    parts, session = two
    again = parts.load(session.sources[0])
    assert [source.translated for source in again.sources] == [source.cursor.offset for source in session.sources]
    assert all(source.state for source in again.sources)
    assert (again.metadata.title, again.metadata.model) == ("one", "claude-opus-4-6")
    assert [live.row.path.name for live in again.live] == ["n.md"]


def other_version(parts, session, monkeypatch):
    monkeypatch.setattr(ClaudeAdapter, "version", 99)


def cursor_moved(parts, session, monkeypatch):
    source = session.sources[1]
    source.cursor = source.cursor._replace(offset=source.cursor.offset - 1)


def cursor_scanned_past(parts, session, monkeypatch):
    source = session.sources[1]
    source.cursor = source.cursor._replace(offset=source.cursor.offset + 10)
    parts.ledger.save_source(source)


def metadata_dropped(parts, session, monkeypatch):
    session.row.metadata = None
    parts.ledger.save_session(session.row)


@pytest.mark.parametrize("change", [other_version, cursor_moved, cursor_scanned_past, metadata_dropped])
def test_states_are_used_only_if_all_sources_agree(two, monkeypatch, change):
    """If one state cannot be used, all sources are translated again, as they share the metadata."""
    parts, session = two
    change(parts, session, monkeypatch)
    again = parts.load(session.sources[0])
    assert [(source.state, source.translated) for source in again.sources] == [(None, 0)] * 2
    assert again.metadata.title == ""


def test_an_output_with_its_own_stream_is_taken_as_it_is(two):
    """Its row is shared, and it gets no live printer."""
    parts, session = two
    [output] = parts.ledger.outputs()
    output.behind = {}
    again = parts.sessions.load(session.row.id, {output.id: output})
    assert again.outputs[output.id] is output
    assert again.live == []
    assert again.recording is output


def test_after_an_upgrade_an_outputs_format_is_brought_up_to_date(two, monkeypatch):
    """The state is what the current version has after the same events; nothing is written."""
    parts, session = two
    [before] = parts.ledger.outputs()
    before.printer["format"] = {"of": "an older version"}
    parts.ledger.save_output(before)
    set_format_version(monkeypatch, "markdown", 99)
    [output] = parts.load(session.sources[0]).outputs.values()
    assert output.version == 99
    assert "of" not in output.printer["format"]
    assert output.printer["active"]
    assert output.intent is None


def test_a_session_that_nobody_records_is_released(two):
    """The states of an unrecorded session are dropped from memory; a recorded session stays."""
    parts, session = two
    session = parts.load(session.sources[0])
    parts.sessions.release(session)
    assert parts.sessions.all() == [session]
    session.recording.ranges[-1].end = "e"
    parts.sessions.release(session)
    assert parts.sessions.get(session.row.id) is None
    assert [(source.state, source.translated) for source in session.sources] == [(None, 0)] * 2


def test_a_session_that_is_dropped_goes_back_to_what_the_ledger_holds(two):
    """After a failed step, all changes in memory are discarded."""
    parts, session = two
    session = parts.load(session.sources[0])
    source = session.sources[0]
    before = source.cursor
    source.cursor, source.baseline, source.resume_at = before._replace(offset=3), 77, before
    assert parts.sessions.drop(session.row.id) is session
    assert (source.cursor, source.baseline, source.resume_at) == (before, 0, None)
    assert parts.sessions.get(session.row.id) is None
    assert parts.sessions.drop(session.row.id) is None


def test_a_format_state_that_was_recomputed_is_stored(parts, monkeypatch):
    """After an upgrade, an output is rendered again once, not each time its session is loaded."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    output = parts.output(session)
    output.version = 0
    with parts.ledger.transaction():
        parts.ledger.save_output(output)
    rendered = []
    monkeypatch.setattr("katod.record.session.reprint", lambda *_: rendered.append(1) or {})
    for _ in range(3):
        parts.sessions.drop(session.row.id)
        session = parts.sessions.load(session.row.id, {})
        with parts.ledger.transaction():
            session.save(parts.ledger)
    assert len(rendered) == 1
