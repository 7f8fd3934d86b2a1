"""The real OpenCode, followed live: a recording holds what the model's own log has for that range, once."""

import pytest

from . import judge
from .opencode import OpenCode
from .play import SEVERAL_LINES

pytestmark = pytest.mark.slow
CLIENT = OpenCode


@pytest.mark.parametrize(("form", "suffix"), [("jsonl", "jsonl"), ("markdown", "md")])
def test_a_live_recording_holds_what_the_model_heard_and_said(play, form, suffix):
    """Between a typed start and stop every turn stands in the output once; nothing else does, and no file of the client changes."""
    notes, later = f"notes.{suffix}", f"later.{suffix}"
    play.client.begin(f"::start {notes}\n\nsaid before katod was there")
    heard = len(play.log())
    with play.katod(form) as katod:
        play.hold_conversation(katod, notes, later)
    judge.assert_outputs(katod, play.log()[heard:])


def test_the_log_of_the_model_tells_what_the_client_keeps(play):
    """Without katod: the words of the model's log are those of the client's own files, so it can be the judge."""
    prompts = ["::start notes.md\n\nfirst prompt", "look into it (tool)", SEVERAL_LINES]
    play.client.begin(prompts[0])
    for prompt in prompts[1:]:
        play.client.say(prompt)
    said = judge.said(play.log())
    assert play.client.messages() == said
    assert [text for role, text in said if role == "user"] == prompts
    assert len(said) == 7


def test_a_prompt_is_recorded_as_it_was_typed_not_as_the_client_quotes_it(play):
    """`opencode run` keeps a prompt that holds a blank in quotes, with a slash before each quote in it and no other."""
    prompts = ['say "two words" of C:\\new\\table', 'two lines\nwith "quotes" and \\n in them']
    with play.katod("jsonl") as katod:
        play.client.begin("hello one")
        play.record(katod, "::start notes.jsonl\n\nthe first", "notes.jsonl")
        for prompt in prompts:
            play.record(katod, prompt, "notes.jsonl")
    assert [entry["text"] for entry in play.log() if entry["event"] == "prompt"][2:] == prompts
    judge.assert_outputs(katod, play.log())
