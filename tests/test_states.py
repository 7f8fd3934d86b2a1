"""What a session is doing: by its events, by what its agent says, and by how long nothing was recorded."""

import pytest

from katod.states import (
    DOUBT_AFTER,
    DOUBT_IN_CALL_AFTER,
    GONE,
    QUIET_AFTER,
    RUNS,
    Activity,
    JudgedEvents,
    Need,
    Report,
    State,
    is_stalled,
    judged,
)

WORKING, ASKED = JudgedEvents(State.WORKING), JudgedEvents(State.BLOCKED, Need("question", "AskUserQuestion"))
NOW = 1_770_763_000.0


def test_a_session_is_stalled_that_says_nothing_for_four_hours_while_it_works():
    """No other state is."""
    assert is_stalled(State.WORKING, 1000.0, 1000.0 + 4 * 3600)
    assert not is_stalled(State.WORKING, 1000.0, 999.0 + 4 * 3600)
    assert not any(is_stalled(state, 0.0, 1e9) for state in State if state is not State.WORKING)
    assert judged(WORKING, RUNS, NOW - 5 * 3600, NOW) == Activity(State.WORKING, stalled=True)


def test_what_an_agent_says_of_itself_counts():
    """It works, or waits, whatever its file says."""
    assert judged(WORKING, Report(State.BLOCKED), NOW, NOW) == Activity(State.BLOCKED)
    assert judged(JudgedEvents(State.DONE), Report(State.WORKING), NOW, NOW) == Activity(State.WORKING)


@pytest.mark.parametrize("state", [State.IDLE, State.DONE, State.ERROR])
def test_an_agent_that_is_idle_does_not_say_how_its_turn_ended(state):
    """Its file does."""
    assert judged(JudgedEvents(state), Report(State.IDLE, NOW), NOW, NOW) == Activity(state)


def test_a_turn_ends_when_its_agent_says_so():
    """Also before its end is in the file, so that it is not idle in between; not by what was said before the prompt."""
    prompted = JudgedEvents(State.WORKING, prompted=NOW)
    assert judged(prompted, Report(State.IDLE, NOW + 9), NOW, NOW) == Activity(State.DONE)
    assert judged(prompted, Report(State.IDLE, NOW - 9), NOW, NOW) == Activity(State.WORKING)
    assert judged(ASKED, Report(State.IDLE, NOW), NOW, NOW) == Activity(State.DONE)


def test_nobody_works_at_a_session_whose_program_has_ended():
    """But a turn that had ended is done."""
    assert judged(WORKING, GONE, NOW, NOW) == Activity(State.IDLE)
    assert judged(ASKED, GONE, NOW, NOW) == Activity(State.IDLE)
    assert judged(JudgedEvents(State.DONE), GONE, NOW, NOW) == Activity(State.DONE)


def test_a_session_whose_program_may_have_ended_works_until_that_is_likely():
    """A call takes longer than a thought. Whoever waits for a person is not doubted, nor is a client that runs."""
    in_call = JudgedEvents(State.WORKING, tools=("Bash",))
    for seen, after in ((WORKING, DOUBT_AFTER), (in_call, DOUBT_IN_CALL_AFTER)):
        assert judged(seen, None, NOW, NOW + after - 1) == Activity(State.WORKING)
        assert judged(seen, None, NOW, NOW + after) == Activity(State.IDLE, is_quiet=True)
        assert judged(seen, RUNS, NOW, NOW + after) == Activity(State.WORKING)
    assert judged(ASKED, None, NOW, NOW + DOUBT_IN_CALL_AFTER).state is State.BLOCKED
    assert judged(WORKING, None, 0.0, NOW) == Activity(State.WORKING)


def test_an_answer_that_may_be_the_last_is_done_soon_where_its_client_runs():
    """A client that waits for its person runs, too. Ten seconds are a short doubt."""
    assert judged(JudgedEvents(State.WORKING, may_be_over=True), RUNS, NOW, NOW + 10).word == "done?"


def test_an_answer_that_may_be_the_last_is_done_once_it_is_quiet():
    """Where the end of a turn is not recorded; a call that is open runs as long as it takes."""
    answered = JudgedEvents(State.WORKING, may_be_over=True)
    assert judged(answered, None, NOW, NOW + QUIET_AFTER - 1) == Activity(State.WORKING)
    assert judged(answered, None, NOW, NOW + QUIET_AFTER) == Activity(State.DONE, is_quiet=True)
    assert judged(WORKING, None, NOW, NOW + QUIET_AFTER) == Activity(State.WORKING)


@pytest.mark.parametrize(
    ("seen", "report", "words"),
    [
        (JudgedEvents(State.BLOCKED, Need("permission", "Bash")), None, "waits for your permission to use Bash"),
        (ASKED, None, "waits for your answer"),
        (JudgedEvents(State.WORKING, tools=("Bash",)), Report(State.BLOCKED, NOW, "permission"), "waits for your permission to use Bash"),
        (JudgedEvents(State.WORKING, tools=("Bash", "Read")), Report(State.BLOCKED, NOW, "permission"), "waits for your permission"),
        (JudgedEvents(State.WORKING, tools=("Bash",)), Report(State.BLOCKED, NOW, "question"), "waits for your answer"),
        (WORKING, Report(State.BLOCKED, NOW), "waits for you"),
    ],
)  # fmt: skip
def test_what_is_waited_for_is_named(seen, report, words):
    """As far as that is recorded: a permission is for the call that is open, if there is only one."""
    doing = judged(seen, report, NOW, NOW)
    assert (doing.state, doing.need.words) == (State.BLOCKED, words)


def test_states_in_json():
    """What is not known is left out."""
    assert Activity(State.WORKING, stalled=True).row() == {"state": "working", "stalled": True}
    assert Activity(State.DONE, is_quiet=True).row() == {"state": "done", "assumed": True}
    row = Activity(State.BLOCKED, Need("permission", "Bash")).row()
    assert row == {"state": "blocked", "waitsFor": "permission", "toolName": "Bash"}
