"""From lines to messages: what became of each record is counted with its events."""

from pathlib import Path

from katod.agents.base import Origin
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, Line, SessionKey
from katod.record.stream import NoDedup, SessionStream
from katod.record.translation import Translation
from tests.support.parts import lines
from tests.support.records import Claude, line
from tests.support.tallies import read_in_all

CLAUDE = Origin(Identity(SessionKey("claude", "s")), Path("/nowhere/s.jsonl"))


class Place:
    """A source that is nowhere on the disk."""

    path = "/nowhere/s.jsonl"

    def __init__(self, agent):
        self.identity = Identity(SessionKey(agent, "s"))


def received(agent, rows):
    """Return the receipt over the records of one source."""
    source, log = Place(agent), EventLog()
    stream = SessionStream(source.identity.key, NoDedup(), log)
    list(stream.events(source, rows))
    return read_in_all(stream.metadata.tally)


def progress(kind):
    return line({"type": "progress", "data": {"type": kind}, "timestamp": "2026-02-10T22:36:18.000Z"})


def test_what_is_left_out_is_named_as_precisely_as_the_agent_does():
    """The kind of what is in a record is a part of its name."""
    make = Claude()
    found = received(
        "claude", lines(make.user("one"), progress("bash_progress"), progress("hook_progress"), make.says("two"))
    )
    assert (found["told"], found["leftOut"]) == (2, {"progress/bash_progress": 1, "progress/hook_progress": 1})


def test_usage_that_waits_for_the_next_record_is_not_of_that():
    """The next record is left out, although its step has an event."""
    make = Claude()
    found = received("claude", lines(make.says("one"), progress("bash_progress"), make.user("two")))
    assert (found["told"], found["leftOut"]) == (2, {"progress/bash_progress": 1})


def test_a_text_that_waits_is_not_left_out():
    """A later record decides whether it is told here or there."""
    queued = line(
        {"type": "queue-operation", "operation": "enqueue", "content": "wait", "timestamp": "2026-02-10T22:36:18Z"}
    )
    assert received("claude", lines(queued, Claude().says("one")))["leftOut"] == {}


def test_a_damaged_line_is_not_understood():
    """It is named by what is wrong with it."""
    assert received("claude", [Line(0, 4, b"{bad"), *lines(Claude().user("one"))])["notUnderstood"] == {
        "not valid JSON": 1
    }


def test_of_a_document_the_messages_count():
    """Not the document, which is one line however much is in it."""
    messages = [
        {"role": "user", "id": "1", "content": [{"type": "text", "text": '<user_input mode="act">one</user_input>'}]},
        {"role": "assistant", "id": "2", "content": [{"type": "text", "text": ""}]},
        {"role": "assistant", "id": "3", "content": [{"type": "text", "text": "two"}]},
    ]
    document = line({"agent": "lead", "sessionId": "s", "version": 1, "messages": messages})
    found = received("cline", [Line(0, len(document), document)])
    assert (found["records"], found["told"], found["leftOut"]) == (3, 2, {"assistant": 1})


def test_a_session_that_goes_on_from_elsewhere_lacks_a_parent():
    """Its first record names one that is not before it."""
    cut = {"parentUuid": "gone", "uuid": "1", "type": "user", "cwd": "/a", "message": {"content": "one"}}
    skipped = {"type": "progress", "uuid": "0", "parentUuid": None, "data": {"type": "hook_progress"}}
    assert received("claude", lines(line(cut)))["gaps"] == {"missingParent": 1}
    assert received("claude", lines(line(skipped), line(cut | {"parentUuid": "0"})))["gaps"] == {}


def test_without_a_tally_nothing_is_counted():
    """As where lines are read that are not all of a session."""
    translation = Translation(CLAUDE, SessionMetadata(CLAUDE.identity.key), EventLog())
    assert len(list(translation.feed(lines(Claude().user("one"), progress("x"))))) > 0
