"""Which commands are history: those before the baseline, those in rewritten files, and their copies in forks."""

import json
import os
from datetime import datetime

import pytest

from katod.errors import SourceError
from katod.events import USER_COMMAND, USER_MESSAGE, Event, SessionRef
from katod.model import Cursor
from katod.record.history import is_history, note_document, rest_of, said, said_in
from katod.record.stream import NoDedup, SessionStream
from tests.support import records
from tests.support.parts import lines, put
from tests.support.records import OTHER, SESSION, Claude, GeminiDocument, says, user


def fork(source, world):
    """Write a file with the records of another one, with equal ids and times but its own session id."""
    records = source.path.read_bytes().replace(SESSION.encode(), OTHER.encode())
    same_ids = records.replace(f'"uuid":"{OTHER[:8]}'.encode(), f'"uuid":"{SESSION[:8]}'.encode())
    return world.claude(OTHER).append(same_ids, Claude(session=OTHER, start=50).says("of the fork"))


def test_a_command_of_history_does_not_act_in_a_fork(world):
    """A command that predates katod is ignored wherever it is copied."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes.md\none"), make.says("two"))
    os.utime(source.path, (1, 1))
    world.once()
    fork(source, world)
    world.once()
    assert world.written() == {}


def test_an_old_time_alone_is_no_proof(world):
    """An old command that is in no other file is obeyed: the clock may be wrong."""
    world.claude().append(Claude().user("::start notes.md\none"))
    world.once()
    assert list(world.written()) == ["notes.md"]


def test_a_fork_whose_origin_is_gone_is_taken_as_it_is(world):
    """Without the original file, a copied command cannot be recognised and is obeyed."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes.md\none"))
    os.utime(source.path, (1, 1))
    world.once()
    fork(source, world)
    source.path.unlink()
    world.once()
    assert list(world.written()) == ["notes.md"]


# -- one command -------------------------------------------------------------------------------------


def typed(parts, source, record, at=0):
    """Return a typed command as an event of a source."""
    stream = SessionStream(source.identity.key, NoDedup(), parts.log)
    *_, event = stream.events(source, lines(record, at=at))
    return event


def nanoseconds(time):
    return int(datetime.fromisoformat(time).timestamp()) * 10**9


@pytest.fixture
def source(parts):
    """Return a source that appeared while katod was running."""
    parts.world.claude().append("{}\n")
    return parts.source()


@pytest.mark.whole
@pytest.mark.parametrize(("at", "history"), [(0, True), (99, True), (100, False)])
def test_a_command_before_the_baseline_is_history(parts, source, at, history):
    """A command before the baseline, from which on katod watches the file, is history."""
    put(source, baseline=100)
    assert is_history(typed(parts, source, Claude().user("::start"), at), source, parts.catalog) is history


@pytest.mark.whole
@pytest.mark.parametrize(("later", "history"), [(-1, False), (0, True), (1, True)])
def test_a_command_of_a_rewritten_file_is_history_by_its_time(parts, source, later, history):
    """In a rewritten file, a command typed before the last read is history."""
    event = typed(parts, source, Claude().user("::start"))
    put(source, after_ns=nanoseconds(event.time) + later)
    assert is_history(event, source, parts.catalog) is history


def test_a_command_without_a_time_counts_as_typed_before(parts, source):
    """In a rewritten file, a command without a time is history."""
    event = typed(parts, source, Claude().user("::start", timestamp=None))
    assert not is_history(event, source, parts.catalog)
    put(source, after_ns=1)
    assert is_history(event, source, parts.catalog)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("folder", "older", "history"),
    [("-home-me-app", 61, True), ("-home-me-app", 59, False), ("-home-me-other", 61, False)],
)
def test_a_copy_of_history_is_known_by_the_file_beside_it(parts, folder, older, history):
    """A command is a copy if it is much older than its file and is in the history of a file in the same folder."""
    make = Claude()
    record = make.user("::start")
    parts.world.claude(folder=folder).append(record).age()
    parts.sweep()
    parts.world.claude(OTHER).append("{}\n")
    fork = parts.source()
    event = typed(parts, fork, record)
    put(fork, since_ns=nanoseconds(event.time) + older * 10**9)
    assert is_history(event, fork, parts.catalog) is history


# -- documents ---------------------------------------------------------------------------------------


def document(parts, *said):
    maker = GeminiDocument(parts.world).say(*said)
    return maker, parts.source()


def read(parts, source, act):
    with source.spec.open(source.path) as file:
        return act(source, file)


def test_the_commands_of_a_document_that_is_history_count_as_applied(parts):
    """A document is rewritten as a whole, so its commands are known by their ids and not by offset."""
    maker, source = document(parts, user("::start"), says("one"))

    def is_new(source, file):
        commands, _ = said_in(source, file.read(Cursor(), 0), parts.log)
        return not all(map(parts.ledger.is_applied, commands))

    assert read(parts, source, is_new)
    read(parts, source, lambda source, file: note_document(source, file, parts.ledger, parts.log))
    assert not read(parts, source, is_new)
    maker.say(says("an answer, and no command"))
    assert not read(parts, source, is_new)
    maker.say(user("::stop"))
    assert read(parts, source, is_new)


def test_a_document_without_commands_leaves_no_trace(parts):
    """A document without commands is searched but not translated, and nothing is stored."""
    _, source = document(parts, user("one"), says("two"))
    before = parts.ledger.db.total_changes
    read(parts, source, lambda source, file: note_document(source, file, parts.ledger, parts.log))
    assert parts.ledger.db.total_changes == before


def test_a_document_that_is_being_written_is_tried_again(parts):
    """An incomplete document raises an error and is retried."""
    maker, source = document(parts, user("::start"))
    maker.path.write_bytes(maker.path.read_bytes()[:-10])
    with pytest.raises(SourceError, match="still being written"):
        read(parts, source, lambda source, file: note_document(source, file, parts.ledger, parts.log))


# -- what is kept of a session that is forgotten ------------------------------------------------------


def rest(parts, *said):
    parts.world.claude().say(*said)
    return rest_of(parts.source())


def messages(kept):
    """Return the kinds and the words of the messages that are kept."""
    return [(kind, payload.get("text", payload.get("line"))) for _, _, kind, payload, _ in map(json.loads, kept.said)]


def test_of_a_forgotten_session_the_commands_and_the_first_message_are_kept(parts):
    """By them its copies are known; nothing is kept of any other message."""
    kept = rest(parts, user("the first"), says("one"), user("the second"), user("::stop"), user("::start n\nthe last"))
    assert messages(kept) == [(USER_MESSAGE, "the first"), (USER_COMMAND, "::stop"), (USER_COMMAND, "::start n")]
    assert len(set(kept.commands)) == 2


def test_of_a_forgotten_session_without_commands_the_first_message_is_kept(parts):
    """Its copies are known by that alone."""
    kept = rest(parts, says("one"), user("the first"), user("the second"))
    assert messages(kept) == [(USER_MESSAGE, "the first")]
    assert kept.commands == []
    assert kept.baseline == kept.cursor.offset == kept.history == kept.seen.size


@pytest.mark.whole
@pytest.mark.parametrize(("make", "comes_back_as_history"), [(Claude, False), (records.Cursor, True)])
def test_what_comes_back_of_a_forgotten_session_whose_file_is_gone(parts, make, comes_back_as_history):
    """Its times say what is new in it; without any, all of it is history, however long it is by then."""
    maker = make(parts.world).say(user("the first"), says("one"))
    [source] = parts.sweep()
    history, baseline = source.history, source.baseline
    maker.path.unlink()
    kept = rest_of(source)
    if comes_back_as_history:
        assert kept.history > 10**12
        assert kept.baseline is None
    else:
        assert (kept.history, kept.baseline) == (history, baseline)


def test_a_message_is_the_same_in_every_copy_of_its_record():
    """In whatever order its fields are; not with other words, at another time, or of another agent."""

    def of(agent="claude", time="2026-02-10T10:00:00Z", kind=USER_MESSAGE, **payload):
        return said(Event("e", kind, SessionRef(agent, "s"), payload, {}, time))

    same = of(text="a", subtype="shell")
    assert same == of(subtype="shell", text="a")
    others = [
        of(text="b", subtype="shell"), of(text="a"), of(text="a", subtype="shell", time="2026-02-10T10:00:01Z"),
        of("qwen", text="a", subtype="shell"), of(kind=USER_COMMAND, text="a", subtype="shell"),
    ]  # fmt: skip
    assert len({same, *others}) == 6
