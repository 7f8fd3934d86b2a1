"""One pass over the events of a session: each once, in order, with the metadata at that point."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.agents.claude.adapter import ClaudeAdapter
from katod.agents.guard import guarded
from katod.events import Event, SessionRef
from katod.log import EventLog
from katod.model import Identity, Line, SessionKey
from katod.receipt import receipt
from katod.record.export import Stretch
from katod.record.stream import (
    FollowerDedup,
    LedgerDedup,
    LocalDedup,
    NoDedup,
    ScanDedup,
    SessionStream,
)
from katod.record.translation import set_title
from katod.store.ledger import id_hash
from katod.store.rows import SourceRow
from tests.looping import each
from tests.support.parts import admits, lines, memory_ledger
from tests.support.records import (
    SESSION,
    THREAD,
    Claude,
    Cline,
    Codex,
    CodexLegacy,
    Gemini,
    Pi,
    calls,
    line,
    result,
    says,
    user,
)  # fmt: skip
from tests.support.tallies import read_in_all

CLAUDE = Stretch("/s.jsonl", Identity(SessionKey("claude", SESSION)))
CODEX = Stretch("/t.jsonl", Identity(SessionKey("codex", THREAD)))
GEMINI = Stretch("/g.jsonl", Identity(SessionKey("gemini", SESSION)))
QUEUED = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:50:00.000Z"}


def stream(seen=None, source=CLAUDE, log=None, metadata=None, *, whole=True, gaps=False):
    return SessionStream(source.identity.key, seen or NoDedup(), log or EventLog(), metadata, whole=whole, gaps=gaps)


def texts(events):
    return [event.payload["text"] for event in events if event.kind in {ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE}]


def test_a_stream_of_a_part_can_begin_again():
    """It recognises no echoes, as it does not know what was said before."""
    part, records = stream(whole=False), lines(Claude().user("hello"), Claude().says("hi"))
    first = texts(part.events(CLAUDE, records))
    part.restart(CLAUDE)
    assert texts(part.events(CLAUDE, records)) == first == ["hello", "hi"]


# -- the order of events ------------------------------------------------------------------------------


def tools(events):
    return [event.kind.rpartition(".")[2] for event in events if "toolCallId" in event.payload]


def test_a_result_waits_for_its_call_unless_lines_are_left_out():
    """It comes after the call, also after a restart between them; of lines with gaps, the call may be left out."""
    make = Claude()
    late, early = make.runs("t1", "ls"), make.result("t1", "a")
    before, after = lines(early), lines(late)
    assert tools(stream(gaps=True).events(CLAUDE, before)) == ["result"]
    reading = stream()
    assert tools(reading.events(CLAUDE, before)) == []
    assert reading.has_pending(CLAUDE)
    again = stream(metadata=json.loads(json.dumps(reading.state())))
    assert tools(again.events(CLAUDE, after)) == ["call", "result"]
    assert tools(reading.settle(CLAUDE)) == ["result"]
    assert tools(stream(gaps=True).settle(CLAUDE)) == []


def test_what_is_kept_of_a_stream_is_called_as_it_was():
    """Another version of katod goes on with it."""
    assert {"echoes", "callOrder"} <= stream().state().keys()
    assert "echoes" not in stream(whole=False).state()
    assert "callOrder" not in stream(gaps=True).state()


def test_what_waits_of_a_source_that_is_read_again_comes_once():
    """A result that waits for its call, and words that may be an echo, are read again with their source."""
    make = Claude()
    reading, rows = stream(), lines(make.user("one"), make.says("two"), make.result("t1", "a"), make.user("one"))
    assert texts(reading.events(CLAUDE, rows)) == ["one", "two"]
    reading.restart(CLAUDE)
    assert not reading.has_pending(CLAUDE)


def test_a_result_does_not_wait_for_a_call_that_was_seen_before():
    """A stream that begins after a restart, in a source that is read again, has not yielded that call itself."""
    make, live = Claude(), Live(CLAUDE)
    call = lines(make.runs("t1", "ls"))
    list(live.stream().events(live.source, call))
    again = live.stream()
    assert tools(again.events(live.source, call)) == []
    assert tools(again.events(live.source, lines(make.result("t1", "a")))) == ["result"]
    part = SessionStream(live.session.key, live.seen, EventLog(), whole=False)
    assert tools(part.events(live.source, call)) == []


def test_what_waited_is_noted_for_the_source_it_came_from():
    """Something in another source shows that it waits no longer."""
    make, live = Claude(), Live(CLAUDE)
    other, reading = live.source._replace(id=8, path="/other.jsonl"), live.stream()
    assert tools(reading.events(live.source, lines(make.result("t1", "a")))) == []
    found = list(reading.events(other, lines(make.user("over"))))
    live.save()
    places = {event.kind: live.ledger.place(live.session.id, id_hash(event.id)) for event in found}
    assert (places[ev.TOOL_RESULT][1], places[ev.USER_MESSAGE][1]) == (7, 8)


def test_an_echo_is_noted_as_seen():
    """Its ids are not new to a later stream, which may not recognise it."""
    make, live = Gemini(session=SESSION), Live(GEMINI)
    said = [*make.records(user("one")), *make.records(says("two"))]
    echo = [record | {"id": f"again-{n}"} for n, record in enumerate(said) if "id" in record]
    reading, rows = live.stream(), lines(*make.opening(), *said, *echo, *make.records(user("new")))
    assert texts([*reading.events(live.source, rows), *reading.settle(live.source)]) == ["one", "two", "new"]
    part = SessionStream(live.session.key, live.seen, EventLog(), whole=False)
    assert texts(part.events(live.source, lines(*make.opening(), *echo))) == []


# -- what counts as already seen ---------------------------------------------------------------------


class Live:
    """A session in the ledger with its live policy."""

    def __init__(self, source):
        self.ledger = memory_ledger()
        self.session = self.ledger.add_session(source.identity.key)
        self.seen = LedgerDedup(self.session, self.ledger)
        self.source = SourceRow(7, self.session.id, source.path, source.identity, None)

    def stream(self, seen=None):
        return SessionStream(self.session.key, seen or self.seen, EventLog())

    def save(self):
        self.seen.save()
        self.seen.saved()


def test_a_pass_in_which_nothing_comes_twice_admits_everything():
    """`NoDedup` admits every event, whatever its id."""
    row = Claude().user("one")
    assert texts(stream(whole=False).events(CLAUDE, lines(row, row))) == ["one", "one"]


def test_a_replay_admits_each_id_once():
    """`LocalDedup` knows only the events of its own pass."""
    make = Claude()
    rows = [make.user("one"), make.says("two")]
    assert texts(stream(LocalDedup()).events(CLAUDE, lines(*rows, *rows))) == ["one", "two"]
    assert texts(stream(LocalDedup()).events(CLAUDE, lines(*rows))) == ["one", "two"]


def test_live_a_native_id_is_admitted_once_for_ever():
    """An id is admitted once: within a step, after it was stored, and in the next process."""
    make, live = Claude(), Live(CLAUDE)
    rows = [make.user("one"), make.says("two")]
    assert texts(live.stream().events(live.source, lines(*rows, rows[0]))) == ["one", "two"]
    live.save()
    assert texts(live.stream().events(live.source, lines(*rows))) == []
    again = LedgerDedup(live.session._replace(seq=live.seen.seq), live.ledger)
    assert texts(live.stream(again).events(live.source, lines(*rows, make.says("three")))) == ["three"]


def test_live_events_are_numbered_in_their_order():
    """The ledger stores the order of first occurrences; a step that is not saved leaves nothing."""
    make, live = Claude(), Live(CLAUDE)
    found = list(live.stream().events(live.source, lines(make.user("one"), make.says("two"))))
    assert live.ledger.places(live.session.id) == {}
    live.save()
    places = sorted(live.ledger.places(live.session.id).values())
    assert places == [[number] for number in range(len(found))]
    assert live.seen.seq == len(found)
    live.save()
    assert sorted(live.ledger.places(live.session.id).values()) == places


def test_live_a_position_is_admitted_each_time():
    """Without native ids the same text may occur again; each occurrence is stored for a resync."""
    make, live = CodexLegacy(), Live(CODEX)
    rows = [make.meta(), make.says("ok"), make.says("ok")]
    assert texts(live.stream().events(live.source, lines(*rows))) == ["ok", "ok"]
    live.save()
    assert sorted(map(len, live.ledger.places(live.session.id).values())).pop() == 2


def test_a_backfill_admits_and_notes_what_was_only_scanned():
    """A backfill admits scanned events, and the live stream does not admit them again."""
    make, live = Claude(), Live(CLAUDE)
    rows = [make.user("one"), make.says("two")]
    backfill = ScanDedup(live.seen, known_only=False)
    assert texts(live.stream().events(live.source, lines(*rows), seen=backfill)) == ["one", "two"]
    assert texts(live.stream().events(live.source, lines(*rows))) == []
    live.seen.end_backfill()
    assert texts(live.stream().events(live.source, lines(*rows), seen=backfill)) == ["one", "two"]


def test_a_backfill_notes_what_is_older_than_what_is_known():
    """A backfill of a source that was only scanned also stores events older than those already live."""
    make, live = Claude(), Live(CLAUDE)
    old, new = make.user("one"), make.says("two")
    list(live.stream().events(live.source, lines(new, make.says("three"))))
    backfill = ScanDedup(live.seen, known_only=False)
    list(live.stream().events(live.source, lines(old, new), seen=backfill))
    assert texts(live.stream().events(live.source, lines(old, new))) == []


def test_a_second_backfill_notes_no_position_twice():
    """A second backfill stores no event again: repeated text would make a resync skip new text."""
    make, live = CodexLegacy(), Live(CODEX)
    rows = lines(make.meta(), make.user("one"), make.says("two"))
    found, seen = [], live.seen
    for _ in range(2):
        found.append(len(list(live.stream(seen).events(live.source, rows, seen=ScanDedup(seen, known_only=False)))))
        seen.save()
        seen = LedgerDedup(live.session._replace(seq=seen.seq), live.ledger)
    assert {len(numbers) for numbers in live.ledger.places(live.session.id).values()} == {1}
    assert found == [seen.seq] * 2


def test_a_backfill_has_a_record_once_that_is_written_twice():
    """With native ids it is known by its id, though the ledger has had it all along."""
    make, live = Claude(), Live(CLAUDE)
    row = make.user("one")
    list(live.stream().events(live.source, lines(row)))
    live.save()
    backfill = ScanDedup(live.seen, known_only=False)
    assert texts(live.stream().events(live.source, lines(row, row), seen=backfill)) == ["one"]


def test_a_backfill_of_a_document_leaves_what_is_new():
    """Events of a document that are not in the ledger are new, and are left for the live stream, which counts them."""
    make, live = Claude(), Live(CLAUDE)
    old, new = make.user("one"), make.says("two")
    list(live.stream().events(live.source, lines(old)))
    live.save()
    backfill, reading = ScanDedup(live.seen, known_only=True), live.stream()
    assert texts(reading.events(live.source, lines(old, new), seen=backfill)) == ["one"]
    live.seen.end_backfill()
    assert texts(reading.events(live.source, lines(old, new), refold=True)) == ["two"]
    assert read_in_all(reading.metadata.tally) == receipt({"told": 2})


# -- metadata ----------------------------------------------------------------------------------------


def said(text, kind=ev.ASSISTANT_MESSAGE):
    return Event(text, kind, SessionRef("codex", THREAD), {"text": text}, {})


TURN = said("over", ev.TURN_END)


def test_a_follower_skips_what_a_source_repeats_until_it_goes_on():
    """Without ids: in the known order, also what has nothing of its own; after the last known event, all is new."""
    seen = FollowerDedup(native_ids=False)
    known = [said("a"), TURN, said("b"), TURN]
    assert [admits(seen, event, CODEX) for event in (*known, said("a"))] == [True] * 5
    assert seen.count == 5
    seen.restart(CODEX)
    seen.settle(CODEX)  # nothing of it is there yet
    assert [admits(seen, event, CODEX) for event in known] == [False] * 4
    seen.settle(CODEX)  # it may still be being written
    assert [admits(seen, event, CODEX) for event in (said("a"), TURN)] == [False, True]
    seen.settle(CODEX)
    assert admits(seen, said("a"), CODEX)
    admits(seen, TURN, CODEX)
    seen.restart(CODEX)
    assert [admits(seen, event, CODEX) for event in (*known, said("a"), TURN, said("a"), TURN)] == [False] * 8
    seen.settle(CODEX)  # it repeated all of them
    assert admits(seen, TURN, CODEX)


def test_a_follower_takes_what_follows_something_new_for_new():
    """A source that was cut and went on differently repeats nothing any more, even if words recur."""
    seen = FollowerDedup(native_ids=False)
    for word in "abc":
        admits(seen, said(word), CODEX)
    seen.restart(CODEX)
    assert [admits(seen, said(word), CODEX) for word in ("a", "new", "b", "newer")] == [False, True, False, True]
    seen.settle(CODEX)
    assert admits(seen, said("c"), CODEX)


def test_a_follower_takes_each_id_once():
    """With ids, nothing else matters."""
    seen = FollowerDedup(native_ids=True)
    assert [admits(seen, said(word), CLAUDE) for word in "aab"] == [True, False, True]
    seen.restart(CLAUDE)
    assert not admits(seen, said("b"), CLAUDE)


def test_an_event_is_part_of_the_metadata_while_it_is_out():
    """While an event is yielded, the metadata include it and nothing after it."""
    make, reading = Claude(), stream()
    for event in reading.events(CLAUDE, lines(make.user("one"), make.says("two"))):
        assert reading.metadata.last == event.id
        assert reading.metadata.time == event.time
    assert (reading.metadata.title, reading.metadata.model) == ("one", "claude-opus-4-6")


def test_a_call_is_open_until_its_result_has_been_seen():
    """A call is open while its result is rendered with the name of the tool, and closed afterwards."""
    make, reading, shown = Claude(), stream(), {}
    for event in reading.events(CLAUDE, lines(make.runs("t1", "ls"), make.result("t1", "a b"), make.says("done"))):
        shown.setdefault(event.kind, reading.metadata.called("t1"))
    assert (shown[ev.TOOL_CALL], shown[ev.TOOL_RESULT], shown[ev.ASSISTANT_MESSAGE]) == ("Bash", "Bash", "tool")
    assert reading.metadata.calls == {}


@each("refold", [True, False])
def test_a_stream_that_was_not_there_counts_what_was_seen_before(refold):
    """It begins where reading resumes, be it after a restart or in a document that is read from its beginning."""
    make, live = Claude(), Live(CLAUDE)
    rows = lines(make.user("one"), make.says("two"), make.runs("t1", "ls"))
    list(live.stream().events(live.source, rows))
    again = live.stream()
    assert list(again.events(live.source, rows, refold=refold)) == []
    assert (again.metadata.model, again.metadata.calls) == ("claude-opus-4-6", {"t1": "Bash"})


def test_a_stream_that_was_not_there_knows_the_exchanges_that_passed_before():
    """It reads them once more, and what a client wrote again is no question there, either."""
    make, live = Gemini(session=SESSION), Live(GEMINI)
    said = [*make.records(user("one")), *make.records(says("two"))]
    echo = [record | {"id": f"again-{n}"} for n, record in enumerate(said) if "id" in record]
    rows = lines(*make.opening(), *said, *echo, *make.records(user("new")), *make.records(says("newer")))
    first, second = live.stream(), live.stream()
    assert texts([*first.events(live.source, rows), *first.settle(live.source)]) == ["one", "two", "new", "newer"]
    assert texts([*second.events(live.source, rows), *second.settle(live.source)]) == []
    known = first.exchanges.of()
    assert known.last(9) is not None
    assert [second.exchanges.of().last(count) for count in (1, 9)] == [known.last(count) for count in (1, 9)]


def test_what_is_gone_of_a_document_is_no_exchange_any_more():
    """It is read from its beginning after each change: what does not come again was taken back."""
    make, live = Gemini(session=SESSION), Live(GEMINI)
    first = [*make.records(user("one")), *make.records(says("two"))]
    second = [*make.records(user("three")), *make.records(says("four"))]
    reading, head = live.stream(), make.opening()
    assert texts(reading.events(live.source, lines(*head, *first, *second))) == ["one", "two", "three", "four"]
    before = reading.exchanges.of().last(9)
    assert texts(reading.events(live.source, lines(*head, *second), refold=True)) == []
    assert reading.exchanges.of().last(9) != before
    assert reading.exchanges.of().last(9) == reading.exchanges.of().last(1)


def test_a_stream_that_was_there_counts_nothing_twice():
    """Known events that are read again change none of the metadata."""
    make, live = Claude(), Live(CLAUDE)
    rows = lines(make.user("one"), make.says("two"), make.runs("t1", "ls"))
    stream = live.stream()
    list(stream.events(live.source, rows))
    before = stream.metadata.state()
    assert list(stream.events(live.source, rows[:2])) == []
    assert stream.metadata.state() == before


def test_a_message_is_titled_without_its_commands_and_secrets():
    """The title is redacted whatever the settings, as it is in the ledger and in file names."""
    reading = stream()
    secret = "sk-ant-" + "api03-" + "x7Kq" * 24
    list(reading.events(CLAUDE, lines(Claude().user(f"::start\nuse {secret} please\nsecond line"))))
    assert reading.metadata.title.startswith("use ")
    assert "x7Kq" not in reading.metadata.title


def test_the_first_words_are_the_title():
    """The first prompt is the title, and later ones do not change it."""
    make, reading = Claude(), stream()
    [first, second] = [
        event for event in reading.events(CLAUDE, lines(make.user("one"), make.user("two"))) if event.typed
    ]
    assert reading.metadata.title == "one"
    set_title(reading.metadata, "three", second)
    assert reading.metadata.title == "one"
    assert first.payload == {"text": "one"}


# -- commands and near misses ------------------------------------------------------------------------


def test_typed_text_is_split_at_its_commands():
    """Each part is an event of its own, as ranges are positions between events."""
    found = list(stream().events(CLAUDE, lines(Claude().user("one\n::start\ntwo"))))
    assert [event.kind for event in found][-3:] == [ev.USER_MESSAGE, ev.USER_COMMAND, ev.USER_MESSAGE]


def test_near_misses_are_counted_until_they_are_taken():
    """A line that looks like a command but is not is text, and is counted once."""
    reading = stream()
    assert texts(reading.events(CLAUDE, lines(Claude().user("::strat\n::start a b")))) == ["::strat\n::start a b"]
    taken = reading.open(CLAUDE).take_near_misses()
    assert [(heard.payload["text"], miss.message == heard.dedup_key) for heard, miss in taken] == [
        ("::strat\n::start a b", True)
    ] * 2
    assert reading.open(CLAUDE).take_near_misses() == []


def test_nothing_is_typed_to_an_agent_that_gives_words_of_others_for_the_persons():
    """OpenClaw is told by messengers: whoever writes there does not command."""
    make = Pi()
    rows = lines(*make.opening(), *make.records(user("::start")))
    source = Stretch("/p.jsonl", Identity(SessionKey("openclaw", SESSION)))
    assert [event.typed for event in stream(source=source).events(source, rows) if event.kind == ev.USER_MESSAGE] == [
        False
    ]


# -- the end of a source -----------------------------------------------------------------------------


def test_text_that_is_held_back_comes_at_the_end():
    """Held-back text is yielded at the end of a complete source, as no later record can decide about it."""
    reading = stream()
    held = lines(QUEUED | {"operation": "enqueue", "content": "wait\n::stop"}, QUEUED | {"operation": "remove"})
    assert not reading.is_pending
    assert texts(reading.events(CLAUDE, held)) == []
    other = CODEX._replace(identity=CLAUDE.identity)
    assert reading.is_pending
    assert [reading.has_pending(source) for source in (CLAUDE, other)] == [True, False]
    found = list(reading.rest(CLAUDE, None))
    assert (texts(found), found[-1].kind) == (["wait"], ev.USER_COMMAND)


@each(("cut", "expected"), [(1, ["one"]), (9, [])])
def test_a_last_line_without_its_newline_counts_if_it_is_whole(cut, expected):
    """An incomplete record at the end is ignored and not kept: the rest of it may follow."""
    data = line(Claude().user("one"))[:-cut]
    found = list(stream().rest(CLAUDE, Line(0, len(data), data)))
    assert texts(found) == expected
    assert bool(found) == bool(expected)


# -- errors ------------------------------------------------------------------------------------------


@pytest.fixture
def stumbling(monkeypatch):
    """Return a function that makes the adapter raise an error for any record with `boom`."""

    def use(error):
        real = ClaudeAdapter.feed

        def feed(self, record):
            if record.value is not None and "boom" in json.dumps(record.value):
                raise error
            return real(self, record)

        monkeypatch.setattr(ClaudeAdapter, "feed", guarded(feed))

    return use


@pytest.mark.breaks
def test_an_adapter_that_raises_costs_its_record_only(stumbling):
    """The record is kept unchanged, only its position is logged, and the next record is read."""
    stumbling(ValueError("private"))
    logged, make = [], Claude()
    rows = lines(make.user("one"), make.user("boom"), make.says("two"))
    found = list(stream(log=EventLog(lambda *event: logged.append(event))).events(CLAUDE, rows))
    assert texts(found) == ["one", "two"]
    [raw] = [event for event in found if event.kind == ev.PROVIDER_RAW]
    assert raw.payload == {"rawType": "unexpected shape", "raw": rows[1].data.decode()}
    fields = {"session": str(CLAUDE.identity.key), "offset": rows[1].offset, "problem": "ValueError"}
    assert logged == [("warning", "record.unexpected", fields)]


def test_a_machine_without_memory_is_no_trouble_of_the_record(stumbling):
    """A `MemoryError` is raised: skipping the record would lose what can be read later."""
    stumbling(MemoryError())
    with pytest.raises(MemoryError):
        list(stream().events(CLAUDE, lines(Claude().user("boom"))))


@pytest.mark.breaks
def test_an_adapter_that_raises_at_the_end_costs_what_it_held(monkeypatch):
    """If the adapter fails at the end of a source, only the events that it held back are lost."""

    def fail(_):
        raise KeyError("private")

    monkeypatch.setattr(ClaudeAdapter, "finish", guarded(fail))
    logged, reading = [], stream()
    reading = stream(log=EventLog(lambda *event: logged.append(event)))
    assert texts(reading.events(CLAUDE, lines(Claude().user("one")))) == ["one"]
    assert list(reading.rest(CLAUDE, None)) == []
    assert [event[1:] for event in logged] == [
        ("record.unexpected", {"session": str(CLAUDE.identity.key), "offset": 0, "problem": "KeyError"})
    ]


def test_a_line_that_cannot_be_decoded_is_kept_and_named():
    """The line is kept and logged, and the lines around it are read."""
    logged, make = [], Claude()
    reading = stream(log=EventLog(lambda *event: logged.append(event)))
    found = list(reading.events(CLAUDE, lines(make.user("one"), b"{not json\n", make.says("two"))))
    assert texts(found) == ["one", "two"]
    assert ev.PROVIDER_RAW in [event.kind for event in found]
    assert [event[1] for event in logged] == ["record.malformed"]


# -- translations ------------------------------------------------------------------------------------


def test_a_source_is_translated_by_one_adapter_until_it_is_restarted():
    """A state given for an open adapter is ignored; it is used after a restart."""
    make, reading = Claude(), stream()
    list(reading.events(CLAUDE, lines(make.user("one"))))
    first = reading.open(CLAUDE, {"started": False})
    assert first is reading.open(CLAUDE)
    assert first.state()["started"]
    reading.restart(CLAUDE)
    assert not reading.open(CLAUDE).state()["started"]
    assert reading.open(CLAUDE).version == ClaudeAdapter.version


SAID = st.lists(
    st.sampled_from([
        user("hello"), user("a\n::start x\nb"), user("::strat"), says("fine"), calls("t1", "ls"), result("t1", "a"),
        calls("t2", "pwd"), result("t2", "b"),
    ]),
    max_size=8,
)  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("maker", [Claude, Codex, CodexLegacy], ids=lambda maker: maker.__name__)
@given(SAID, st.lists(st.booleans(), min_size=30, max_size=30), st.booleans())
def test_how_a_source_is_cut_never_changes_its_events(maker, said, cuts, restarted):
    """In one pass, in any pieces, and with restarts between them, events and metadata are the same."""
    make = maker()
    rows = lines(*make.opening(), *(record for thing in said for record in make.records(thing)))
    source = Stretch("/s.jsonl", Identity(SessionKey(make.agent, make.session)))
    whole = stream(source=source)
    expected = list(whole.events(source, rows))
    cut, found = stream(source=source), []
    pieces = [[]]
    for row, ends in zip(rows, cuts, strict=False):
        pieces[-1].append(row)
        if ends:
            pieces.append([])
    for piece in [*pieces, rows[len(cuts) :]]:
        found += cut.events(source, piece)
        if restarted:
            state, metadata = json.loads(json.dumps([cut.open(source).state(), cut.state()]))
            cut = stream(source=source, metadata=metadata)
            cut.open(source, state)
    assert found == expected
    assert cut.metadata.state() == whole.metadata.state()


@pytest.mark.breaks
def test_a_part_of_a_document_that_breaks_is_logged(monkeypatch):
    """The parts around it are as they would be."""
    monkeypatch.setattr("katod.agents.cline.adapter.result_of", lambda *_: 1 / 0)
    told, make = [], Cline()
    messages = [*make.records(user("one")), make.result("c1", "x", "words"), *make.records(user("two"))]
    document = {"version": 1, "agent": "lead", "sessionId": "1_a", "messages": messages}
    source = Stretch("/1_a/1_a.messages.json", Identity(SessionKey("cline", "1_a")))
    log = EventLog(lambda _level, event, fields: told.append((event, fields["problem"])))
    assert texts(stream(source=source, log=log).events(source, lines(document))) == ["one", "two"]
    assert told == [("record.unexpected", "a part of it")]
