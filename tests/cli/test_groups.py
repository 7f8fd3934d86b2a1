"""Suggestions for what was mistyped."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (("statsu",), "Did you mean 'status'?"),
        (("find", "words"), "Did you mean 'search'?"),
        (("config", "chek"), "Did you mean 'check'?"),
        (("record", "strat"), "Did you mean 'start'?"),
        (("status", "--jsn"), "--json"),
        (("export", "latest", "-f", "markdwn"), "Did you mean 'markdown'?"),
        (("sessions", "--agent", "claud"), "Did you mean 'claude'?"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest(world, arguments, suggestion):
    """Commands, options and choices alike, as wrong usage."""
    world.cli(*arguments, code=2)
    assert suggestion in world.said


def test_a_format_may_be_called_by_its_extension(world):
    """`md` is Markdown."""
    world.claude().append(world.claude().user("hello"))
    assert world.cli("export", "latest", "-f", "md") == world.cli("export", "latest", "-f", "markdown")


def test_what_is_like_nothing_is_listed(world):
    """Without a near word, the error lists the choices only."""
    world.cli("export", "latest", "-f", "x", code=2)
    assert "'x' is not one of markdown, jsonl, html" in world.said
    assert "Did you mean" not in world.said
