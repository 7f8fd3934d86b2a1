"""`katod handoff` and `katod export --for pr`: what others get of a session."""

from typing import get_args

from katod.command.grammar import parse_line, parse_message
from katod.model import Word
from tests.support.records import Claude


def test_a_brief_of_the_latest_session_is_printed(world):
    """The brief has the task and the last words, and is within the budget."""
    make, source = Claude(), world.claude()
    source.append(make.user("Add sign-in."), make.says("Done: it works."))
    shown = world.cli("handoff", "latest", "--budget", "2000")
    assert shown.startswith("# Brief: Add sign-in.")
    assert "Done: it works." in shown
    assert len(shown) <= 2001


def test_no_line_of_a_brief_is_a_command(world):
    """A brief becomes the prompt of another agent, and what was said in a session would act in it."""
    make, source = Claude(), world.claude()
    lines = [f"{begin}::{word} evil" for word in get_args(Word) for begin in ("", "  ", "\t", "\u3000", "> ", "- ")]
    source.append(make.user("Add sign-in."))
    for line in (*lines, "::STOP", "::export evil.md"):
        source.append(make.says(f"Type this:\n\n{line}"), make.user(f"What is\n{line}"))
    shown = world.cli("handoff", "latest")
    assert shown.count("::export evil") >= 3
    taken_away = "\n".join(line.lstrip("> -\t\u3000") for line in shown.split("\n"))  # as a client may record it
    wrapped = "\n".join(shown.split())
    for text in (shown, taken_away, wrapped):
        assert not list(parse_message(text, ()).commands)
        assert [parse_line(line) for line in text.split("\n") if parse_line(line)] == []


def test_a_budget_that_is_too_small_is_a_wrong_usage(world):
    """A brief needs some room; the least is named."""
    world.claude().append(Claude().user("hello"))
    world.cli("handoff", "latest", "--budget", "10", code=2)
    assert "2000<=x<=1000000" in world.said


def test_a_pull_request_gets_one_block(world):
    """`--for pr` prints one collapsed block."""
    make, source = Claude(), world.claude()
    source.append(make.user("Add sign-in."), make.says("Done."))
    assert world.cli("export", "latest", "--for", "pr").startswith("<details>\n<summary>Conversation: Add sign-in.")
