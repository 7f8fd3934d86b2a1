"""Splitting a typed message at its command lines."""

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.command.grammar import command_of, parse_message, split
from katod.events import Event, SessionRef
from katod.model import Command
from tests.looping import each

IMAGE = {"type": "image", "mediaType": "image/png", "bytes": 3, "sha256": "ab"}


def message(text, typed=True, **more):
    return Event(
        id="claude:s:u1:0",
        kind=ev.USER_MESSAGE,
        session=SessionRef("claude", "s"),
        payload={"text": text, **more},
        source={"offset": 12, "providerEventId": "u1"},
        time="2026-02-10T23:36:27.000Z",
        time_source="recorded",
        turn="t1",
        dedup_key="u1:0",
        typed=typed,
        blobs=(("ab", "image/png", "AAAA"),) if more else (),
    )


def kinds(parts):
    return [part.kind for part in parts.events]


@each("text", ["hello", "", "std::cout", "::start please look", "```\n::start\n```"])
def test_message_without_commands_is_the_same_event(text):
    """A message without commands is passed on unchanged, including its id."""
    event = message(text)
    assert split(event, marks_pastes=True).events == [event]


@each("text", ["::start", "one\n::stop\ntwo"])
def test_text_that_nobody_typed_stays_whole(text):
    """A command in text that is not known to be typed is text, and no near miss."""
    event = message(text, typed=False)
    assert split(event, marks_pastes=True) == ([event], text, ())


def test_message_becomes_text_command_and_text():
    """The text before, the command and the text after are separate events, numbered in order."""
    parts = split(message("before\n\n::start auth +tools\nafter"), marks_pastes=True)
    assert kinds(parts) == [ev.USER_MESSAGE, ev.USER_COMMAND, ev.USER_MESSAGE]
    assert [part.id for part in parts.events] == ["claude:s:u1:0.0", "claude:s:u1:0.1", "claude:s:u1:0.2"]
    assert [part.dedup_key for part in parts.events] == ["u1:0.0", "u1:0.1", "u1:0.2"]
    assert [part.payload.get("text") for part in parts.events] == ["before", None, "after"]
    assert parts.words == "before\nafter"


def test_parts_keep_where_and_when_the_message_was():
    """Each part has the source, time, turn and session of its message."""
    event = message("a\n::start\nb\n::stop")
    for part in split(event, marks_pastes=True).events:
        assert (part.source, part.time, part.time_source) == (event.source, event.time, event.time_source)
        assert (part.turn, part.session) == (event.turn, event.session)


def test_command_event_holds_the_parse_only():
    """The payload of a command is word, name, options and the line as typed; what is absent is left out."""
    [whole, bare] = split(message('::Capture "my notes" -thinking +tools\n::stop'), marks_pastes=True).events
    assert whole.payload == {
        "command": "capture",
        "argument": "my notes",
        "options": ["-thinking", "+tools"],
        "line": '::Capture "my notes" -thinking +tools',
    }
    assert bare.payload == {"command": "stop", "options": [], "line": "::stop"}


@each("line", ["::start", "::stop -tools", "::capture 'a b' +thinking", "::export x.md -thinking +tools"])
def test_command_is_read_back_from_its_event(line):
    """Reading a command's event gives the command that was parsed."""
    [event] = split(message(line), marks_pastes=True).events
    assert command_of(event) == parse_message(line).commands[0]


def test_command_without_argument_is_read_back():
    """An absent name is an empty one."""
    event = message("")._replace(kind=ev.USER_COMMAND, payload={"command": "stop", "options": [], "line": "::stop"})
    assert command_of(event) == Command("stop", line="::stop")


def test_attachments_stay_with_the_first_text():
    """Pictures sent with a message are shown once, with its first text."""
    parts = split(message("::start\nlook\n::stop\nagain", attachments=[IMAGE]), marks_pastes=True)
    assert [part.payload.get("attachments") for part in parts.events] == [None, [IMAGE], None, None]


def test_attachments_beside_commands_alone_are_kept():
    """Pictures sent with nothing but a command are an event of their own after it."""
    parts = split(message("::start", attachments=[IMAGE]), marks_pastes=True)
    assert kinds(parts) == [ev.USER_COMMAND, ev.USER_MESSAGE]
    assert parts.events[1].payload == {"text": "", "attachments": [IMAGE]}
    assert parts.events[1].id == "claude:s:u1:0.1"
    assert parts.events[0].blobs == ()
    assert parts.events[1].blobs == (("ab", "image/png", "AAAA"),)


def test_near_misses_are_counted_beside_commands_and_alone():
    """What looked like a command is counted, whether or not the message has commands."""
    assert [miss.word for miss in split(message("::start\n::strat\n::stop now"), marks_pastes=True).near_misses] == [
        "start",
        "stop",
    ]
    assert [miss.word for miss in split(message("::strat"), marks_pastes=True).near_misses] == ["start"]


def test_pasted_spans_follow_their_text():
    """After a split at a command, each part names the pasted spans of its own text."""
    event = message("::start\nlook: pasted")
    parts = split(event._replace(payload=event.payload | {"pasted": [[14, 20]]}), marks_pastes=True)
    assert parts.events[1].payload == {"text": "look: pasted", "pasted": [[6, 12]]}


def test_message_of_an_agent_that_marks_no_pastes_stays_whole_around_its_middle():
    """A command between the ends of a long message is a part of its text."""
    text = "\n".join(["::start", *["log"] * 5, "::stop", *["log"] * 5, "::export"])
    parts = split(message(text), marks_pastes=False)
    assert kinds(parts) == [ev.USER_COMMAND, ev.USER_MESSAGE, ev.USER_COMMAND]
    assert parts.words == "\n".join(text.split("\n")[1:-1])
    assert [str(miss) for miss in parts.near_misses] == ["::stop inside a long message"]


PARTS = st.sampled_from(["::start a", "::stop", "text", "", "```", "::strat", " x"])


@given(st.lists(PARTS, max_size=10).map("\n".join))
def test_parts_have_their_own_ids_and_together_say_the_same(text):
    """No two parts share an id, and together their texts are the message."""
    parts = split(message(text), marks_pastes=True)
    ids = [part.id for part in parts.events]
    assert len(set(ids)) == len(ids)
    said = [part.payload["text"] for part in parts.events if part.kind == ev.USER_MESSAGE]
    assert "\n".join(said) == parts.words
