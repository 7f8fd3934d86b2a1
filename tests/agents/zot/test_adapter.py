"""zot: the provider of the model, and encrypted thinking."""

from typing import Any

from katod import events as ev
from tests.support.translated import Row, payloads, translated


def meta(**fields: Any) -> Row:
    return {"type": "meta", "meta": {"id": "s", "cwd": "/p", "model": "glm-5", "version": "0.2"} | fields}


def said(**block: Any) -> Row:
    return {"type": "message", "message": {"role": "assistant", "content": [block]}}


def test_a_session_begins_with_its_provider_and_may_change_it() -> None:
    """The row of a session is written again when its model is changed; values of other types read as absent."""
    rows = meta(provider="a"), meta(provider="a"), meta(provider="b"), meta(provider=["x"])
    events = translated("zot", *rows)
    assert payloads(events, ev.SESSION_START) == [{"cwd": "/p", "cliVersion": "0.2", "modelProvider": "a"}]
    assert payloads(events, ev.CONFIG_CHANGE) == [{"what": "modelProvider", "before": "a", "after": "b"}]
    [start] = payloads(translated("zot", meta(provider=["x"])), ev.SESSION_START)
    assert "modelProvider" not in start


def test_encrypted_thinking_is_noted() -> None:
    """The summary is shown, and that there is more than it."""
    thoughts = [said(summary="Hm.", encrypted_content="gAAAA"), said(summary="Hm."), said(encrypted_content="gAAAA")]
    assert payloads(translated("zot", meta(), *thoughts), ev.ASSISTANT_THINKING) == [
        {"text": "Hm.", "encrypted": "gAAAA"},
        {"text": "Hm."},
        {"text": "", "encrypted": "gAAAA"},
    ]


def test_a_message_with_another_sender_is_not_the_persons() -> None:
    """A mark names the sender; a mark without a name is of another agent all the same."""
    rows = []
    for mark in ({"source": "swarm"}, {"x": 1}):
        message = {"role": "user", "content": [{"text": "Look."}], "meta": mark}
        rows.append({"type": "message", "message": message})
    said = payloads(translated("zot", meta(), *rows), ev.USER_MESSAGE)
    shared = {"text": "Look.", "subtype": "agent-message"}
    assert said == [shared | {"speaker": "swarm"}, shared]
