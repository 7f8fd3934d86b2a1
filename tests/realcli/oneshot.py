"""A conversation in which the client is run once for each prompt: the same for every client."""

from . import judge
from .play import SEVERAL_LINES

SUFFIXES = {"jsonl": "jsonl", "markdown": "md"}


def hold_in_runs(play, form):
    """Hold a conversation with katod beside it, and compare its outputs with the model's log."""
    notes, later = f"notes.{SUFFIXES[form]}", f"later.{SUFFIXES[form]}"
    play.client.begin(f"::start {notes}\n\nsaid before katod was there")
    heard = len(play.log())
    with play.katod(form) as katod:
        play.hold_conversation(katod, notes, later)
    judge.assert_outputs(katod, play.log()[heard:])


def assert_log_is_a_reference(play):
    """Assert that without katod the client's own files have the messages of the model's log."""
    prompts = ["::start notes.md\n\nfirst prompt", "look into it (tool)", SEVERAL_LINES]
    play.client.begin(prompts[0])
    for prompt in prompts[1:]:
        play.client.say(prompt)
    said = judge.said(play.log())
    assert play.client.messages() == said
    assert [text for role, text in said if role == "user"] == prompts
    assert len(said) == 7
