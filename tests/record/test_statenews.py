"""What the person of a recorded session hears of."""

import json
from datetime import UTC, datetime

from katod import events as ev
from katod.events import Event, SessionRef
from katod.model import SessionKey
from katod.record.news import StateNews
from katod.states import QUIET_AFTER, Report, State
from tests.looping import each

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
    state_news = attention or StateNews(KEY)
    for event in events:
        state_news.take(event)
    if report is not None:
        state_news.hear(report)
    return told(state_news, now, report)


def told(state_news, now=NOW, report=None):
    """Return the state that is news, empty for none."""
    found = state_news.news(now, lambda _seen, _silent: report)
    return found.state.value if found else ""


QUESTION = said(ev.DECISION_PROMPT, 0, decisionId="c:0", decisionKey="k", prompt="Which?")


def test_a_turn_that_took_long_is_news_once():
    """Not a short one: who waits for less looks on. Not one that the person interrupted, or a sub-agent's."""
    state_news = StateNews(KEY)
    assert news(*turn(31), attention=state_news) == "done"
    assert told(state_news) == ""
    assert news(*turn(29)) == ""
    assert news(*turn(300, reason="aborted")) == ""
    assert news(*(event._replace(session=event.session._replace(subagent="a")) for event in turn(300))) == ""


def test_a_turn_that_goes_on_is_not_done():
    """Until it has ended, whatever was read meanwhile."""
    state_news = StateNews(KEY)
    assert news(*turn(40)[:-1], attention=state_news) == ""
    assert news(turn(40)[-1], attention=state_news) == "done"


def test_a_question_is_news_at_once_and_once():
    """However short the turn was; the next one is news again."""
    state_news = StateNews(KEY)
    assert news(*turn(1)[:2], QUESTION, attention=state_news) == "blocked"
    assert told(state_news) == ""
    assert news(said(ev.DECISION_RESPONSE, 1, decisionId="c:0"), attention=state_news) == ""
    assert news(QUESTION, attention=state_news) == "blocked"


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
    state_news, waits, works = StateNews(KEY), Report(State.BLOCKED, NOW), Report(State.WORKING, NOW)
    assert news(*turn(1)[:2], report=waits, attention=state_news) == "blocked"
    assert news(QUESTION, report=waits, attention=state_news) == ""
    assert news(report=works, attention=state_news) == ""
    assert news(said(ev.TOOL_RESULT, 2, toolCallId="c", text=""), report=works, attention=state_news) == ""
    assert news(report=waits, attention=state_news) == "blocked"


def test_a_turn_is_not_done_while_its_agent_works():
    """Whatever its file says; it is once the agent is idle, however late that is."""
    state_news = StateNews(KEY)
    works, rests = Report(State.WORKING, NOW), Report(State.IDLE, NOW + 300)
    assert news(*turn(40), report=works, attention=state_news) == ""
    assert news(report=rests, attention=state_news, now=NOW + 301) == "done"


def test_the_agent_is_asked_again_before_anything_is_said():
    """What it said last may be old: its process was killed, or a hint of a change was lost."""
    state_news = StateNews(KEY)
    for event in turn(40):
        state_news.take(event)
    assert state_news.news(NOW, lambda _seen, _silent: Report(State.WORKING, NOW)) is None
    state_news.hear(Report(State.BLOCKED, NOW))
    assert state_news.news(NOW, lambda _seen, _silent: Report(State.WORKING, NOW)) is None


def test_an_answer_without_an_end_is_news_when_it_is_quiet():
    """Once; and once more when it turns out to be done. A tool that was running was none of it."""
    state_news, key = StateNews(SessionKey("gemini", "s")), {"scope": "message", "output": 1}
    events = [
        said(ev.USER_MESSAGE, -40, text="go"), said(ev.ASSISTANT_MESSAGE, 0, text="I look."), said(ev.USAGE, 0, **key)
    ]  # fmt: skip
    assert news(*events, attention=state_news) == ""
    quiet = NOW + QUIET_AFTER
    assert told(state_news, quiet) == "done"
    assert told(state_news, quiet + 5) == ""
    ran = [said(ev.TOOL_CALL, 70, toolCallId="c", name="Bash"), said(ev.TOOL_RESULT, 70, toolCallId="c", text="")]
    assert news(*ran, attention=state_news, now=NOW + 70) == ""
    assert news(said(ev.TURN_END, 80, reason="done"), attention=state_news, now=NOW + 80) == "done"


def test_a_compaction_is_no_turn():
    """It begins when it begins, not with the prompt before it."""
    state_news = StateNews(SessionKey("copilot", "s"))
    assert news(*turn(1, ended=-600), attention=state_news) == ""
    began = said(ev.PROVIDER_INFO, -5, text="", subtype="compaction-started", data={})
    assert news(began, said(ev.COMPACTION, 0), attention=state_news) == ""


def test_a_restart_repeats_and_loses_nothing():
    """What was said is not said again, and a turn that goes on is done after all."""
    state_news = StateNews(KEY)
    assert news(*turn(40)[:2], QUESTION, attention=state_news) == "blocked"
    again = StateNews(KEY, json.loads(json.dumps(state_news.kept())))
    assert told(again) == ""
    assert news(*turn(40)[2:], attention=again) == "done"
    assert told(StateNews(KEY, again.kept())) == ""


@each("events", [turn(40), turn(29), turn(300, reason="aborted"), [*turn(40)[:2], QUESTION], turn(40)[:3]])
def test_restarts_change_nothing(events):
    """Wherever they are: what is news is the same."""
    one, two = StateNews(KEY), StateNews(KEY)
    for event in events:
        one.take(event)
    for event in events:
        two.take(event)
        two = StateNews(KEY, json.loads(json.dumps(two.kept())))
    assert two.kept() == one.kept()
    assert told(two) == told(one)


@each("began, word", [(-5, ""), (-35, "done")])
def test_a_turn_begins_with_its_prompt_although_the_one_before_has_no_end(began, word):
    """So the one before does not make it long."""
    state_news, key = StateNews(SessionKey("gemini", "s")), {"scope": "message", "output": 1}
    for begin, end in ((-80, -70), (began, 0)):
        said_now = said(ev.USER_MESSAGE, begin, text="go"), said(ev.ASSISTANT_MESSAGE, end, text="I look.")
        assert news(*said_now, said(ev.USAGE, end, **key), attention=state_news) == ""
    assert told(state_news, NOW + QUIET_AFTER) == word


def test_the_agent_is_asked_with_how_long_nothing_was_recorded():
    """In seconds, since the last event."""
    state_news, asked = StateNews(KEY), []
    for event in turn(40, ended=-12):
        state_news.take(event)
    state_news.news(NOW, lambda _seen, silent: asked.append(silent))
    assert asked == [12.0]
