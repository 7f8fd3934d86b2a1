"""The real OpenCode, recorded live: a recording contains exactly what the model's own log has for that range."""

import pytest

from . import judge
from .dialogs import hold_in_dialogs
from .expanded import hold_with_files
from .gone import hold_until_killed
from .oneshot import assert_log_is_a_reference, hold_in_runs
from .opencode import Asking, OpenCode
from .scenario import hold_in_terminal

pytestmark = pytest.mark.slow
CLIENT = OpenCode


def test_a_live_recording_holds_what_the_model_heard_and_said(play):
    """Every turn between a typed start and stop is written once, nothing else is; the client's files are unchanged."""
    hold_in_runs(play, "jsonl")


def test_a_conversation_in_a_terminal_is_recorded_as_it_was_typed(play):
    """Only typed and pasted commands act, each once, and none again after an interruption."""
    hold_in_terminal(play, "jsonl")


def test_the_log_of_the_model_tells_what_the_client_keeps(play):
    """Without katod, the model's log has the same messages as the client's own files, so it can serve as reference."""
    assert_log_is_a_reference(play)


def test_a_prompt_is_recorded_as_it_was_typed_not_as_the_client_quotes_it(play):
    """A prompt is recorded without the quotes and escapes that `opencode run` adds if it contains a blank."""
    prompts = ['say "two words" of C:\\new\\table', 'two lines\nwith "quotes" and \\n in them']
    with play.katod("jsonl") as katod:
        play.client.begin("hello one")
        play.record(katod, "::start notes.jsonl\n\nthe first", "notes.jsonl")
        for prompt in prompts:
            play.record(katod, prompt, "notes.jsonl")
    assert [entry["text"] for entry in play.log() if entry["event"] == "prompt"][2:] == prompts
    judge.assert_outputs(katod, play.log())


def test_a_long_paste_a_refusal_and_a_new_session_are_what_they_are(stage):
    """Nothing pasted acts, no command acts again after a refusal or an interrupted tool, and a new session is said."""
    hold_in_dialogs(stage(Asking))


def test_states_are_right_until_the_client_is_killed(stage):
    """A refusal ends the turn, and nobody works once the client is gone."""
    hold_until_killed(stage(Asking))


def test_no_file_that_a_prompt_is_made_of_is_typed(play):
    """Neither a command or a skill of the project, nor a file that a prompt names."""
    hold_with_files(play)
