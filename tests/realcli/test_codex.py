"""The real Codex, recorded live: a recording contains exactly what the model's own log has for that range."""

import pytest

from . import judge
from .codex import Asking, Codex
from .dialogs import hold_in_dialogs
from .expanded import hold_with_files
from .gone import hold_until_killed
from .handover import take_over
from .oneshot import assert_log_is_a_reference, hold_in_runs
from .onpage import watch
from .recall import assert_told, look_up
from .scenario import assert_reproducible, hold_in_terminal, talk

pytestmark = pytest.mark.slow
CLIENT = Codex


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_a_live_recording_holds_what_the_model_heard_and_said(play, form):
    """Every turn between a typed start and stop is written once, nothing else is; the client's files are unchanged."""
    hold_in_runs(play, form)


def test_a_conversation_in_a_terminal_is_recorded_as_it_was_typed(play):
    """Only typed and pasted commands act, each once, and none again after an interruption."""
    hold_in_terminal(play, "jsonl")


def test_a_prompt_that_interrupts_an_answer_is_recorded_once(play):
    """A prompt sent with Enter while the client works is recorded once; a command in it acts once."""
    with play.katod("jsonl") as katod, talk(play) as person:
        person.open()
        person.ask("hello")
        person.ask("::start notes.jsonl\nthe first recorded words")
        person.overtake("a long one (slow)", "said while it was busy\n::stop\nsaid after the stop")
        person.ask("not recorded")
        person.ask("::start later.jsonl\nrecorded again")
        katod.until_written(play.last_answer(), "later.jsonl")
        person.leave()
        judge.assert_outputs(katod, play.kept_log())
        assert_reproducible(katod)


def test_the_log_of_the_model_tells_what_the_client_keeps(play):
    """Without katod, the model's log has the same messages as the client's own files, so it can serve as reference."""
    assert_log_is_a_reference(play)


def test_a_brief_of_another_agents_session_arrives_whole(play):
    """The model is told all of the brief of a Claude Code session, within its budget and without its secrets."""
    take_over(play, "claude")


def test_the_agent_looks_up_what_was_recorded(play):
    """Added with the command in the manual, `katod mcp` tells the client's model of an earlier session."""
    assert_told(look_up(play))


def test_a_conversation_is_watched_in_a_browser(play):
    """Answers and states are seen as they happen, a recording is started and stopped; nobody else is asked for anything."""
    watch(play)


def test_a_long_paste_a_refusal_and_a_new_session_are_what_they_are(stage):
    """Nothing pasted acts, no command acts again after a refusal or an interrupted tool, and a new session is said."""
    hold_in_dialogs(stage(Asking))


def test_states_are_right_until_the_client_is_killed(stage):
    """A refusal ends the turn, and nobody works once the client is gone. It waits for a tool only for a few seconds."""
    hold_until_killed(stage(Asking), in_tool=False)


def test_no_file_that_a_prompt_is_made_of_is_typed(play):
    """Neither a command or a skill of the project, nor a file that a prompt names."""
    hold_with_files(play)
