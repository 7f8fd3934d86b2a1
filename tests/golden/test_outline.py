"""Text stays within its message, whatever it contains; checked with a Markdown parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.text.mdtext import body
from tests.examples import examples
from tests.golden.hostile import LIVE, OUTLINE, own_forms, page
from tests.looping import each

# Lines that could begin, continue or end something that escapes the message, and containers for them.
CONTAINERS = [
    "", "", "", " ", "   ", "    ", "\t", "> ", "- ", "  ", "1. ", "10. ", "* ", "> > ", "- - ", ">", "-\t", ": ",
]  # fmt: skip
LINES = [
    "", "", "FAKE", "words", "## FAKE", "# FAKE", "#", "##\tFAKE", "---", "===", "-", "=", "- - -", "***",
    "```", "````", "~~~", "```sh", "```a`b", "``` x ```", "~~~ ~~~", "`", "``", "1 FAKE", "#FAKE", "| FAKE |", "|---|",
    "a | b", "<!--", "-->", "<!-- x -->", "<?php", "?>", "<![CDATA[", "]]>", "<!DOCTYPE", "<details>", "</details>",
    "<div>", "</div>", "<pre>", "</pre>", "<textarea>", "<script>", "</script>", "<style>", "<h1>FAKE</h1>", "<h3>FAKE</h3>", "### FAKE", "<h2",
    "*Recording stopped 23:40*", "*3 tools*", "_23:40_", "**You:** FAKE", "__You (x):__ FAKE", "<b>You:</b> FAKE", "<em>1 tool</em>",
    "▸ **Read** `x`", "&#9656; FAKE", "<summary>▸ FAKE</summary>",
    "class=x>FAKE</h2>", "<a href='x", "[x]: y", "[^1]: y", "\\", "\\# FAKE", "&#35; FAKE", "<b", "`<!--`", "<!-->",
    "<x_y>", "<x-y a=b>", "</x>", "[x]:", "<img src=x onerror=y>", "<svg>", "<iframe>", "javascript:", "<a href=javascript:x>",
]  # fmt: skip
TEXTS = st.lists(st.tuples(st.sampled_from(CONTAINERS), st.sampled_from(LINES)).map("".join), max_size=9)

SPEAKERS = [("h1", "Title"), ("h2", "You"), ("h3", "Claude")]

# Text that Markdown parsers read in unexpected ways.
FOUND = [
    "<div\n## FAKE", "<div id=x onclick=y>\n## FAKE", "<pre onclick=x>\n## FAKE\n\n## FAKE\n</pre>", "<h2\n## FAKE\n===", "</div\n## FAKE",
    "<pre>\n</pre >\n## FAKE", '<a title="`"> `<h1>FAKE</h1>`', "~~~ a | b\n|---|---|\n", "<div>a | b\n|---|---|\n## FAKE",
    "> > ===\n    ## FAKE\nFAKE\n---", ">\t    <h1>a | b\n|---|---|\n", "> <summary>\n\t><h2>FAKE</h2>", "[x\ny]: z", "<b><table>\n</b>",
    "| FAKE |\n|---|\n10. ## FAKE", "> | FAKE |\n> |---|\n> 2) # FAKE", "- | FAKE |\n  |---|\n  2.\t# FAKE",
]  # fmt: skip


@pytest.mark.fault("text that poses as another speaker")
@each("text", FOUND)
def test_what_readers_take_apart_in_another_way(text: str) -> None:
    """Tags that span lines, tables with precedence, and code inside a tag do not change the outline."""
    assert top(text) == SPEAKERS
    assert not [piece for piece in page(_page(text)).html if piece.lower().startswith(("<h1", "<h2", "<h3"))]


def top(text: str) -> list[tuple[str, str]]:
    """Return the headings of levels 1 to 3 of a page with this message between two speakers."""
    return [heading for heading in page(_page(text)).headings if heading[0] in OUTLINE]


@pytest.mark.fault("text that poses as another speaker")
@examples(3, 1_000)
@given(TEXTS.map("\n".join))
def test_no_message_changes_the_outline(text: str) -> None:
    """A message between two speakers adds no heading of levels 1 to 3 and hides nothing of the next message."""
    assert top(text) == SPEAKERS
    assert "THE NEXT MESSAGE" in page(_page(text)).words
    assert own_forms(_page(text)) == []


@pytest.mark.fault("text that poses as another speaker")
@examples(3, 1_000)
@given(TEXTS.map("\n".join))
def test_no_message_acts(text: str) -> None:
    """A message contains no HTML outside code that could run or load something."""
    assert [piece for piece in page(_page(text)).html if LIVE.search(piece)] == []


def _page(text: str) -> str:
    return f"# Title\n\n## You\n\n{body(text)}\n\n### Claude\n\nTHE NEXT MESSAGE\n"
