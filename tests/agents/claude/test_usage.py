"""Claude Code: the usage of a message."""

from typing import Any

from katod import events as ev
from tests.looping import each
from tests.support.records import Claude
from tests.support.translated import payloads, translated


def of_message(**usage: Any) -> dict[str, Any]:
    """Return the usage of a message that is written in two records, the first one with a restart after it."""
    make = Claude()
    message = {"id": "msg_1", "usage": {"input_tokens": 10, "output_tokens": 5} | usage}
    first = make.says("one", message=message | {"stop_reason": None})
    [found] = payloads(translated("claude", first, make.says("two", message=message)), ev.USAGE)
    return found


def test_thinking_is_a_part_of_the_output() -> None:
    """The tokens of the thinking are those that the client notes beside the output, which contains them."""
    found = of_message(output_tokens_details={"thinking_tokens": 3})
    assert found == {"scope": "message", "input": 10, "output": 5, "reasoning": 3}


@each("details", [None, [], {"thinking_tokens": [3]}, {"thinking_tokens": None}, {}])
def test_details_of_another_shape_are_left_out(details: Any) -> None:
    """Values of other types read as absent."""
    assert "reasoning" not in of_message(output_tokens_details=details)


def test_pending_usage_keeps_its_thinking_across_restarts() -> None:
    """Usage that waits for the end of its message is stored with all of its counts."""
    make = Claude()
    usage = {"output_tokens": 5, "output_tokens_details": {"thinking_tokens": 3}}
    waiting = make.says("one", message={"id": "msg_1", "stop_reason": None, "usage": usage})
    assert payloads(translated("claude", waiting, make.user("go on")), ev.USAGE) == [
        {"scope": "message", "output": 5, "reasoning": 3}
    ]


BETWEEN = {
    "progress": {"type": "progress", "data": {"type": "hook_progress"}, "uuid": "p-1"},
    "snapshot": {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    "attachment": {"type": "attachment", "attachment": {"type": "task_reminder"}, "uuid": "a-1"},
    "queue": {"type": "queue-operation", "operation": "enqueue", "content": ""},
    "unknown": {"type": "of a kind that nobody has seen"},
}


@each("between", BETWEEN.values(), ids=BETWEEN)
def test_only_messages_end_the_wait_for_the_last_usage(between: dict[str, Any]) -> None:
    """Up to 2.1.81 the client wrote progress between the records of one message, of which the last one counts."""
    make = Claude()
    first, last = ({"id": "msg_1", "stop_reason": None, "usage": {"output_tokens": count}} for count in (1, 58))
    records = (make.says("one", message=first), between, make.says("two", message=last), make.user("go on"))
    assert payloads(translated("claude", *records), ev.USAGE) == [{"scope": "message", "output": 58}]


def test_a_result_before_its_call_does_not_end_the_wait() -> None:
    """The call that the result belongs to is a part of the message, and is yet to come."""
    make = Claude()
    first, last = ({"id": "msg_1", "stop_reason": None, "usage": {"output_tokens": count}} for count in (1, 58))
    records = (make.says("one", message=first), make.result("c1", "done"), make.calls("c1", "Bash", command="ls"))
    records[2]["message"] |= last
    assert payloads(translated("claude", *records, make.user("go on")), ev.USAGE) == [
        {"scope": "message", "output": 58}
    ]


@each(("agent", "subagent"), [({}, "sidechain"), ({"agentId": "a1"}, "a1")])
def test_what_a_sub_agent_used_in_the_sessions_file_is_its_own(agent: dict[str, str], subagent: str) -> None:
    """Also if its records, which are beside those of the session, do not name it."""
    said = [Claude().says("Hi.", isSidechain=True, **agent), Claude().says("Hi.")]
    used = [event for event in translated("claude", *said) if event.kind == ev.USAGE]
    assert [event.session.subagent for event in used] == [subagent, ""]
