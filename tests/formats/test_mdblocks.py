"""Markdown blocks in one message: they end with it, and its headings are below those of the conversation."""

import pytest

from katod.formats.mdblocks import neutral


@pytest.mark.parametrize(
    "text",
    ["", "plain words", "two\n\nparagraphs", "- a\n- b", "1. a\n2. b", "> quoted", "`code` and **bold**",
     "```py\nx = 1\n```", "~~~\n# no heading\n~~~", "| a | b |\n| - | - |\n| 1 | 2 |", "###### six", "    # code"],
)  # fmt: skip
def test_a_message_that_ends_its_blocks_stays_as_it_is(text):
    """A message that closes its own blocks is not changed."""
    assert neutral(text) == text


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("```\nopen", "```\nopen\n```"),
        ("````md\n```\nopen", "````md\n```\nopen\n````"),
        ("~~~~\nopen", "~~~~\nopen\n~~~~"),
        ("> ```\n> open", "> ```\n> open\n> ```"),
        ("- ```\n  open", "- ```\n  open\n  ```"),
        ("```", "```\n```"),
    ],
)
def test_an_open_fence_is_closed(text, printed):
    """An open fence is closed with a fence of the same length, in the container that it was opened in."""
    assert neutral(text) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("# one", "### one"),
        ("## two", "#### two"),
        ("##### five", "###### five"),
        ("words\n# one", "words\n### one"),
        ("> # quoted", "> ### quoted"),
        ("- # in a list", "- ### in a list"),
        ("one\n===", "### one\n"),
        ("#no heading", "#no heading"),
    ],
)
def test_headings_move_below_those_of_the_conversation(text, printed):
    """Headings move two levels down, as far as possible: levels 1 and 2 are for the title and the speakers."""
    assert neutral(text) == printed


def test_a_heading_inside_code_is_code():
    """A line in a fence is not a heading; after the fence, headings are recognised again."""
    assert neutral("```\n# code\n```") == "```\n# code\n```"
    assert neutral("```\n# code\n```\n# heading").startswith("```\n# code\n```\n")
    assert neutral("```\n# code\n```\n# heading") != "```\n# code\n```\n# heading"
