"""A session as it happens: each event once, whatever happens to its files."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from katod import events as ev
from katod import model
from katod.agents import AGENTS
from katod.agents.base import fingerprint
from katod.config import Settings
from katod.discover.found import find_sessions
from katod.discover.roots import find_roots
from katod.errors import SourceChanged
from katod.events import Event, SessionRef
from katod.formatspec import open_format
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.export import Stretch, replay
from katod.record.follow import Admission, Follower, Limited, follow, last_turn, printed
from katod.tail.reader import open_source
from tests.examples import examples, mostly
from tests.looping import each
from tests.support.parts import admits
from tests.support.records import MAKERS, OF_EACH_NATURE, Claude, CodexLegacy, Cursor, calls, line, result, says, user
from tests.support.world import World

LOG = EventLog()
EVERYTHING = 10**18  # bytes: up to the last newline, unlike an export, which also takes an unfinished line
LINES = [make for make in MAKERS if make.__name__ not in ("GeminiDocument", "OpenCode", "OpenCode2")]
CALLED = (calls("c1", "make"), result("c1", "made"))
TALK = (user("one"), says("two"), *CALLED, says("two"), user("one"), says("three"))
PARTS = ((user("one"),), (user("two"),), (says("one"),), (says("three"),), CALLED)


class Watched:
    """The sessions of a home, and what a follower of one has yielded so far."""

    def __init__(self, maker):
        self.maker = maker
        self.seen = []
        self.follower = None

    def found(self):
        """Return the session as a sweep finds it, None if its files do not exist."""
        sessions = find_sessions(find_roots(Settings(), AGENTS), {})
        return next((found for key, found in sessions.items() if key.agent == self.maker.agent), None)

    def look(self):
        """Look once."""
        found = self.found()
        if self.follower is None and found is not None:
            self.follower = Follower(found.key, LOG)
        if self.follower is not None:
            files = [(path, identity) for path, identity, _ in found.files] if found else []
            self.seen += [event for event, _ in self.follower.look(files)]
        return self

    def exported(self):
        """Return the events of an export, without what is not complete yet."""
        found = self.found()
        stretches = [Stretch(path, identity, EVERYTHING) for path, identity, _ in found.files]
        return [event for event, _ in replay(found.key, stretches, LOG)]


def texts(events):
    return [event.payload["text"] for event in events if event.kind in (ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE)]


def contents(events):
    return [fingerprint(event) for event in events]


@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda make: make.__name__)
def test_a_growing_session_is_followed_to_its_end(world, make):
    """Look after look, the events are those of an export; looking again yields nothing."""
    watched = Watched(make(world))
    for said in TALK:
        watched.maker.say(said)
        watched.look().look()
    assert contents(watched.seen) == contents(watched.exported())
    assert texts(watched.seen)[-1] in ("three", "one")  # OpenCode holds the last answer back until it is final


@pytest.mark.parametrize("make", mostly([*OF_EACH_NATURE, CodexLegacy, Cursor], MAKERS), ids=lambda make: make.__name__)
def test_a_session_that_is_written_again_is_not_repeated(world, make):
    """Written again under a new inode, or gone for a while: only what is new is yielded."""
    watched = Watched(make(world).say(*TALK)).look()
    before = list(watched.seen)
    watched.maker.rewrite()
    watched.look()
    assert watched.seen == before
    watched.maker.say(user("new"), says("newer")).rewrite()
    watched.look()
    assert contents(watched.seen) == contents(watched.exported())


@st.composite
def histories(draw):
    """Return what happens to a file of lines: how much of it is there at each look."""
    return draw(st.lists(st.tuples(st.sampled_from(["grow", "cut", "replace", "vanish"]), st.floats(0, 1)), max_size=8))


@pytest.mark.parametrize("make", mostly([Claude, CodexLegacy], LINES), ids=lambda make: make.__name__)
@examples(3, 300)
@given(history=histories(), talk=st.lists(st.sampled_from(PARTS), min_size=1, max_size=8))
@example(history=[("grow", 1.0), ("cut", 0.0)], talk=[(user("one"),), (says("one"),)] * 2)
def test_whatever_happens_to_the_file_each_event_comes_once(make, history, talk):
    """Any chunks, truncations, replacements and absences: in the end, the events are those of an export, in order."""
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        watched = Watched(make(World(Path(home), patch, seen_empty=False)))
        whole = watched.maker.say(*(said for part in talk for said in part)).path.read_bytes()
        watched.maker.path.unlink()
        for what, share in [*history, ("grow", 1.0)]:
            _happen(watched.maker.path, what, whole, round(share * len(whole)))
            watched.look()
        assert contents(watched.seen) == contents(watched.exported())


def _happen(path, what, whole, size):
    """Let a file have so many bytes of what it is going to have, in one of the ways in which that happens."""
    if what == "vanish":
        path.unlink(missing_ok=True)
    elif what == "grow":
        there = path.stat().st_size if path.exists() else 0
        with path.open("ab") as file:
            file.write(whole[there:size])
    elif what == "cut":
        path.write_bytes(whole[:size])
    else:
        new = path.with_name("new.tmp")
        new.write_bytes(whole[:size])
        new.replace(path)


def test_a_compacted_session_goes_on_with_what_is_new(world):
    """Without ids, too: what is known is skipped, what was put before it is yielded, and what follows."""
    watched = Watched(CodexLegacy(world).say(*(says(f"word {n}") for n in range(6)))).look()
    make = watched.maker
    watched.maker.rewrite(lambda n, _: n in (0, 5, 6))
    watched.maker.path.write_bytes(
        b"".join(
            map(line, [make.items[0], *make.records(says("summary")), *make.items[1:], *make.records(says("next"))])
        )
    )
    watched.look()
    assert texts(watched.seen) == [*(f"word {n}" for n in range(6)), "summary", "next"]
    watched.maker.append(*make.records(says("word 2")))
    assert texts(watched.look().seen)[-1] == "word 2"


def test_what_follows_a_compaction_is_new_at_the_next_look_too(world):
    """Without ids: once a file that was cut has gone on with something new, known words that recur in it are new."""
    watched = Watched(CodexLegacy(world).say(*(says(f"word {n}") for n in range(6)))).look()
    make = watched.maker
    make.rewrite(lambda n, _: n < 3)
    make.append(*make.records(says("else")))
    assert texts(watched.look().seen)[-1] == "else"
    make.append(*make.records(says("word 4")))
    assert texts(watched.look().seen)[-2:] == ["else", "word 4"]


def test_a_session_goes_on_in_another_file(world):
    """Records that were copied to it are not repeated; a file that was moved is the same one."""
    make = world.claude()
    one, two, three = make.user("one"), make.says("two"), make.user("three")
    watched = Watched(make.append(one, two)).look()
    other = world.claude(folder="-elsewhere").append(one, two, three)
    assert texts(watched.look().seen) == ["one", "two", "three"]
    other.path.rename(other.path.parent.parent / "-home-me-app" / "x")
    moved = world.claude(folder="-third").path
    (other.path.parent.parent / "-home-me-app" / "x").rename(moved)
    with moved.open("ab") as file:
        file.write(line(make.says("four")))
    assert texts(watched.look().seen) == ["one", "two", "three", "four"]


def test_only_what_is_new_is_read(world, monkeypatch):
    """A look at files that did not change opens none of them, and one that grew is read from where it was."""
    make = Claude()
    watched = Watched(world.claude().append(*(make.says(f"word {n} " * 5000) for n in range(9)))).look()
    read, preading = [], os.pread

    def counted(fd, size, at):
        read.append(len(data := preading(fd, size, at)))
        return data

    monkeypatch.setattr(os, "pread", counted)
    watched.look()
    assert read == []
    watched.maker.append(make.says("new"))
    assert texts(watched.look().seen)[-1] == "new"
    assert sum(read) < 10_000


# -- the last turn ------------------------------------------------------------------------------------


def events_of(world, *records):
    watched = Watched(world.claude().append(*records))
    found = watched.found()
    return replay(found.key, [Stretch(path, identity) for path, identity, _ in found.files], LOG)


def test_the_last_turn_begins_with_the_last_typed_message(world):
    """All parts of that message belong to it, with commands; what the client wrote in the person's name begins none."""
    make = Claude()
    records = [
        make.user("one"),
        make.says("two"),
        make.user("above\n::start\nbelow"),
        make.says("three"),
        *make.wrapped("x"),
    ]
    turn = last_turn(events_of(world, *records))
    assert [event.payload.get("text") for event in turn.events[:4]] == ["above", None, "below", "three"]
    assert turn.after.title == "one"


@each(
    ("second", "texts"),
    [
        ({"source": {"offset": 9}}, ["two", "three"]),
        ({"source": {"offset": 0, "providerEventId": "x"}}, ["two", "three"]),
        ({"time": "2026-02-10T22:36:19.000Z"}, ["two", "three"]),
        ({}, ["one", "two", "three"]),
    ],
)
def test_a_turn_begins_with_a_message_of_a_record_of_its_own(second, texts):
    """Parts of a message are of one record: its place, its id and its time are the same."""
    ref, kind = SessionRef("codex", "s"), ev.USER_MESSAGE
    one, two, three = (
        Event(text, kind, ref, {"text": text}, {"offset": 0}, "2026-02-10T22:36:18.000Z", typed=text != "three")
        for text in ("one", "two", "three")
    )
    metadata = SessionMetadata(SessionKey("codex", "s"))
    turn = last_turn([(one, metadata), (two._replace(**second), metadata), (three, metadata)])
    assert [event.payload["text"] for event in turn.events] == texts


def test_copies_of_what_was_seen_are_known_by_their_numbers():
    """A follower that goes on from a mark has not seen the first ones, and leaves out the same events."""
    events = [Event(name, ev.USER_MESSAGE, SessionRef("claude", "s"), {"text": name}, {}) for name in "abac"]
    whole = Admission(native_ids=True)
    assert [admits(whole, event, None) for event in events] == [True, True, False, True]
    assert (whole.copies, whole.number) == ([2], 4)
    later = Admission(native_ids=True, copies=whole.copies, number=1)
    assert [admits(later, event, None) for event in events[1:]] == [True, False, True]
    assert (later.copies, later.number) == ([2], 4)


def test_without_a_typed_message_all_of_it_is_the_last_turn(world):
    """A sub-agent's session has none; of nothing there is no turn."""
    make = Claude()
    assert len(last_turn(events_of(world, make.says("one"), make.says("two"))).events) >= 2
    assert last_turn([]) is None


def test_the_last_turn_knows_what_was_called_before_it(world):
    """A result is named after its tool although the call was made in the turn before."""
    make = Claude()
    rows = [
        make.user("one"),
        make.calls("t1", "Bash", command="make"),
        make.user("two"),
        make.result("t1", "no", error=True),
    ]
    [before] = [
        metadata.called("t1")
        for event, metadata in last_turn(events_of(world, *rows)).replay()
        if event.kind == ev.TOOL_RESULT
    ]
    assert before == "Bash"


@each("whole, expected", [(False, ["two", "new"]), (True, ["one", "two", "new"])])
def test_what_is_printed_begins_with_a_head(world, whole, expected):
    """Once, as soon as anything is known; then each event, and an empty text after each look."""
    source = world.claude(f"{whole:d}" * 8)
    make = Claude(session=source.session)

    def looks():
        yield []
        found = Watched(source.append(make.user("one"), make.user("two"))).found()
        follower, files = Follower(found.key, LOG), [(str(source.path), found.files[0][1])]
        yield follower.look(files)
        source.append(make.user("new"))
        yield follower.look(files)

    shown = list(printed(looks(), open_format("markdown", Options()), whole=whole))
    text = "".join(shown)
    assert shown[0] == shown[-1] == ""
    assert text.count("\n# ") == 1
    assert [word for word in ("one", "two", "new") if f" · {word}\n" in text] == expected


def test_it_is_looked_again_and_again(world):
    """For ever: between two looks, it waits, and the files are asked for again."""
    source, waited = world.claude().append(Claude().user("one")), []
    found = Watched(source).found()
    files = [(str(source.path), found.files[0][1])]
    looks = follow(found.key, lambda: files if waited else [], lambda: waited.append(1), LOG)
    assert [len(list(next(looks))) > 0 for _ in range(3)] == [False, True, False]
    assert len(waited) == 2


# -- up to a limit ------------------------------------------------------------------------------------


def advanced(follower, source, limit, budget=1 << 20):
    """Return the texts that are new in a source up to a limit."""
    found = []
    while texts := [event.payload.get("text") for event, _ in follower.advance([Limited(*source, limit)], budget)]:
        found += texts
    return [text for text in found if text]


def cursor_of(path):
    """Return the cursor at the end of a file."""
    with open_source(str(path)) as file:
        return model.Cursor(file.size, file.anchor(file.size))


def test_nothing_after_a_limit_is_read(world):
    """Whatever the file has by now; when the limit moves, what is new up to it is read."""
    session = world.claude()
    session.append(session.user("one"), session.says("two"))
    limit, source = cursor_of(session.path), (str(session.path), AGENTS["claude"].identify(session.path))
    session.append(session.user("three"))
    follower = Follower(source[1].key, LOG)
    assert advanced(follower, source, limit) == ["one", "two"]
    session.append(session.says("four"))
    assert advanced(follower, source, limit) == []
    assert advanced(follower, source, cursor_of(session.path)) == ["three", "four"]
    assert advanced(follower, source, None) == []


def test_a_source_that_is_not_what_it_was_at_its_limit_is_not_read(world):
    """It is read once its limit is one of the new content, and what was yielded is not yielded again."""
    session = Claude(world).say(user("one"), says("two"))
    limit, source = cursor_of(session.path), (str(session.path), AGENTS["claude"].identify(session.path))
    session.rewrite(lambda number, _: number == 0).say(says("three is longer than two was"))
    follower = Follower(source[1].key, LOG)
    assert advanced(follower, source, limit) == []
    assert isinstance(follower.problem, SourceChanged)
    assert advanced(follower, source, cursor_of(session.path)) == ["one", "three is longer than two was"]
    assert follower.problem is None


def test_a_budget_is_read_at_once(world):
    """About as many bytes, in whole lines, and the rest in further steps."""
    session = world.claude()
    session.append(*(session.user(f"number {number}") for number in range(9)))
    source, follower = (
        (str(session.path), AGENTS["claude"].identify(session.path)),
        Follower(AGENTS["claude"].identify(session.path).key, LOG),
    )
    first = [event for event, _ in follower.advance([Limited(*source, cursor_of(session.path))], 600) if event.typed]
    assert 0 < len(first) < 5
    assert follower.moved
    assert len(advanced(follower, source, cursor_of(session.path), 600)) == 9 - len(first)
    assert not follower.moved


def test_a_file_that_was_moved_is_followed_where_it_is(world):
    """It is the same source: nothing of it comes again. One that is still there is another one."""
    maker = world.claude()
    maker.say(user("one"))
    identity = AGENTS["claude"].identify(maker.path)
    follower = Follower(identity.key, LOG)
    assert "one" in texts([event for event, _ in follower.look([(str(maker.path), identity)])])
    moved = maker.path.with_name("moved.jsonl")
    moved.write_bytes(maker.path.read_bytes())
    assert texts([event for event, _ in follower.look([(str(moved), identity)])]) == []
    assert len(follower._sources) == 2
    maker.path.unlink()
    again = moved.rename(moved.with_name("again.jsonl"))
    follower.look([(str(again), identity)])
    assert list(follower.look([(str(again), identity)])) == []
    assert str(again) in follower._sources
    assert len(follower._sources) == 2
