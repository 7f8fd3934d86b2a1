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
