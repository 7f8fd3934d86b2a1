"""The real Gemini CLI, recorded live: a recording contains exactly what the model's own log has for that range."""

import time

import pytest

from tests.support.live import until

from . import judge
from .dialogs import hold_in_dialogs
from .expanded import hold_with_files
from .gemini import Asking, Gemini
from .gone import hold_until_killed
from .oneshot import assert_log_is_a_reference, hold_in_runs
from .play import SEVERAL_LINES
from .recall import assert_told, look_up
from .scenario import hold_in_terminal

pytestmark = pytest.mark.slow
CLIENT = Gemini
MINUTE = 70.0


class Forgetful(Gemini):
    """A client with its default settings: at its start it deletes old sessions, and some that are not old."""

    forgets = True


def test_a_live_recording_holds_what_the_model_heard_and_said(play):
    """Every turn between a typed start and stop is written once, nothing else is; the client's files are unchanged."""
    hold_in_runs(play, "jsonl")


def test_a_conversation_in_a_terminal_is_recorded_as_it_was_typed(play):
    """Only typed and pasted commands act, each once, and none again after an interruption."""
    hold_in_terminal(play, "jsonl")


def test_the_log_of_the_model_tells_what_the_client_keeps(play):
    """Without katod, the model's log has the same messages as the client's own files, so it can serve as reference."""
    assert_log_is_a_reference(play)


def early_in_a_minute():
    """Wait for the start of a minute, so that several starts of the client fit in it: each new minute adds a file."""
    until(lambda: time.gmtime().tm_sec <= 20, "the beginning of a minute", MINUTE, poll=0.2)


def next_minute(session):
    """Wait until resuming the session would create a second file, which is named after the minute."""
    until(
        lambda: time.strftime("%Y-%m-%dT%H-%M", time.gmtime()) not in session.name, "the next minute", MINUTE, poll=0.2
    )


def test_a_recording_outlives_the_session_file_that_the_client_deletes(stage):
    """A recording survives if a resume in a later minute adds a stray file and the next start deletes the session."""
    play = stage(Forgetful)
    notes, later = "notes.jsonl", "later.jsonl"
    with play.katod("jsonl") as katod:
        early_in_a_minute()
        play.client.begin("hello one")
        play.record(katod, f"::start {notes}\n\nfirst recorded prompt", notes)
        play.record(katod, "look into it (tool)", notes)
        (session,) = play.client.sessions()
        next_minute(session)
        play.record(katod, SEVERAL_LINES, notes)
        strays = set(play.client.sessions()) - {session}
        play.client.begin("a new conversation")
        assert strays, "the client made no stray file: the test lost its subject"
        assert not [path for path in (session, *strays) if path.exists()], "the client deleted nothing: likewise"
        play.record(katod, f"::start {later}\n\nthe last prompt", later)
    judge.assert_outputs(katod, log_of_two_conversations(play.log()))


def log_of_two_conversations(log):
    """Return the log with the recording stopped at the point where the client deleted the conversation."""
    new = next(n for n, entry in enumerate(log) if entry.get("text") == "a new conversation")
    return [*log[:new], {"event": "prompt", "text": "::stop"}, *log[new:]]


def test_the_agent_looks_up_what_was_recorded(play):
    """Added with the command in the manual, `katod mcp` tells the client's model of an earlier session."""
    assert_told(look_up(play))


def test_a_long_paste_a_refusal_and_a_new_session_are_what_they_are(stage):
    """Nothing pasted acts, no command acts again after a refusal or an interrupted tool, and a new session is said."""
    hold_in_dialogs(stage(Asking))


def test_states_are_right_until_the_client_is_killed(stage):
    """A refusal ends the turn, and nobody works once the client is gone."""
    hold_until_killed(stage(Asking), in_tool=False)


def test_no_file_that_a_prompt_is_made_of_is_typed(play):
    """Neither a command or a skill of the project, nor a file that a prompt names."""
    hold_with_files(play)
