"""Agent Trace records."""

import json
from hashlib import sha256

from hypothesis import given

from katod import events as ev
from tests.examples import examples
from tests.formats.records.test_agentrecord import event, user
from tests.formats.schemas import schema
from tests.support.anyevents import conversations
from tests.support.rendering import rendered


def trace(*events):
    return json.loads(rendered("agent-trace", events))


@examples(3, 300)
@given(conversations())
def test_any_conversation_gives_a_valid_record(events):
    """Valid by the schema."""
    assert [error.message for error in schema("agent-trace").iter_errors(trace(*events))] == []


def test_the_lines_of_the_last_change_of_a_file_are_an_agents():
    """Below the session's directory, with the model as its provider names it, and the hash of what was written."""
    start = event(1, ev.SESSION_START, {"cwd": "/home/me/app", "cliVersion": "2.1.0", "commit": "0123abc"})
    given = {"file_path": "/home/me/app/a.py", "content": "one\ntwo\n"}
    written = {"toolCallId": "c", "name": "Write", "family": "edit", "input": given}
    call = event(3, ev.TOOL_CALL, written, model="claude-opus-4-6")
    files = [{"path": "/home/me/app/a.py", "change": "add", "ranges": [[1, 2]]}]
    result = event(4, ev.TOOL_RESULT, {"toolCallId": "c", "text": "ok", "structured": {"files": files}})
    made = trace(start, user(2, "write it"), call, result)
    assert made["vcs"] == {"type": "git", "revision": "0123abc"}
    assert made["tool"] == {"name": "Claude Code", "version": "2.1.0"}
    [file] = made["files"]
    assert file == {"path": "a.py", "conversations": [{
        "contributor": {"type": "ai", "model_id": "anthropic/claude-opus-4-6"},
        "ranges": [{"start_line": 1, "end_line": 2, "content_hash": f"sha256:{sha256(b'one' + bytes([10]) + b'two').hexdigest()}"}],
    }]}  # fmt: skip


def test_a_record_is_the_same_whenever_it_is_made_and_another_after_more_was_said():
    """Its id follows from the last event."""
    assert trace(user(1, "a")) == trace(user(1, "a"))
    assert trace(user(1, "a"))["id"] != trace(user(1, "a"), user(2, "b"))["id"]
