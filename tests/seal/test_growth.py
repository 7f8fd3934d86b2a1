"""Whether a session still grows: its last event, what is open in it, and how long it has been quiet."""

import pytest

from katod import events as ev
from katod.events import Event, SessionRef
from katod.seal.growth import Ending, ending, growth

MINUTE, HOUR, DAY = 60, 3600, 86400
CALL = "a tool call in it has no result yet"
TURN = "its last turn is open"
ASKED = "its last message has no answer"


def event(number, kind, call):
    """Return an event."""
    return Event(f"e{number}", kind, SessionRef("claude", "s"), {"toolCallId": call} if call else {}, {})


@pytest.mark.parametrize(
    ("kinds", "open_"),
    [
        ([], ""),
        ([ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE], ""),
        ([ev.TURN_START, ev.ASSISTANT_MESSAGE], TURN),
        ([ev.TURN_START, ev.ASSISTANT_MESSAGE, ev.TURN_END], ""),
        ([ev.TURN_START, ev.TURN_END, ev.TURN_START], TURN),
        ([ev.TURN_START, ev.SESSION_END], ""),
        ([(ev.TOOL_CALL, "a")], CALL),
        ([(ev.TOOL_CALL, "a"), (ev.TOOL_RESULT, "a")], ASKED),
        ([(ev.TOOL_CALL, "a"), (ev.TOOL_RESULT, "a"), ev.ASSISTANT_MESSAGE], ""),
        ([ev.ASSISTANT_MESSAGE, ev.USER_MESSAGE, ev.USAGE], ASKED),
        ([ev.USER_MESSAGE, ev.TURN_END], ""),
        ([ev.USER_MESSAGE, ev.ERROR], ""),
        ([(ev.TOOL_CALL, "a"), (ev.TOOL_CALL, "b"), (ev.TOOL_RESULT, "a")], CALL),
        ([(ev.TOOL_RESULT, "of another file"), ev.ASSISTANT_MESSAGE], ""),
        ([ev.TURN_START, (ev.TOOL_CALL, "a")], CALL),
        ([ev.TURN_START, (ev.TOOL_CALL, "a"), ev.TURN_END], ""),
        ([(ev.TOOL_CALL, "a"), ev.TURN_START, ev.TURN_END], ""),
    ],
)
def test_what_is_open_at_the_end_of_a_session(kinds, open_):
    """A turn without its end, a call without its result, what nobody answered; what an earlier turn left open does not count."""
    pairs = [(kind, "") if isinstance(kind, str) else kind for kind in kinds]
    found = ending(event(number, *pair) for number, pair in enumerate(pairs, 1))
    assert found == Ending("s" if kinds else "", f"e{len(kinds)}" if kinds else "", open_)


@pytest.mark.parametrize(
    ("now", "age", "why"),
    [
        (Ending("s", "last", ""), 15 * MINUTE, ""),
        (Ending("s", "last", ""), 14 * MINUTE, "within the last 15 minutes"),
        (Ending("s", "last", ""), -HOUR, "within the last 15 minutes"),  # the file's time is in the future
        (
            Ending("s", "last", CALL),
            HOUR,
            "a tool call in it has no result yet, and its files changed within the last day",
        ),
        (Ending("s", "last", TURN), 23 * HOUR, "its last turn is open, and its files changed within the last day"),
        (Ending("s", "last", CALL), DAY, ""),
        (Ending("s", "later", ""), 9 * DAY, "has gone on since this was exported"),
        (Ending("s", "", ""), 9 * DAY, "has gone on since this was exported"),
    ],
)
def test_a_session_grows_until_it_was_quiet(now, age, why):
    """It is said why, and what to do; without any sign, it has ended."""
    found = growth(now, "last", age)
    assert bool(found) == bool(why)
    if found:
        assert why in found.why
        assert "--checkpoint" in found.hint
