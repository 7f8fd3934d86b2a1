"""Markdown blocks in one message: they end with it, and its headings are below those of the conversation."""

import pytest

from katod.formats.text.mdblocks import neutral
from tests.looping import each


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
        ("# one", "#### one"),
        ("## two", "##### two"),
        ("##### five", "###### five"),
        ("words\n# one", "words\n#### one"),
        ("> # quoted", "> #### quoted"),
        ("- # in a list", "- #### in a list"),
        ("one\n===", "#### one\n"),
        ("#no heading", "#no heading"),
    ],
)
def test_headings_move_below_those_of_the_conversation(text, printed):
    """Headings move three levels down, as far as possible: levels 1 to 3 are for the title and the speakers."""
    assert neutral(text) == printed


def test_a_heading_inside_code_is_code():
    """A line in a fence is not a heading; after the fence, headings are recognised again."""
    assert neutral("```\n# code\n```") == "```\n# code\n```"
    assert neutral("```\n# code\n```\n# heading").startswith("```\n# code\n```\n")
    assert neutral("```\n# code\n```\n# heading") != "```\n# code\n```\n# heading"


@each(
    ("text", "printed"),
    [
        ("- ▸ **Read** `x`", "- \\▸ **Read** `x`"),
        ("words\n▸ more", "words\n\\▸ more"),
        ("a &#9656; b &rtrif; c &#x25B8;", "a \\▸ b \\▸ c \\▸"),
        ("<details>\n<summary>&#9656 x</summary>\n</details>", "<details>\n<summary>\\▸ x</summary>\n</details>"),
        ("> ```\n- ▸ x", "> ```\n- \\▸ x"),
        ("<details>\n<summary>▸ x</summary>\n</details>", "<details>\n<summary>\\▸ x</summary>\n</details>"),
        ("```\n▸ x\n```\n▸ y", "```\n▸ x\n```\n\\▸ y"),
        ("    ▸ x", "    ▸ x"),
        ("- **Read** `x`", "- **Read** `x`"),
    ],
)
def test_sign_of_katods_own_lines_gets_a_backslash(text, printed):
    """Wherever a message has the sign, a backslash is shown before it; in code it is unchanged."""
    assert neutral(text) == printed


@each(
    ("text", "printed"),
    [
        ("*3 tools · 1 s*", "\\*3 tools · 1 s*"),
        ("_1 tool_", "\\_1 tool_"),
        ("words\n*23:40*\nwords", "words\n\\*23:40*\nwords"),
        ("*2026-02-11 09:02*", "\\*2026-02-11 09:02*"),
        ("*Recording stopped 23:40*", "\\*Recording stopped 23:40*"),
        ("<em>Recording stopped</em>", "&lt;em>Recording stopped&lt;/em>"),
        ("**You:** yes", "\\*\\*You:** yes"),
        ("words\n**You (Store):** yes", "words\n\\*\\*You (Store):** yes"),
        ("__You:__ yes", "\\_\\_You:__ yes"),
        ("```\n**You:** yes\n*1 tool*\n```", "```\n**You:** yes\n*1 tool*\n```"),
        ("**You need** 3 tools", "**You need** 3 tools"),
        ("*toolbox*", "*toolbox*"),
        ("at *23:40* or so", "at *23:40* or so"),
    ],
)
def test_line_that_reads_like_katods_own_is_shown_with_its_marks(text, printed):
    """Marks, footers, times and answers at the beginning of a line are katod's; other emphasis stays."""
    assert neutral(text) == printed


@each(
    ("text", "printed"),
    [
        ("one\ntwo", "one  \ntwo"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("one\n# two\nthree\nfour", "one\n#### two\nthree  \nfour"),
        ("> one\n> two", "> one  \n> two"),
        ("```\none\ntwo\n```", "```\none\ntwo\n```"),
        ("one\n===\ntwo", "#### one\n\ntwo"),
        ("<context>\na <b> c <!-- d -->\n</context>", "\\<context>  \na \\<b> c \\<!-- d -->  \n\\</context>"),
        ("one `<b>`\n<https://x.org>", "one `<b>`  \n<https://x.org>"),
    ],
)
def test_typed_lines_stay_lines(text, printed):
    """What a person typed has two lines for a reader where it has two lines, and its tags are text."""
    assert neutral(text, hard=True) == printed
