"""Resync: where reading resumes in a source whose earlier bytes changed."""

from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.model import Cursor, Range
from katod.record.resync import Resync, resync
from katod.store.ledger import id_hash
from tests.examples import examples
from tests.support.parts import Parts, put
from tests.support.records import Claude, CodexLegacy, GeminiDocument, line, says, user
from tests.support.records import Cursor as CursorAgent
from tests.support.world import World


def resynced(parts, source, session=None):
    with source.spec.open(source.path) as file:
        resync(source, file, session, parts.ledger, parts.log)


def read_to_the_end(source):
    with source.spec.open(source.path) as file:
        put(source, cursor=Cursor(file.size, file.anchor(file.size)), read_ns=file.mtime_ns)
    put(source, baseline=5, state={"some": "state"}, translated=5)


def recorded(parts, source):
    """Return the session of a source, recorded and read to its end."""
    session = parts.load(source)
    output = parts.output(session)
    output.add_range(Range(""))
    session.go_live(output)
    parts.read(session, source)
    put(output, intent=None)
    return session


def test_a_baseline_is_stored_with_the_next_flush(parts):
    """Otherwise a restart would take what was said meanwhile for history."""
    parts.world.claude().append(Claude().user("one"))
    source = parts.source()
    put(source, baseline=None)
    parts.catalog.saved([source])
    with source.spec.open(source.path) as file:
        Resync(parts.ledger, parts.catalog, parts.log, None).begin(source, file)
    assert source.baseline is not None
    assert parts.catalog.unsaved


def test_a_source_is_verified_once_it_is_what_was_read_or_was_read_again(parts):
    """A change of it is logged, stored with the next flush, and known to what catches up with it."""
    resynced_for = []
    file = parts.world.claude().append(Claude().user("one"))
    source = parts.source()
    read_to_the_end(source)
    resync = Resync(parts.ledger, parts.catalog, parts.log, mock.Mock(resynced=resynced_for.append))
    parts.catalog.saved([source])
    with source.spec.open(source.path) as opened:
        assert resync.verify(source, opened, None)
    assert (source.row.read_ns, parts.said("source.changed"), parts.catalog.unsaved) == (opened.mtime_ns, [], False)
    put(source, read_ns=0)
    file.path.write_bytes(line(Claude().user("another")))
    with source.spec.open(source.path) as opened:
        assert not resync.verify(source, opened, None)
    assert (source.row.read_ns, resynced_for, len(parts.said("source.changed"))) == (opened.mtime_ns, [source], 1)
    assert parts.catalog.unsaved


# -- unrecorded sessions -----------------------------------------------------------------------------


def test_an_unread_session_with_times_is_scanned_again(parts):
    """It is scanned from its beginning; commands older than the last read are history, newer ones are not."""
    parts.world.claude().append(Claude().user("one"))
    source = parts.source()
    read_to_the_end(source)
    resynced(parts, source)
    assert (source.cursor, source.after_ns, source.baseline) == (Cursor(), source.row.read_ns, 0)
    assert (source.row.state, source.translated) == (None, 0)


def test_an_unread_document_is_scanned_again_without_a_time(parts):
    """A document is rewritten with each message, so no time is needed: its commands are known by their ids."""
    GeminiDocument(parts.world).say(user("one"), says("two"))
    source = parts.source()
    read_to_the_end(source)
    resynced(parts, source)
    assert (source.cursor, source.after_ns) == (Cursor(), 0)


def test_an_unread_session_without_times_resumes_at_its_end(parts):
    """Without times, everything up to the last complete line counts as old, and reading resumes after it."""
    maker = CursorAgent(parts.world).say(user("one"), says("two"))
    size = maker.path.stat().st_size
    maker.append(b'{"half')
    [source] = parts.sweep()
    read_to_the_end(source)
    resynced(parts, source)
    assert (source.baseline, source.cursor.offset, source.after_ns) == (size, size, 0)
    with source.spec.open(source.path) as file:
        file.verify_anchor(source.cursor)


# -- recorded sessions -------------------------------------------------------------------------------


def test_with_native_ids_all_is_read_again(parts):
    """The file is read from its beginning, and known events are skipped by their ids, wherever they are."""
    make = Claude()
    file = parts.world.claude().append(make.user("one"), make.says("two"))
    source = parts.source()
    session = recorded(parts, source)
    kept = file.path.read_bytes()
    file.path.write_bytes(line(Claude(start=70).says("new before")) + kept + line(Claude(start=80).says("new after")))
    before = session.stream.open(source)
    resynced(parts, source, session)
    assert session.stream.open(source) is not before
    assert (source.cursor, source.translated) == (Cursor(), 0)
    texts = [event.payload.get("text") for event in parts.read(session, source)]
    assert [text for text in texts if text] == ["new before", "new after"]


def legacy(parts, *rows):
    """Return a recorded session without native ids, its source and its file."""
    file = parts.world.codex().append(*rows)
    source = parts.source()
    return file, source, recorded(parts, source)


def test_with_positions_reading_resumes_after_the_last_known_words(parts):
    """The session is translated up to that position without being written again."""
    make = CodexLegacy()
    rows = [make.meta(), make.user("one"), make.says("two")]
    file, source, session = legacy(parts, *rows)
    again = [line(make.meta(cli_version="9")), *map(line, rows[1:])]
    file.path.write_bytes(b"".join([*again, line(make.says("three"))]))
    resynced(parts, source, session)
    assert (source.cursor.offset, session.backfilled) == (sum(map(len, again)), False)
    with source.spec.open(source.path) as opened:
        opened.verify_anchor(source.cursor)
    assert session.live[0].printer.state().get("pending") is None


def test_where_nothing_is_known_reading_resumes_at_the_end_with_a_mark(parts):
    """If no event is recognised, reading resumes at the end, and a mark notes the gap."""
    file, source, session = legacy(parts, CodexLegacy().meta(), CodexLegacy().user("one"))
    file.path.write_bytes(line(CodexLegacy().meta(cli_version="9")) + line(CodexLegacy().says("never heard")))
    size = file.path.stat().st_size
    file.append(b'{"half')
    resynced(parts, source, session)
    assert source.cursor.offset == size
    assert session.live[0].printer.state()["pending"]


def test_a_file_that_is_empty_now_is_read_from_its_beginning(parts):
    """An empty file has nothing old in it, so it is read from its beginning."""
    file, source, session = legacy(parts, CodexLegacy().meta(), CodexLegacy().user("one"))
    file.path.write_bytes(b"")
    resynced(parts, source, session)
    assert (source.cursor, source.translated) == (Cursor(), 0)


@pytest.mark.whole
@pytest.mark.parametrize("again", ["one", "two"])
def test_known_words_that_do_not_follow_are_new(parts, again):
    """Text counts as known only in its original order, and as often as it was recorded."""
    make = CodexLegacy()
    file, source, session = legacy(parts, make.meta(), make.says("one"), make.says("two"), make.says("three"))
    kept = line(make.says("two"))
    file.path.write_bytes(kept + line(make.says(again)))
    resynced(parts, source, session)
    assert source.cursor.offset == len(kept)


WORDS = st.lists(st.sampled_from(["ok", "yes", "go on"]), min_size=1, max_size=8)


@examples(3, 200)
@given(WORDS, st.integers(1, 8), st.lists(st.booleans(), max_size=4))
def test_what_is_kept_of_a_session_is_never_printed_again(tmp_path_factory, said, kept, new):
    """Reading resumes exactly after the part of the session that is still there, however often text repeats."""
    with pytest.MonkeyPatch.context() as patch:
        parts = Parts(World(tmp_path_factory.mktemp("home"), patch, seen_empty=False))
        make = CodexLegacy()
        rows = [make.meta(), *map(make.says, said)]
        file = parts.world.codex().append(*rows)
        source = parts.source()
        session = recorded(parts, source)
        head = b"".join(map(line, rows[: kept + 1]))
        file.path.write_bytes(head + b"".join(line(make.says(f"new {n}")) for n in range(len(new))))
        resynced(parts, source, session)
        assert source.cursor.offset == len(head)


def test_the_ledger_is_not_changed_by_a_resync(parts):
    """A resync changes nothing in the ledger; it is stored with the next step."""
    file, source, session = legacy(parts, CodexLegacy().meta(), CodexLegacy().user("one"))
    before = parts.ledger.db.total_changes
    file.path.write_bytes(file.path.read_bytes()[1:])
    resynced(parts, source, session)
    assert parts.ledger.db.total_changes == before
    assert parts.ledger.places(session.row.id).keys() >= {id_hash("user.message\0one")}


def test_a_resync_leaves_the_backfill_of_another_source_open(parts):
    """History of one source that is still to be translated does not become new because another one was rewritten."""
    make = Claude()
    first = parts.world.claude().append(make.user("one"), make.says("two"))
    source = parts.source()
    parts.world.claude(folder="-home-me-restored").append(Claude(start=100).says("old words"))
    other = parts.source()
    session = parts.load(other)
    put(other, cursor=Cursor(other.seen.size))
    first.path.write_bytes(line(make.user("instead")))
    resynced(parts, source, session)
    assert not session.backfilled
