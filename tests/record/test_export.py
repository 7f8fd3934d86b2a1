"""Whole sessions read from their beginning: exports, and recordings that are derived again."""

from pathlib import Path

import orjson
import pytest

from katod import events as ev
from katod.errors import SourceError, SourceGone
from katod.events import Event, SessionRef
from katod.formats.transcript.markdown import Markdown
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Cursor, Identity, Options, Range, SessionKey, Stat
from katod.record import export
from katod.record.export import (
    FileSpool,
    Stretch,
    Tally,
    began,
    read_katod,
    render_all,
    render_recording,
    replay,
    reprint,
)
from katod.record.ranges import RangePrinter
from katod.store.rows import OutputRow, SourceRow
from tests.looping import each
from tests.support.records import SESSION, THREAD, Claude, CodexLegacy, line, says, user

KEY, THREAD_KEY = SessionKey("claude", SESSION), SessionKey("codex", THREAD)
LOG = EventLog()
QUEUED = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:50:00.000Z"}


def stretch(tmp_path, *records, key=KEY, name="a.jsonl", limit=None):
    path = tmp_path / name
    path.write_bytes(b"".join(map(line, records)))
    return Stretch(str(path), Identity(key), limit)


def texts(events):
    return [event.payload["text"] for event, _ in events if event.kind in {ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE}]


# -- replay ------------------------------------------------------------------------------------------


def test_a_session_of_several_sources_is_replayed_in_their_order(tmp_path):
    """A record that is copied from one source to another is replayed once."""
    make = Claude()
    one, two, three = make.user("one"), make.says("two"), make.says("three")
    stretches = [stretch(tmp_path, one, two), stretch(tmp_path, two, three, name="b.jsonl")]
    assert texts(replay(KEY, stretches, LOG)) == ["one", "two", "three"]


def test_what_a_later_record_would_tell_otherwise_is_provisional(tmp_path):
    """A prompt in the queue, which has another id once it is sent, and what may be an echo: known before they come."""
    make, said = Claude(), [user("one"), says("two")]
    records = [record for one in (*said, said[0]) for record in make.records(one)]
    for rows, words in (
        ([*records[:2], QUEUED | {"operation": "enqueue", "content": "more"}], ["more"]),
        (records, ["one"]),
        (records[:2], []),
    ):
        provisional = set[str]()
        events = replay(KEY, [stretch(tmp_path, *rows)], LOG, provisional=provisional)
        assert texts((event, None) for event, _ in events if event.id in provisional) == words


def test_without_native_ids_words_are_replayed_each_time(tmp_path):
    """Without native ids, repeated text is replayed each time."""
    make = CodexLegacy()
    rows = [make.meta(), make.says("ok"), make.says("ok")]
    assert texts(replay(THREAD_KEY, [stretch(tmp_path, *rows, key=THREAD_KEY)], LOG)) == ["ok", "ok"]


def test_each_event_comes_with_the_metadata_of_then(tmp_path):
    """The metadata include all events up to the one that is yielded."""
    make = Claude()
    for event, metadata in replay(KEY, [stretch(tmp_path, make.user("one"), make.says("two"))], LOG):
        assert metadata.last == event.id


def test_a_limit_ends_a_stretch(tmp_path):
    """Nothing after the limit is read; an open line and held-back text are read only without a limit."""
    make = Claude()
    first = line(make.user("one"))
    rest = [QUEUED | {"operation": "enqueue", "content": "held"}, QUEUED | {"operation": "remove"}]
    found = stretch(tmp_path, first, make.says("two"), *rest)
    assert texts(replay(KEY, [found._replace(limit=len(first))], LOG)) == ["one"]
    assert texts(replay(KEY, [found._replace(limit=Path(found.path).stat().st_size)], LOG)) == ["one", "two"]
    assert texts(replay(KEY, [found], LOG)) == ["one", "two", "held"]
    early = stretch(tmp_path, make.user("one"), make.result("t1", "a"))
    whole = [event.kind for event, _ in replay(KEY, [early], LOG)]
    limited = [event.kind for event, _ in replay(KEY, [early._replace(limit=Path(early.path).stat().st_size)], LOG)]
    assert whole == [*limited, ev.TOOL_RESULT]


def test_an_open_line_belongs_to_an_export(tmp_path):
    """An open last line is exported, as the agent may have exited without writing its newline."""
    make = Claude()
    found = stretch(tmp_path, make.user("one"), line(make.says("two"))[:-1])
    assert texts(replay(KEY, [found], LOG)) == ["one", "two"]


def test_a_long_source_is_read_in_pieces(tmp_path, monkeypatch):
    """Nothing is lost or read twice between the pieces."""
    monkeypatch.setattr(export, "_READ_BYTES", 700)
    make, said = Claude(), [str(number) for number in range(20)]
    assert texts(replay(KEY, [stretch(tmp_path, *map(make.says, said))], LOG)) == said


def test_a_source_that_is_gone_is_an_error_or_passed_over(tmp_path):
    """A vanished source fails an export; a replay after an upgrade may skip it."""
    stretches = [Stretch(str(tmp_path / "gone.jsonl"), Identity(KEY)), stretch(tmp_path, Claude().user("one"))]
    with pytest.raises(SourceGone):
        list(replay(KEY, stretches, LOG))
    assert texts(replay(KEY, stretches, LOG, skip_missing=True)) == ["one"]


# -- a whole conversation ----------------------------------------------------------------------------


def test_the_head_looks_ahead(tmp_path):
    """The head has the title and model, which are known only after the first events."""
    make = Claude()
    events = replay(KEY, [stretch(tmp_path, make.user("the title"), make.says("two"), make.user("three"))], LOG)
    head, *rest = render_all(events, "markdown", Options())
    assert 'title: "the title"' in head
    assert "claude-opus-4-6" in head
    assert "".join(rest).index("the title") < "".join(rest).index("three")


def test_a_conversation_begins_with_its_first_message(tmp_path):
    """What a client notes before it may be from another day."""
    make = Claude()
    old = make.user("Caveat: The messages below were generated", isMeta=True, timestamp="2026-02-01T10:00:00.000Z")
    head, *_ = render_all(replay(KEY, [stretch(tmp_path, old, make.user("words"))], LOG), "markdown", Options())
    assert "date: 2026-02-10" in head


@each(
    ("times", "expected"),
    [
        ([], ""),
        ([("note", "1"), ("message", ""), ("message", "2"), ("message", "3")], "2"),
        ([("note", ""), ("note", "1"), ("message", "")], "1"),
        ([("note", ""), ("message", "")], ""),
    ],
)
def test_a_conversation_begins_when_something_says_so(times, expected):
    """When its first message was written that has a time, or anything else."""
    kinds = {"note": ev.PROVIDER_RAW, "message": ev.USER_MESSAGE}
    assert began([Event("e", kinds[kind], SessionRef(*KEY), {}, {}, time) for kind, time in times]) == expected


@each(
    ("kinds", "problem"),
    [
        ([], ""),
        ([ev.PROVIDER_RAW, ev.PROVIDER_RAW], "no message was found, and 2 records are not understood"),
        ([ev.PROVIDER_RAW, ev.USER_COMMAND], ""),
        ([ev.TURN_END], ""),
    ],
)
def test_a_conversation_without_a_message_is_a_problem_if_records_are_not_understood(kinds, problem):
    """It may be one of an agent whose records have changed."""
    tally = Tally()
    events = [(Event("e", kind, SessionRef(*KEY), {}, {}), SessionMetadata(KEY)) for kind in kinds]
    assert list(tally.over(events)) == events
    assert tally.problem == problem


def test_a_spool_has_any_text():
    """As it is, but for what cannot be encoded; lines end as they did."""
    spool = FileSpool()
    spool.write("a\ud800b\r\n")
    spool.write("c")
    assert [list(spool.pieces()) for _ in range(2)] == [["a?b\r\nc"]] * 2
    spool.close()


def test_the_head_does_not_look_for_ever(monkeypatch):
    """The look-ahead is limited, so a session without a title is not read to its end first."""
    monkeypatch.setattr(export, "_LOOK_AHEAD", 3)
    metadata, taken = SessionMetadata(KEY), []

    def events():
        for number in range(10):
            taken.append(number)
            event = Event(str(number), ev.ASSISTANT_MESSAGE, SessionRef(*KEY), {"text": str(number)}, {})
            for observed in metadata.observed([event]):
                yield observed, metadata

    text = render_all(events(), "markdown", Options())
    next(text)
    assert taken == [0, 1, 2]
    assert "".join(text).split("\n\n")[-1] == "9\n"


def test_what_the_head_looked_at_is_printed_as_if_it_had_not(tmp_path):
    """The look-ahead does not change how events are rendered, although it has already closed their calls."""
    make = Claude()
    rows = [
        make.calls("t1", "AskUserQuestion", questions=[]), make.result("t1", "declined", error=True),
        make.user("the title"), make.says("x"),
    ]  # fmt: skip
    path = stretch(tmp_path, *rows)
    ahead = "".join(render_all(replay(KEY, [path], LOG), "markdown", Options()))
    printer, plain = Markdown(Options(), None), ""
    for event, metadata in replay(KEY, [path], LOG):
        plain += "" if plain else printer.head(metadata, metadata.time) + "|"
        plain += printer.event(event, metadata)
    assert ahead.endswith(plain.partition("|")[2])
    assert "declined" not in ahead


def test_an_empty_session_gives_nothing():
    """An empty session gives no text, and no head either."""
    assert list(render_all([], "markdown", Options())) == []


# -- recordings --------------------------------------------------------------------------------------


def recording(*ranges, printer=None, behind=None):
    root = Path("/out")
    return OutputRow(
        1, 1, root, root / "n.md", "markdown", FORMATS["markdown"].version, Options(), {"key": list(KEY), "metadata": {}},
        printer=printer, behind=behind, ranges=list(ranges),
    )  # fmt: skip


def ids(found):
    return {event.payload.get("text"): event.id for event, _ in replay(KEY, [found], LOG)}


def test_a_recording_is_derived_from_its_ranges(tmp_path):
    """Events between the ranges are not in the recording."""
    make = Claude()
    found = stretch(tmp_path, *(make.says(f"word {n}") for n in range(5)))
    known = ids(found)
    output = recording(Range(known["word 1"], end=known["word 2"]), Range(known["word 4"]))
    text = "".join(render_recording(output, KEY, [found], LOG))
    assert [n for n in range(5) if f"word {n}\n" in text] == [1, 2, 4]


def test_a_recording_whose_beginning_is_gone_is_an_error(tmp_path):
    """A missing range start raises an error: an empty transcript would look correct."""
    found = stretch(tmp_path, Claude().says("one"))
    with pytest.raises(SourceError, match="no longer contain the start of this recording"):
        list(render_recording(recording(Range("gone")), KEY, [found], LOG))


def played(output, found):
    """Return the state of a printer that has rendered a whole stretch."""
    printer = RangePrinter.of(output, None)
    for event, metadata in replay(KEY, [found], LOG):
        printer.take(event, metadata)
    return printer.state()


def source_of(found, offset=None):
    size = Path(found.path).stat().st_size if offset is None else offset
    return SourceRow(3, 1, found.path, found.identity, Stat(0, 0, 0, 0), cursor=Cursor(size))


def test_a_format_is_printed_again_up_to_where_it_was(tmp_path):
    """The state is that of a printer that was never interrupted."""
    make = Claude()
    found = stretch(tmp_path, make.user("one"), make.says("two"))
    state = played(recording(Range("")), found)
    output = recording(Range(""), printer=state | {"format": {}})
    assert reprint(output, KEY, [source_of(found)], LOG) == state["format"] != {}


def test_only_what_was_printed_is_printed_again(tmp_path):
    """For an output that is behind its session, only the part already written is rendered."""
    make = Claude()
    first = line(make.user("one"))
    found = stretch(tmp_path, first, make.says("two"))
    state = played(recording(Range("")), found._replace(limit=len(first)))
    output = recording(Range(""), printer=state, behind={"offsets": {"3": len(first)}})
    assert reprint(output, KEY, [source_of(found)], LOG) == state["format"]
    assert reprint(recording(Range(""), printer=state), KEY, [source_of(found)], LOG) != state["format"]


def test_a_format_is_begun_again_where_the_sources_no_longer_tell(tmp_path):
    """If a range is missing from the sources, the format starts over with an empty state."""
    found = stretch(tmp_path, Claude().says("one"))
    state = {"index": 0, "active": True, "headed": True, "format": {}}
    assert reprint(recording(Range("gone"), printer=state), KEY, [source_of(found)], LOG) == {}
    known = ids(found)["one"]
    half = recording(Range("", end=known), Range("gone"), printer=state | {"index": 1})
    assert reprint(half, KEY, [source_of(found)], LOG) == {}
    assert reprint(recording(Range("")), KEY, [source_of(found)], LOG) == {}
    gone = SourceRow(3, 1, str(tmp_path / "gone"), Identity(KEY), Stat(0, 0, 0, 0), cursor=Cursor(9))
    assert reprint(recording(Range(""), printer=state), KEY, [gone], LOG) == {}


# -- katod's own files -------------------------------------------------------------------------------


def test_a_katod_file_gives_its_events_back(tmp_path):
    """A katod JSONL file gives the same events and metadata as the first read, so it can be converted."""
    make = Claude()
    rows = [make.user("the title"), make.runs("t1", "ls"), make.result("t1", "a"), make.says("done")]
    first = [(event, metadata.state()) for event, metadata in replay(KEY, [stretch(tmp_path, *rows)], LOG)]
    written = [orjson.dumps(ev.to_json(event)) for event, _ in first]
    again = [(event, metadata.state()) for event, metadata in read_katod([b"", *written, b" \n", b"a note"], tmp_path)]
    assert [ev.to_json(event) for event, _ in again] == [ev.to_json(event) for event, _ in first]
    assert again[-1][1]["title"] == "the title"
    assert [state.get("calls") for _, state in again] == [state.get("calls") for _, state in first]


def test_a_katod_file_has_the_name_that_the_agent_gave(tmp_path):
    """It is in one of its events."""
    named = Event("e", ev.CONFIG_CHANGE, SessionRef(*KEY), {"what": "title", "before": "", "after": "named"}, {})
    [(_, metadata)] = read_katod([orjson.dumps(ev.to_json(named))], tmp_path)
    assert metadata.list_title == "named"


@each("bad", [b"{not json", b" {}", b"{}", b'{"id":"a","kind":"x","session":{},"payload":{}}', b'{"session":[]}'])
def test_a_line_that_is_no_event_is_named(bad):
    """The error has the file and the number of the line."""
    good = orjson.dumps(ev.to_json(Event("a", ev.USER_MESSAGE, SessionRef(*KEY), {"text": "one"}, {})))
    with pytest.raises(SourceError, match=r"^/x\.jsonl: line 3 is not a katod event$"):
        list(read_katod([good, b"", bad, good], Path("/x.jsonl")))


@each(("format_name", "folder", "kept"), [
    ("markdown", "", "name"), ("markdown", "n.assets", "save"), ("html", "", "name"), ("matrix", "", "save"),
])  # fmt: skip
def test_pictures_are_in_an_export_beside_it_or_named(format_name, folder, kept):
    """Events for a room have them in their lines; text needs a folder for them, or has only their names."""
    options = export.for_export(Options(attachments="save"), format_name, folder)
    assert (options.attachments, options.exported) == (kept, True)
    assert options.assets == (folder or Options().assets)
