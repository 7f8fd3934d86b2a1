"""What the person of a recorded session hears of."""

import json
from datetime import UTC, datetime

from katod import events as ev
from katod.events import Event, SessionRef
from katod.model import SessionKey
from katod.record.attention import Attention
from katod.states import QUIET_AFTER, Report, State

NOW = 1_770_763_000.0
KEY = SessionKey("codex", "s")


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
    attention = attention or Attention(KEY)
    for event in events:
        attention.take(event)
    if report is not None:
        attention.hear(report)
    return told(attention, now, report)


def told(attention, now=NOW, report=None):
    """Return the state that is news, empty for none."""
    found = attention.news(now, lambda _seen, _silent: report)
    return found.state.value if found else ""


QUESTION = said(ev.DECISION_PROMPT, 0, decisionId="c:0", decisionKey="k", prompt="Which?")


def test_a_turn_that_took_long_is_news_once():
    """Not a short one: who waits for less looks on. Not one that the person interrupted, or a sub-agent's."""
    attention = Attention(KEY)
    assert news(*turn(31), attention=attention) == "done"
    assert told(attention) == ""
    assert news(*turn(29)) == ""
    assert news(*turn(300, reason="aborted")) == ""
    assert news(*(event._replace(session=event.session._replace(subagent="a")) for event in turn(300))) == ""


def test_a_turn_that_goes_on_is_not_done():
    """Until it has ended, whatever was read meanwhile."""
    attention = Attention(KEY)
    assert news(*turn(40)[:-1], attention=attention) == ""
    assert news(turn(40)[-1], attention=attention) == "done"


def test_a_question_is_news_at_once_and_once():
    """However short the turn was; the next one is news again."""
    attention = Attention(KEY)
    assert news(*turn(1)[:2], QUESTION, attention=attention) == "blocked"
    assert told(attention) == ""
    assert news(said(ev.DECISION_RESPONSE, 1, decisionId="c:0"), attention=attention) == ""
    assert news(QUESTION, attention=attention) == "blocked"


def test_what_was_done_long_ago_is_no_news():
    """It was read late, after a start of katod for example; nor is what has no time. A day later nothing is."""
    assert news(*turn(60, ended=-300)) == ""
    assert news(*(event._replace(time="") for event in turn(60))) == ""
    assert news(*turn(1)[:2], QUESTION, now=NOW + 25 * 3600) == ""


def test_a_session_that_waits_is_news_whenever_that_is_seen():
    """As `katod status` shows it: since before a start of katod, or in a file of the agent with an old time."""
    assert news(*turn(1)[:2], QUESTION, now=NOW + 300) == "blocked"
    assert news(*turn(1)[:2], report=Report(State.BLOCKED, NOW - 9000)) == "blocked"
    assert news(*turn(1)[:2], report=Report(State.BLOCKED, NOW - 9000), now=NOW + 25 * 3600) == "blocked"


def test_what_the_agent_says_itself_is_news_too():
    """A permission; and a question that its file has as well is said once, whichever comes first."""
    attention, waits, works = Attention(KEY), Report(State.BLOCKED, NOW), Report(State.WORKING, NOW)
    assert news(*turn(1)[:2], report=waits, attention=attention) == "blocked"
    assert news(QUESTION, report=waits, attention=attention) == ""
    assert news(report=works, attention=attention) == ""
    assert news(said(ev.TOOL_RESULT, 2, toolCallId="c", text=""), report=works, attention=attention) == ""
    assert news(report=waits, attention=attention) == "blocked"


def test_a_turn_is_not_done_while_its_agent_works():
    """Whatever its file says; it is once the agent is idle, however late that is."""
    attention = Attention(KEY)
    works, rests = Report(State.WORKING, NOW), Report(State.IDLE, NOW + 300)
    assert news(*turn(40), report=works, attention=attention) == ""
    assert news(report=rests, attention=attention, now=NOW + 301) == "done"


def test_the_agent_is_asked_again_before_anything_is_said():
    """What it said last may be old: its process was killed, or a hint of a change was lost."""
    attention = Attention(KEY)
    for event in turn(40):
        attention.take(event)
    assert attention.news(NOW, lambda _seen, _silent: Report(State.WORKING, NOW)) is None
    attention.hear(Report(State.BLOCKED, NOW))
    assert attention.news(NOW, lambda _seen, _silent: Report(State.WORKING, NOW)) is None


def test_an_answer_without_an_end_is_news_when_it_is_quiet():
    """Once; and once more when it turns out to be done. A tool that was running was none of it."""
    attention, key = Attention(SessionKey("gemini", "s")), {"scope": "message", "output": 1}
    events = [
        said(ev.USER_MESSAGE, -40, text="go"), said(ev.ASSISTANT_MESSAGE, 0, text="I look."), said(ev.USAGE, 0, **key)
    ]  # fmt: skip
    assert news(*events, attention=attention) == ""
    quiet = NOW + QUIET_AFTER
    assert told(attention, quiet) == "done"
    assert told(attention, quiet + 5) == ""
    ran = [said(ev.TOOL_CALL, 70, toolCallId="c", name="Bash"), said(ev.TOOL_RESULT, 70, toolCallId="c", text="")]
    assert news(*ran, attention=attention, now=NOW + 70) == ""
    assert news(said(ev.TURN_END, 80, reason="done"), attention=attention, now=NOW + 80) == "done"


def test_a_compaction_is_no_turn():
    """It begins when it begins, not with the prompt before it."""
    attention = Attention(SessionKey("copilot", "s"))
    assert news(*turn(1, ended=-600), attention=attention) == ""
    began = said(ev.PROVIDER_INFO, -5, text="", subtype="compaction-started", data={})
    assert news(began, said(ev.COMPACTION, 0), attention=attention) == ""


def test_a_restart_repeats_and_loses_nothing():
    """What was said is not said again, and a turn that goes on is done after all."""
    attention = Attention(KEY)
    assert news(*turn(40)[:2], QUESTION, attention=attention) == "blocked"
    again = Attention(KEY, json.loads(json.dumps(attention.kept())))
    assert told(again) == ""
    assert news(*turn(40)[2:], attention=again) == "done"
    assert told(Attention(KEY, again.kept())) == ""
