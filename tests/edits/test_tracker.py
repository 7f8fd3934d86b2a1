"""What leads to an edit."""

from katod import events as ev
from katod.edits.tracker import EditTracker, EndedCall
from katod.events import Event, SessionRef
from tests.looping import each


def event(kind, number=0, **payload):
    return Event(f"{kind}-{number}", kind, SessionRef("claude", "s"), payload, {})


def call(number=1, name="c"):
    return event(ev.TOOL_CALL, number, toolCallId=name, name="Edit", family="edit")


def test_an_edit_is_made_for_the_last_prompt():
    """And for what the agent said since; a new prompt has no words of the agent yet."""
    tracker = EditTracker()
    for one in (event(ev.USER_MESSAGE, 1, text="do"), event(ev.ASSISTANT_MESSAGE, 1, text="I do")):
        assert tracker.take(one, "") is None
    made = tracker.take(call(), "/app")
    assert (made.prompt, made.answer, made.cwd) == ("user.message-1", "assistant.message-1", "/app")
    tracker.take(event(ev.USER_MESSAGE, 2, text="more"), "")
    made = tracker.take(call(2, "d"), "/app")
    assert (made.prompt, made.answer) == ("user.message-2", "")


@each(
    "payload", [{"text": " "}, {"text": "so far", "subtype": "compact-summary"}, {"text": "! ls", "subtype": "shell"}]
)
def test_what_asks_for_nothing_is_no_prompt(payload):
    """Nor is what a client or a summary says."""
    tracker = EditTracker()
    tracker.take(event(ev.USER_MESSAGE, 1, **payload), "")
    assert tracker.take(call(), "").prompt == ""


def test_an_accepted_plan_is_a_prompt():
    """It is what the agent works by from then on."""
    tracker = EditTracker()
    tracker.take(event(ev.ASSISTANT_MESSAGE, 1, text="# Plan", phase="plan"), "")
    assert tracker.take(call(), "").prompt == "assistant.message-1"


def test_a_result_ends_the_edit_of_its_call_once():
    """Across a restart, too; results of other calls say nothing."""
    tracker = EditTracker()
    tracker.take(call(), "")
    tracker = EditTracker(tracker.state())
    assert tracker.take(event(ev.TOOL_RESULT, toolCallId="other", text=""), "") is None
    ended = event(ev.TOOL_RESULT, toolCallId="c", text="", isError=True)
    assert tracker.take(ended, "") == EndedCall("assistant.tool.call-1", went_well=False)
    assert tracker.take(ended, "") is None


def test_calls_without_results_are_forgotten_one_day():
    """The state of a session stays small, and so do the ids in it."""
    tracker = EditTracker()
    for number in range(1000):
        tracker.take(call(number, f"c{number}"), "")
    assert len(tracker.state()["open"]) == 256
    assert tracker.take(call(1, "x" * 10_000), "") is None
