"""The entries of a verifiable agent record."""

import pytest

from katod import events as ev
from katod.formats.records.recordentries import entry_of, token_usage
from katod.formats.rows import timestamp


def row(kind, payload, **more):
    return {
        "id": "claude:s:1", "kind": kind, "session": {"agent": "claude", "id": "s"}, "time": "2026-02-10T22:36:18Z",
        "timeSource": "recorded", "source": {"providerEventType": "x"}, "payload": payload, **more,
    }  # fmt: skip


def entry(kind, payload, **more):
    made = entry_of(row(kind, payload, **more))
    assert made.pop("timestamp") == "2026-02-10T22:36:18Z"
    assert made["x-katod"].pop("event") == "claude:s:1"
    assert made["x-katod"].pop("kind") == kind
    assert made["x-katod"].pop("source") == {"providerEventType": "x"}
    return made


def test_a_message_of_the_person_is_a_user_entry():
    """What the draft has no field for is kept beside it."""
    made = entry(ev.USER_MESSAGE, {"text": "hello", "pasted": [[0, 5]], "subtype": "shell"})
    assert made == {"type": "user", "content": "hello", "x-katod": {"pasted": [[0, 5]], "subtype": "shell"}}


def test_a_message_of_the_agent_is_an_assistant_entry():
    """With its turn."""
    made = entry(ev.ASSISTANT_MESSAGE, {"text": "hi", "stopReason": "end_turn"}, turn="t")
    assert made == {"type": "assistant", "content": "hi", "x-katod": {"stopReason": "end_turn", "turn": "t"}}


def test_thinking_is_reasoning():
    """Subject and encrypted text have fields of their own; without text, the content is empty."""
    made = entry(ev.ASSISTANT_THINKING, {"text": "", "subject": "s", "encrypted": "gAAA"})
    assert made == {"type": "reasoning", "content": "", "subject": "s", "encrypted": "gAAA", "x-katod": {}}


def test_a_call_and_its_result_share_an_id():
    """The arguments are what the agent wrote, of any type."""
    made = entry(ev.TOOL_CALL, {"toolCallId": "c", "name": "Bash", "family": "execute", "input": ["ls"]})
    assert made == {
        "type": "tool-call", "name": "Bash", "input": ["ls"], "call-id": "c", "x-katod": {"family": "execute"}
    }  # fmt: skip
    made = entry(ev.TOOL_RESULT, {"toolCallId": "c", "text": "a b", "exitCode": 0})
    assert made == {
        "type": "tool-result", "output": "a b", "call-id": "c", "status": "completed", "x-katod": {"exitCode": 0}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("payload", "status", "failed"),
    [({}, "completed", None), ({"isError": True}, "error", True), ({"status": "launched"}, "launched", None),
     ({"status": "declined", "isError": True}, "declined", True), ({"exitCode": 1}, None, None),
     ({"denied": True}, None, None), ({"status": ["x"]}, "completed", None)],
)  # fmt: skip
def test_the_status_of_a_result_is_the_agents_own_if_it_has_one(payload, status, failed):
    """Otherwise an error, or completed, as agents mark errors, not successes; absent where it did not go well."""
    made = entry(ev.TOOL_RESULT, {"toolCallId": "c", "text": ""} | payload)
    assert (made.get("status"), made.get("is-error")) == (status, failed)


@pytest.mark.parametrize("kind", sorted(set(ev.KINDS) - {
    ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE, ev.ASSISTANT_THINKING, ev.TOOL_CALL, ev.TOOL_RESULT,
}))  # fmt: skip
def test_every_other_kind_is_a_system_event(kind):
    """Its payload is the data; a field called like one of the draft's collides with nothing."""
    payload = {"status": 7, "id": 8, "children": 9, "timestamp": None}
    assert entry(kind, payload) == {"type": "system-event", "event-type": kind, "data": payload, "x-katod": {}}


def test_a_time_that_was_not_recorded_is_no_timestamp():
    """It is said as what it is."""
    made = entry_of(row(ev.USER_MESSAGE, {"text": ""}, timeSource="derived"))
    assert "timestamp" not in made
    assert (made["x-katod"]["time"], made["x-katod"]["timeSource"]) == ("2026-02-10T22:36:18Z", "derived")


@pytest.mark.parametrize(
    ("time", "is_valid"),
    [("2026-02-10T22:36:18Z", True), ("2026-02-10T22:36:60.123456+05:30", True), ("2026-02-10t22:36:18z", False),
     ("2026-02-10T22:36:18", False), ("2026-02-10 22:36:18Z", False), ("2026-13-10T22:36:18Z", False), ("", False),
     ("2026-02-10T22:36:18Z\n", False), ("\uff11026-02-10T22:36:18Z", False)],
)  # fmt: skip
def test_a_timestamp_is_one_of_rfc_3339(time, is_valid):
    """With a zone and capitals, as the draft's schema takes it."""
    assert timestamp(time) == (time if is_valid else "")


def test_usage_has_the_names_of_the_draft_as_far_as_it_has_any():
    """What was written to the cache, and the size of the context, are named in its manner."""
    counts = {"input": 3, "cacheRead": 20, "cacheWrite": 5, "contextLimit": 200_000, "scope": "message"}
    assert token_usage(counts) == {"input": 3, "cached": 20, "cache-write": 5, "context-limit": 200_000}


def test_counts_that_are_none_are_left_out():
    """The draft takes no negative numbers, floats or words."""
    assert token_usage({"input": -1, "output": 2.5, "cacheRead": True, "reasoning": "3", "costUsd": True}) == {}
