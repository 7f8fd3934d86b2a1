"""What the person of a recorded session hears of."""

from datetime import UTC, datetime

from katod import events as ev
from katod.events import Event, SessionRef
from katod.lifecycle import Report, State
from katod.record.attention import Attention

NOW = 1_770_763_000.0


def said(kind, at, **payload):
    """Return an event, some seconds from now."""
    time = datetime.fromtimestamp(NOW + at, UTC).isoformat().replace("+00:00", "Z")
    return Event("e", kind, SessionRef("codex", "s", payload.pop("subagent", "")), payload, {}, time)


def turn(seconds, ended=0.0, reason="done"):
    """Return a turn that took so long."""
    return [
        said(ev.USER_MESSAGE, ended - seconds, text="go"),
        said(ev.TOOL_CALL, ended - seconds, toolCallId="c", name="Bash"),
        said(ev.TOOL_RESULT, ended, toolCallId="c", text=""),
        said(ev.TURN_END, ended, reason=reason),
    ]


def news(*events, attention=None, report=None, now=NOW):
    """Return what is news after these events."""
    attention = attention or Attention()
    for event in events:
        attention.take(event)
    if report is not None:
        attention.hear(report)
    return attention.news(now)


QUESTION = said(ev.DECISION_PROMPT, 0, decisionId="c:0", decisionKey="k", prompt="Which?")


def test_a_turn_that_took_long_is_news_once():
    """Not a short one: who waits for less looks on. Not one that the person interrupted, or a sub-agent's."""
    attention = Attention()
    assert news(*turn(31), attention=attention) == "done"
    assert attention.news(NOW) == ""
    assert news(*turn(29)) == ""
    assert news(*turn(300, reason="aborted")) == ""
    assert news(*(event._replace(session=event.session._replace(subagent="a")) for event in turn(300))) == ""


def test_a_turn_that_goes_on_is_not_done():
    """Until it has ended, whatever was read meanwhile."""
    attention = Attention()
    assert news(*turn(40)[:-1], attention=attention) == ""
    assert news(turn(40)[-1], attention=attention) == "done"


def test_a_question_is_news_at_once_and_once():
    """However short the turn was; the next one is news again."""
    attention = Attention()
    assert news(*turn(1)[:2], QUESTION, attention=attention) == "blocked"
    assert attention.news(NOW) == ""
    assert news(said(ev.DECISION_RESPONSE, 1, decisionId="c:0"), attention=attention) == ""
    assert news(QUESTION, attention=attention) == "blocked"


def test_what_was_read_late_is_no_news():
    """After a start of katod, for example; nor is what has no time."""
    assert news(*turn(60, ended=-300)) == ""
    assert news(*turn(1)[:2], QUESTION, now=NOW + 300) == ""
    assert news(*(event._replace(time="") for event in turn(60))) == ""


def test_what_the_agent_says_itself_is_news_too():
    """A permission; and a question that its file has as well is said once, whichever comes first."""
    attention, waits = Attention(), Report(State.BLOCKED, NOW)
    assert news(*turn(1)[:2], report=waits, attention=attention) == "blocked"
    assert news(QUESTION, attention=attention) == ""
    assert news(report=Report(State.WORKING, NOW), attention=attention) == ""
    assert news(said(ev.TOOL_RESULT, 2, toolCallId="c", text=""), attention=attention) == ""
    assert news(report=waits, attention=attention) == "blocked"
