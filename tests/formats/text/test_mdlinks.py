"""Links in messages: none of them runs or embeds anything when it is clicked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod.formats.text.mdtext import body
from tests.examples import examples
from tests.looping import each

# A renderer without the safety net that markdown-it has by default.
READER = MarkdownIt("commonmark")
READER.validateLink = lambda _url: True
ACTIVE = ("javascript:", "vbscript:", "data:")


def targets(text):
    """Return the targets of the links and pictures that a renderer makes of a message."""
    tokens = [child for token in READER.parse(body(text)) for child in (token.children or [])]
    return [str(token.attrs.get("href") or token.attrs.get("src")) for token in tokens if token.attrs]


@pytest.mark.fault("link that runs something")
@each(
    "text",
    [
        "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x]( javascript:alert(1))", "[x](<javascript:alert(1)>)",
        "[x](java&#115;cript:alert(1))", "[x](&#x6a;avascript:a)", "[x](javascript&colon;a)", "[x](javascript\\:a)",
        "[x](\njavascript:a)", "[x](vbscript:a)", "[x](data:text/html,<script>)", "<javascript:alert(1)>", "<DATA:x>",
        "[ok](b) and [x](javascript:a)", "> [x](javascript:a)", "- [x](javascript:a)", "# [x](javascript:a)",
        "![x](data:text/html;base64,AA)", "[![x](data:image/png;base64,AA)](javascript:a)",
        "`[x](javascript:a)", "``[x](javascript:a)`", "`\n`[x](javascript:a)`", "\\``a` [x](javascript:a) `b",
        '<a title="`"> [x](javascript:a) `',
    ],
)  # fmt: skip
def test_a_link_that_runs_something_is_text(text):
    """Whatever way its scheme is spelled, the link is shown as the text it was."""
    assert not [target for target in targets(text) if target.lower().startswith(ACTIVE) and "image/png" not in target]


@each(
    "text",
    ["[x](https://a.b/data:c)", "[x](a.md)", "![x](data:image/png;base64,AA)", "<https://a.b>", "a](b", "[x](#y)"],
)
def test_other_links_stay(text):
    """What can only be followed, or is a picture, is not changed."""
    assert body(text) == text


@each("text", ["`[x](javascript:a)`", "```\n[x](javascript:a)\n```", "words\n\n    [x](javascript:a)"])
def test_code_is_not_changed(text):
    """In code no link is made, so nothing has to be shown as text."""
    assert body(text) == text


PIECES = st.sampled_from([
    "[x]", "(", ")", "<", ">", "javascript:", "data:", "java", "script:", "&#58;", "&colon;", "\\", "\n", " ", "`", "a", "!", "]", "[",
])  # fmt: skip


@pytest.mark.fault("link that runs something")
@examples(4, 1_000)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_message_has_an_active_link(text):
    """However the pieces of a link are put together, no renderer makes one that runs something."""
    assert not [target for target in targets(text) if target.lower().startswith(ACTIVE)]


@pytest.mark.slow
@pytest.mark.parametrize("text", ["![" * 2_000 + "](x" * 2_000, "](x" * 8_000, "`](data:x " * 2_000])
def test_a_line_of_many_links_takes_linear_time(text):
    """A search that goes back for each of them would not finish."""
    assert body(text)
