"""One session while it is recorded: what is written, what is stored, and what it is loaded from."""

import pytest

from katod.agents.claude.adapter import ClaudeAdapter
from katod.model import Range, SessionKey
from katod.record.output import Output
from katod.record.session import Changes
from tests.support.parts import put
from tests.support.records import SESSION, Claude
from tests.support.versions import set_format_version

KEY = SessionKey("claude", SESSION)
QUEUED = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:50:00.000Z"}


def recorded(parts, session):
    """Record a session from here on; return its output."""
    output = parts.output(session)
    output.add_range(Range(""))
    session.go_live(output)
    return output


def test_the_changes_of_a_step_are_stored_with_it(parts):
    """Applied commands, refusals without the typed line, and outputs with their ranges are stored together."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    changes, output = Changes(), parts.output(session)
    output.add_range(Range("a"))
    changes.applied["key"] = None
    changes.refusals.append(("2026-02-10T22:36:18.000Z", "start", "why"))
    changes.outputs[output.id] = output
    changes.save(session.row, parts.ledger)
    assert parts.ledger.is_applied("key")
    [refusal] = parts.ledger.refusals()
    assert (refusal.session, refusal.word, refusal.reason) == (KEY, "start", "why")
    assert parts.ledger.outputs()[0].ranges == output.row.ranges


# -- the session -------------------------------------------------------------------------------------


def test_a_session_is_wanted_while_it_is_recorded_or_may_be_soon(parts):
    """A session is wanted while it is recorded, may be auto-recorded, or holds text back."""
    source = parts.world.claude().append(Claude().user("one"))
    found = parts.source()
    session = parts.load(found)
    assert not session.is_wanted
    session.decide_auto("wanted")
    assert session.is_wanted
    session.decide_auto("off")
    output = recorded(parts, session)
    assert session.is_wanted
    output.end("e", "", "stopped")
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
    session.point_at(output)
    other.add_range(Range("x"))
    assert (session.recording, session.present) == (other, output)


def test_an_output_that_is_kept_is_stored_with_the_step(parts):
    """A kept output belongs to the session, and is stored with the step."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    output = parts.output(session)
    output.park("changed")
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
    put(output, intent=None)
    output.end("e", "", "stopped")
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
        put(output, intent=None)
    output.save(parts.ledger)
    return parts, session


def test_a_session_is_taken_up_with_the_states_of_all_sources(two):
    """A session is loaded with the states of all its sources, so that nothing is translated again."""
    parts, session = two
    again = parts.load(session.sources[0])
    assert [source.translated for source in again.sources] == [source.cursor.offset for source in session.sources]
    assert all(source.row.state for source in again.sources)
    assert (again.metadata.title, again.metadata.model) == ("one", "claude-opus-4-6")
    assert [live.row.path.name for live in again.live] == ["n.md"]


def other_version(parts, session, monkeypatch):
    monkeypatch.setattr(ClaudeAdapter, "version", 99)


def cursor_moved(parts, session, monkeypatch):
    source = session.sources[1]
    put(source, cursor=source.cursor._replace(offset=source.cursor.offset - 1))


def cursor_scanned_past(parts, session, monkeypatch):
    source = session.sources[1]
    put(source, cursor=source.cursor._replace(offset=source.cursor.offset + 10))
    parts.ledger.save_source(source.row)


def metadata_dropped(parts, session, monkeypatch):
    put(session, metadata=None)
    parts.ledger.save_session(session.row)


@pytest.mark.whole
@pytest.mark.parametrize("change", [other_version, cursor_moved, cursor_scanned_past, metadata_dropped])
def test_states_are_used_only_if_all_sources_agree(two, monkeypatch, change):
    """If one state cannot be used, all sources are translated again, as they share the metadata."""
    parts, session = two
    change(parts, session, monkeypatch)
    again = parts.load(session.sources[0])
    assert [(source.row.state, source.translated) for source in again.sources] == [(None, 0)] * 2
    assert again.metadata.title == ""


def test_an_output_with_its_own_stream_is_taken_as_it_is(two):
    """Its row is shared, and it gets no live printer."""
    parts, session = two
    [output] = map(Output, parts.ledger.outputs())
    output.fall_behind({})
    again = parts.sessions.load(session.row.id, {output.id: output})
    assert again.outputs[output.id] is output
    assert again.live == []
    assert again.recording is output


def test_after_an_upgrade_an_outputs_format_is_brought_up_to_date(two, monkeypatch):
    """The state is what the current version has after the same events; nothing is written."""
    parts, session = two
    [before] = parts.ledger.outputs()
    parts.ledger.save_output(before._replace(printer=before.printer | {"format": {"of": "an older version"}}))
    set_format_version(monkeypatch, "markdown", 99)
    [output] = parts.load(session.sources[0]).outputs.values()
    assert output.row.version == 99
    assert "of" not in output.row.printer["format"]
    assert output.row.printer["active"]
    assert output.row.intent is None


def test_a_session_that_nobody_records_is_released(two):
    """The states of an unrecorded session are dropped from memory; a recorded session stays."""
    parts, session = two
    session = parts.load(session.sources[0])
    parts.sessions.release(session)
    assert parts.sessions.all() == [session]
    session.recording.end("e", "", "stopped")
    parts.sessions.release(session)
    assert parts.sessions.get(session.row.id) is None
    assert [(source.row.state, source.translated) for source in session.sources] == [(None, 0)] * 2


def test_a_session_that_is_dropped_goes_back_to_what_the_ledger_holds(two):
    """After a failed step, all changes in memory are discarded."""
    parts, session = two
    session = parts.load(session.sources[0])
    source = session.sources[0]
    before = source.cursor
    put(source, cursor=before._replace(offset=3), baseline=77)
    source.hold(before._replace(offset=1), pending=True)
    assert parts.sessions.drop(session.row.id) is session
    assert (source.cursor, source.baseline, source.stored.cursor) == (before, 0, before)
    assert parts.sessions.get(session.row.id) is None
    assert parts.sessions.drop(session.row.id) is None


def test_a_format_state_that_was_recomputed_is_stored(parts, monkeypatch):
    """After an upgrade, an output is rendered again once, not each time its session is loaded."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    output = parts.output(session)
    put(output, version=0)
    with parts.ledger.transaction():
        output.save(parts.ledger)
    rendered = []
    monkeypatch.setattr("katod.record.session.reprint", lambda *_: rendered.append(1) or {})
    for _ in range(3):
        parts.sessions.drop(session.row.id)
        session = parts.sessions.load(session.row.id, {})
        with parts.ledger.transaction():
            session.save(parts.ledger)
    assert len(rendered) == 1


def test_an_output_that_joins_is_one_of_the_session(parts):
    """It follows the session, whoever made it."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    output = parts.output(session)
    output.add_range(Range(""))
    del session.outputs[output.id]
    session.join(output)
    assert (session.outputs, session.live, session.recording) == ({output.id: output}, [output], output)


def test_a_session_that_is_loaded_again_has_failed_no_longer(parts):
    """The next step may go well."""
    parts.world.claude().append(Claude().user("one"))
    source = parts.source()
    parts.sessions.failed |= {source.session, 99}
    parts.load(source)
    assert parts.sessions.failed == {99}
    parts.sessions.step_soon(source.session)
    parts.sessions.step_soon(99)
    parts.sessions.forget(99)
    assert (parts.sessions.failed, parts.sessions.take_failed_between()) == (set(), {source.session})


def test_a_session_that_is_forgotten_is_neither_active_nor_to_be_tried_again(parts):
    """The ledger does not have it any more."""
    parts.world.claude().append(Claude().user("one"))
    session = parts.load(parts.source())
    parts.sessions.failed.add(session.row.id)
    parts.sessions.step_soon(session.row.id)
    parts.sessions.forget(session.row.id)
    assert parts.sessions.get(session.row.id) is None
    assert (parts.sessions.failed, parts.sessions.take_failed_between()) == (set(), set())
