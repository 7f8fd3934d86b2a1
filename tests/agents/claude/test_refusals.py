"""Claude Code: which calls the person declined, and which only failed or were left; the title between plan and answer."""

from typing import Any

from katod import events as ev
from katod.events import Event
from tests.looping import each
from tests.support.records import Claude
from tests.support.rendering import rendered
from tests.support.translated import Row, payloads, translated

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
LEFT = (
    "The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how"
    " to proceed."
)
SHUT = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown."


def asks(make: Claude, name: str, given: Row) -> Row:
    """Return the call of a tool."""
    block = {"type": "tool_use", "id": "c1", "name": name, "input": given}
    return make.record("assistant", message={"id": "m", "role": "assistant", "content": [block]})


def ended(make: Claude, text: str, **fields: Any) -> Row:
    """Return the result of a call that did not run to its end."""
    block = {"type": "tool_result", "tool_use_id": "c1", "content": text, "is_error": True}
    return make.record("user", message={"role": "user", "content": [block]}, **fields)


def read(name: str, given: Row, text: str, **fields: Any) -> list[Event]:
    """Return the events of a call and its result."""
    make = Claude()
    return translated("claude", make.user("go"), asks(make, name, given), ended(make, text, **fields))


@each(
    ("text", "fields", "shown"),
    [
        (REJECTED, {"toolUseResult": "User rejected tool use"}, "declined"),
        (REJECTED, {"toolUseResult": f"Error: {REJECTED}"}, "declined"),
        (REJECTED, {"toolDenialKind": "user-rejected"}, "declined"),
        ("No.", {"toolDenialKind": "user-rejected"}, "declined"),
        ("Permission to use Bash has been denied.", {"toolDenialKind": "permission-rule"}, "failed"),
        ("Blocked by the classifier.", {"toolDenialKind": "automode-blocked"}, "failed"),
        (REJECTED, {"toolDenialKind": "permission-rule"}, "failed"),
        (REJECTED, {"toolDenialKind": "user-rejected", "toolDenialFromHost": True}, "failed"),
        (LEFT, {"toolUseResult": LEFT}, "interrupted"),
        (SHUT, {"toolDenialKind": "interrupted"}, "interrupted"),
    ],
)
def test_only_what_the_person_declined_is_declined(text: str, fields: Row, shown: str) -> None:
    """A rule is no person; a call beside a refused one, or one that the client left, was interrupted."""
    events = read("Bash", {"command": "make"}, text, **fields)
    [result] = payloads(events, ev.TOOL_RESULT)
    assert result.get("denied", False) == (shown == "declined")
    assert result.get("isError", False) == (shown != "interrupted")
    assert f"\n  - {shown}" in rendered("markdown", events)


@each(("text", "answers"), [(REJECTED, [["rejected"]]), (LEFT, []), ("You are not in plan mode.", [])])
def test_a_plan_is_rejected_only_by_the_person(text: str, answers: list[list[str]]) -> None:
    """A plan whose call failed, or that they left, has no answer."""
    events = read("ExitPlanMode", {"plan": "# The plan"}, text)
    assert [row["selections"] for row in payloads(events, ev.DECISION_RESPONSE)] == answers


TITLE = {"type": "ai-title", "sessionId": "s", "aiTitle": "A better title"}


def test_a_title_never_stands_between_a_plan_and_its_answer() -> None:
    """The client names the session while the person reads the plan: the mark follows the answer."""
    make = Claude()
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": "User has approved your plan."}
    approved = make.record("user", message={"role": "user", "content": [answer]})
    records = [make.user("go"), asks(make, "ExitPlanMode", {"plan": "Do it."}), TITLE, approved, make.says("done")]
    shown = rendered("markdown", translated("claude", *records))
    assert "**Do it.**\n\n**You:** approved\n\n*Title: A better title*\n\ndone" in shown
    unanswered = rendered("markdown", translated("claude", *records[:3], make.user("no")))
    assert unanswered.index("Do it.") < unanswered.index("*Title: A better title*") < unanswered.index(" · no\n")
    assert rendered("markdown", translated("claude", *records[:3])).endswith("*Title: A better title*\n")
