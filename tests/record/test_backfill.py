"""Backfill: translating up to the cursors what was only scanned; nothing is written."""

import pytest

from katod.record.resync import Backfill
from tests.support.parts import put
from tests.support.records import Claude, GeminiDocument, says, user


def scanned(source):
    """Scan a source to its end, as that of an unrecorded session."""
    with source.spec.open(source.path) as file:
        source.scanned_to(file.read(source.cursor, 1 << 20).cursor)


@pytest.fixture
def long(parts):
    """Return a session with many records, scanned to its end."""
    make = Claude()
    file = parts.world.claude().append(make.user("first words"), *(make.says("x" * 500) for _ in range(20)))
    source = parts.source()
    scanned(source)
    return parts, file, source


def never(*_):
    raise AssertionError("nothing changed")


def test_a_session_is_translated_up_to_its_cursor(long):
    """The metadata are those of a full read, and the live stream continues after the backfilled events."""
    parts, file, source = long
    file.append(Claude(start=90).says("after the cursor"))
    session = parts.load(source)
    Backfill(never).finish(session, 1 << 20)
    assert (session.backfilled, source.translated) == (True, source.cursor.offset)
    assert (session.metadata.title, session.metadata.model) == ("first words", "claude-opus-4-6")
    assert session.state_news.kept()["times"][2] > 0, "when something was said last"
    new = parts.read(session, source)
    assert [event.payload.get("text") for event in new if event.kind == "assistant.message"] == ["after the cursor"]


def test_each_slice_keeps_to_its_budget(long):
    """A long session is backfilled in slices, each resuming after the last, so that it does not block others."""
    parts, _, source = long
    session, backfill, slices = parts.load(source), Backfill(never), []
    while not backfill.advance(session, 3000):
        slices.append(source.translated)
    steps = [after - before for before, after in zip([0, *slices], [*slices, source.translated], strict=True)]
    assert len(steps) > 3
    assert max(steps) <= 3000
    assert source.translated == source.cursor.offset


def test_a_session_is_backfilled_once(long):
    """After the backfill nothing is read again, whatever the state of the sources."""
    parts, _, source = long
    session, backfill = parts.load(source), Backfill(never)
    backfill.finish(session, 1 << 20)
    put(source, translated=0)
    assert backfill.advance(session, 100)
    assert source.translated == 0


def test_commands_that_are_passed_count_as_applied(parts):
    """Scanned commands were history or already obeyed, and scanned near misses are already counted."""
    make = Claude()
    parts.world.claude().append(make.user("::start notes\none"), make.user("::strat"))
    source = parts.source()
    scanned(source)
    session = parts.load(source)
    Backfill(never).finish(session, 1 << 20)
    assert len(session.changes.applied) == 1
    assert session.recording is None
    assert session.stream.open(source).take_near_misses() == []


def test_an_open_source_is_read_as_it_is_open(long):
    """A source that the step has already verified and opened is not opened again."""
    parts, file, source = long
    session = parts.load(source)
    with source.spec.open(source.path) as opened:
        file.path.unlink()
        assert Backfill(never).advance(session, 1 << 20, (source, opened))
    assert session.metadata.title == "first words"


def test_a_source_that_is_gone_holds_up_no_other(parts):
    """A vanished source is skipped, and the rest of the session is translated."""
    gone = parts.world.claude().append(Claude().user("gone words"))
    parts.world.claude(folder="-home-me-other").append(Claude(start=50).user("words"))
    for source in parts.sweep():
        scanned(source)
    gone.path.unlink()
    session = parts.load(source)
    Backfill(never).finish(session, 1 << 20)
    assert session.metadata.title == "words"


def test_a_source_that_changed_is_resynced_first(long):
    """The new content of a changed source was never read, so it is resynced and not skipped as history."""
    parts, file, source = long
    file.path.write_bytes(file.path.read_bytes().replace(b"xxx", b"yyy"))
    changes = []

    def resync(changed, opened, session, what):
        changes.append((changed, session, what))
        changed.read_again()

    session = parts.load(source)
    assert Backfill(resync).advance(session, 1 << 20)
    assert changes == [(source, session, "the file was rewritten before the cursor")]
    assert session.metadata.title == ""


def test_a_document_is_passed_whole(parts):
    """A document is read in one piece; events that are not in the ledger are left for the live stream."""
    maker = GeminiDocument(parts.world).say(user("one"), says("two"))
    source = parts.source()
    scanned(source)
    session = parts.load(source)
    assert maker.path.name.endswith(".json")
    assert Backfill(never).advance(session, 10)
    assert source.translated == source.cursor.offset > 0
    assert session.row.seq == 0


@pytest.mark.whole
@pytest.mark.parametrize("first", [0, 3000])
def test_what_is_after_the_cursor_is_not_translated(long, first):
    """However much there is room for: it is read by the step that scans it."""
    parts, file, source = long
    file.append(Claude(start=90).says("after the cursor"))
    session, backfill = parts.load(source), Backfill(never)
    if first:
        assert not backfill.advance(session, first)
    backfill.finish(session, 1 << 20)
    assert source.translated == source.cursor.offset
    last, new = session.metadata.last, parts.read(session, source)
    assert last not in {event.id for event in new}
    assert [event.payload.get("text") for event in new if event.kind == "assistant.message"] == ["after the cursor"]
