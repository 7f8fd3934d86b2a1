"""Streams: the messages of a conversation, one per line, however it is printed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.formats.stream.printer import Stream
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from tests.examples import examples
from tests.formats.records.test_agentrecord import call, event, says, usage, user
from tests.formats.stream.bridging import lines, sent, wrong_in
from tests.support.anyevents import conversations
from tests.support.records import SESSION, Claude


def printed(events, restarts):
    """Return the stream of events; before each of `restarts`, what prints them is made again from its state."""
    stream, text, known = Stream(Options()), "", None
    for number, one in enumerate(events):
        if number in restarts:
            stream = Stream(Options(), json.loads(json.dumps(stream.state())))
        known = known or SessionMetadata(SessionKey(one.session.agent, one.session.id, one.session.subagent))
        [text_of_it] = [stream.event(observed, known) for observed in known.observed([one])]
        text += text_of_it
    return text


def thinks(number):
    return event(number, ev.ASSISTANT_THINKING, {"text": "hm"})


def result(number):
    return event(number, ev.TOOL_RESULT, {"toolCallId": "t1", "text": ""})


@examples(3, 1_000)
@given(conversations(), st.sets(st.integers(0, 11)))
def test_any_conversation_gives_valid_messages_whenever_katod_is_restarted(events, restarts):
    """Valid by the schema, without further keys; ids are unique; restarts change nothing."""
    text = printed(events, restarts)
    assert wrong_in(lines(text)) == []
    assert text == printed(events, ())


def test_all_that_later_messages_depend_on_is_in_the_state():
    """The last time, model and state, calls and questions that are open, the sum of usage, and that it has begun."""
    asked = {"decisionId": "t1:0", "decisionKey": "k", "prompt": "?", "options": []}
    requested = {"text": "", "subtype": "permission-requested", "data": {"requestId": "r1", "toolCallId": "t1"}}
    total = {"scope": "session", "input": 30, "output": 20}
    events = [
        user(1), says(2), usage(3, input=10), call(4, time=""), event(5, ev.PROVIDER_INFO, requested), thinks(6),
        event(7, ev.PROVIDER_INFO, requested | {"subtype": "permission-completed"}),
        event(8, ev.DECISION_PROMPT, asked), thinks(9), result(10), event(11, ev.TURN_END, {"reason": "done"}),
        says(12, model="claude-haiku-4-5"), event(13, ev.SESSION_START, {"cwd": "/home/me"}),
        event(14, ev.USAGE, total), event(15, ev.TURN_END, {"reason": "aborted"}), result(16),
    ]  # fmt: skip
    assert printed(events, range(len(events))) == printed(events, ())


def test_there_are_no_heads_and_no_marks():
    """Everything in a stream is a message."""
    stream, known = Stream(Options()), SessionMetadata(SessionKey("claude", "s"))
    assert stream.head(known, "") + stream.mark(Mark("started")) + stream.pause() + stream.end() == ""


def test_what_says_nothing_gives_no_line():
    """A record that katod does not understand, and what a sub-agent of the session says."""
    assert sent(event(1, ev.PROVIDER_RAW, {"rawType": "x", "raw": {}})) == []
    known = sent(user(1), says(2, subagent="a1"), call(3, subagent="a1"))
    assert known == sent(user(1))


@pytest.mark.slow
def test_a_live_stream_is_its_export(world):
    """With `output.format`, recordings are streams, in files of their own kind; restarts and commands change nothing."""
    world.configure(format="stream", auto=True)
    make, source = Claude(), world.claude()
    records = [
        make.user("hello"), make.calls("t1", "Bash", command="ls"), make.result("t1", "a"), make.user("::stop"),
        make.says("unheard"), make.user("::start\ngo on"), make.calls("t2", "Read", file_path="a"),
    ]  # fmt: skip
    for record in [*records, make.result("t2", "b"), make.says("done")]:
        source.append(record)
        world.once()
    names = [path.name for path in world.files()]
    assert [name for name in names if not name.endswith(".stream.jsonl")] == []
    assert world.assert_live_is_batch() == len(names) > 0
    assert wrong_in(lines("".join(path.read_text() for path in world.files()))) == []
    assert world.cli("export", SESSION, "-f", "stream").count('"type":"tool_use"') == 2
