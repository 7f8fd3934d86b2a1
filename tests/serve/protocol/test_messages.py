"""What clients say, and the answers that need nothing but that."""

import json

from katod.serve.protocol.messages import answer, parse, project_of, session_of
from tests.formats.stream.bridging import wrong_in
from tests.looping import each


def answered(message):
    text = message if isinstance(message, str) else json.dumps(message)
    return answer(parse(text), 1770763000000)


@each(
    "message, code, is_recoverable",
    [
        ("{", "INVALID_MESSAGE", True),
        ("", "INVALID_MESSAGE", True),
        ("[]", "INVALID_MESSAGE", True),
        ({"kind": "start"}, "INVALID_MESSAGE", True),
        ({"type": 1}, "INVALID_MESSAGE", True),
        ({"type": "start"}, "INVALID_MESSAGE", True),
        ({"type": "start", "projectPath": 1}, "INVALID_MESSAGE", True),
        ({"type": "start", "projectPath": "/a", "sessionId": 1}, "INVALID_MESSAGE", True),
        ({"type": "reconnect"}, "INVALID_MESSAGE", True),
        ({"type": "launch"}, "UNKNOWN_MESSAGE_TYPE", True),
        ({"type": "input", "text": "hi"}, "READ_ONLY", True),
        ({"type": "interrupt"}, "READ_ONLY", True),
        ({"type": "stop"}, "READ_ONLY", True),
        ({"type": "set_model", "model": "m"}, "READ_ONLY", True),
        ({"type": "set_permission_mode", "mode": "default"}, "READ_ONLY", True),
        ({"type": "cancel_queued"}, "READ_ONLY", True),
        ({"type": "retry"}, "READ_ONLY", True),
        ({"type": "start", "projectPath": "/a", "helper": True}, "READ_ONLY", True),
        ({"type": "permission_response", "id": "1", "choice": "allow"}, "INVALID_PERMISSION_ID", True),
        ({"type": "question_response", "id": "1", "answers": {}}, "INVALID_QUESTION_ID", True),
    ],
)
def test_what_cannot_be_done_is_answered_with_an_error(message, code, is_recoverable):
    """A server that only reads says so, and goes on."""
    found = answered(message)
    assert wrong_in([found]) == []
    assert (found["code"], found["recoverable"]) == (code, is_recoverable)
    assert found.get("retryable") is (False if code == "READ_ONLY" else None)


def test_a_ping_is_answered_and_a_pong_is_not():
    """What needs the sessions is not answered here."""
    assert answered({"type": "ping"}) == {"type": "pong", "serverTime": 1770763000000}
    others = [
        {"type": "pong"}, {"type": "subscribe_sessions"}, {"type": "start", "projectPath": "/a", "model": "m"},
        {"type": "reconnect", "agentId": "katod-1"},
    ]  # fmt: skip
    assert [answered(one) for one in others] == [None] * 4


def test_an_agent_id_stands_for_a_session():
    """In any case of its letters."""
    name = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
    assert session_of(f"katod-{name.upper()}") == name
    assert session_of(name) == ""


@each("path, project", [("/a/b", "/a/b"), ("/a/b/", "/a/b"), ("/a//", "/a"), ("/", "/"), ("//", "/"), ("", "")])
def test_a_project_is_named_with_or_without_a_slash_at_its_end(path, project):
    """The root of all files keeps its own."""
    assert project_of({"projectPath": path}) == project


def test_a_message_may_name_no_project():
    """Then it is about all of them."""
    assert project_of({}) == ""
