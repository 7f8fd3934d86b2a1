"""What an agent is doing, by what its events say."""

import json

import pytest

from katod import events as ev
from katod.formats.stream.messages import Messages
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from tests.formats.records.test_agentrecord import call, event, says, user
from tests.formats.stream.bridging import said, states
from tests.looping import each


def named(number, name="t2"):
    payload = {"toolCallId": name, "name": "Read", "family": "read", "input": {}}
    return event(number, ev.TOOL_CALL, payload)


def result(number, name="t1", **more):
    return event(number, ev.TOOL_RESULT, {"toolCallId": name, "text": "", **more})


def ends(number, reason="done"):
    return event(number, ev.TURN_END, {"reason": reason})


def asks(number, decision="t1:0"):
    return event(number, ev.DECISION_PROMPT, {"decisionId": decision, "decisionKey": "k", "prompt": "?", "options": []})


def answers(number, decision="t1:0"):
    return event(number, ev.DECISION_RESPONSE, {"decisionId": decision, "selections": ["a"]})


def permission(number, what, request="r1", name="t1"):
    payload = {"text": what, "subtype": f"permission-{what}", "data": {"requestId": request, "toolCallId": name}}
    return event(number, ev.PROVIDER_INFO, payload)


def test_an_agent_thinks_executes_and_is_idle():
    """Each state is said once, and with the name of the tool that runs."""
    turn = (user(1), call(2), result(3), says(4), ends(5))
    assert states(*turn) == ["thinking", "executing Bash", "thinking", "idle"]
    assert states(*turn, ends(6)) == states(*turn)


def test_calls_run_until_all_have_results():
    """The last one that is open is the tool."""
    assert states(user(1), call(2), named(3), result(4, "t2"), result(5)) == [
        "thinking", "executing Bash", "executing Read", "executing Bash", "thinking",
    ]  # fmt: skip
    assert states(call(1), named(2), result(3)) == ["executing Bash", "executing Read"]


@each("reason", ["end_turn", "stop"])
def test_an_answer_that_ends_the_turn_makes_idle(reason):
    """As the model says; not while a call is open, nor if it stops for a call."""
    ended = event(2, ev.ASSISTANT_MESSAGE, {"text": "Done.", "stopReason": reason})
    assert states(user(1), ended) == ["thinking", "idle"]
    assert states(user(1), call(3), ended) == ["thinking", "executing Bash"]
    assert states(user(1), event(2, ev.ASSISTANT_MESSAGE, {"text": "Wait.", "stopReason": "tool_use"})) == ["thinking"]


def test_a_round_of_calls_does_not_end_the_turn():
    """Some agents end a step with each round; an interrupted one has ended."""
    begun = event(2, ev.TURN_START, {"number": 0})
    ended = (user(1), begun, call(3), result(4), ends(5))
    again = (event(6, ev.TURN_START, {"number": 1}), says(7), ends(8))
    assert states(*ended, *again) == ["thinking", "executing Bash", "thinking", "idle"]
    assert states(user(1), begun, call(3), result(4), ends(5, "aborted"))[-1] == "idle"


def test_an_open_question_waits_for_the_person():
    """Until it is answered, or its call has a result; an unknown answer says nothing."""
    asked = (user(1), call(2), asks(3))
    assert states(*asked) == ["thinking", "executing Bash", "waiting_input"]
    assert states(*asked, answers(4))[3:] == ["executing Bash"]
    assert states(*asked, result(4))[3:] == ["thinking"]
    assert states(*asked, user(4, "never mind"))[3:] == ["executing Bash"]
    assert states(*asked, answers(4, "t9:0"))[3:] == []


def test_a_permission_is_waited_for_if_the_agent_notes_it():
    """Never because a call has no result."""
    open_call = (user(1), call(2))
    assert states(*open_call) == ["thinking", "executing Bash"]
    asked = (*open_call, permission(3, "requested"))
    assert states(*asked)[2:] == ["waiting_permission"]
    assert states(*asked, permission(4, "completed"))[3:] == ["executing Bash"]
    assert states(*asked, result(4, denied=True))[3:] == ["thinking"]
    assert [row["content"] for row in said(*asked) if row["type"] == "system"] == ["requested"]


def test_a_result_that_comes_late_wakes_nobody():
    """The turn has ended; what belongs to a call of this turn does."""
    assert states(user(1), call(2), ends(3, "aborted"), result(4)) == ["thinking", "executing Bash", "idle"]


@each("subtype", ["shell", "slash-command", "context"])
def test_what_the_model_may_not_answer_is_no_turn(subtype):
    """Until the agent does something."""
    local = event(1, ev.USER_MESSAGE, {"text": "/clear", "subtype": subtype})
    assert states(local) == []
    assert states(local, event(2, ev.ASSISTANT_THINKING, {"text": "hm"})) == ["thinking"]


def test_nothing_is_said_before_anything_is_known():
    """A title or a file's beginning says nothing of what the agent is doing."""
    assert states(event(1, ev.CONFIG_CHANGE, {"what": "title", "after": "x"})) == []


def test_a_permission_that_a_sub_agent_asks_for_is_waited_for():
    """Though nothing that it says is a part of the session."""
    asked = permission(3, "requested", name="of-the-sub-agent")
    asked = asked._replace(session=asked.session._replace(subagent="a"))
    assert states(user(1), call(2), asked)[2:] == ["waiting_permission"]


def test_an_agent_that_records_no_ends_is_done_with_its_answer():
    """Pi, by what the answer used; nothing else says that the turn is over."""
    used = event(3, ev.USAGE, {"scope": "message", "output": 1, "input": 1})
    turn = [one._replace(session=one.session._replace(agent="pi")) for one in (user(1), says(2), used)]
    assert states(*turn) == ["thinking", "idle"]


@pytest.mark.slow
def test_what_is_remembered_is_small():
    """Of calls, questions and requests that nobody answers, only some are kept."""
    messages, metadata = Messages(redact=False), SessionMetadata(SessionKey("claude", "s"))
    for n in range(2000):
        called = event(n, ev.TOOL_CALL, {"toolCallId": f"t{n}", "name": "x" * 9999, "family": "other"})
        for one in (called, asks(n, f"t{n}:0"), permission(n, "requested", f"r{n}", f"t{n}")):
            messages.take(one, metadata)
    assert len(json.dumps(messages.state())) < 600_000
