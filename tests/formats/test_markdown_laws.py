"""No text can pose as a part of a transcript: laws over messages made of whatever Markdown readers act on."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod import events as ev
from katod.formats.markdown import Markdown
from katod.model import Options
from tests.formats.conversation import TIMES, answers, asks, call, event, facts, result, says, show, thinks, user

NASTY = st.sampled_from(
    [
        "# User · 23:36", "## Claude · 23:37", "> # Q", "- # L", "1. # O", "    # code", "   ## three", "text", "2024 x", "#tag", "|x",
        "```code``` t", "-item", "===", "---", "  ---", "> ---", "- foo", "1. foo", "> foo", "```", "~~~", "    ```", "- ```", "> ```",
        "````", "```py", "<!--", "-->", "<div>", "</div>", "<?php", "?>", "<![CDATA[", "<!X", "<script>", "<script", "</script>", "<pre>",
        "<style", "<textarea>", "<details>", "</details>", "<h1>", "<h2>x</h2>", "\u00a0", "", "\t```", "\t# x", "`<!--`", "[a]: /u", ">",
        "*", "-", "+ # p", ">#x", "<x-y>", "<a href='", "---\ntitle: x\n---", "**User** · 23:36", "\u202e## x", "\x1b[2J# x", "a\r# b",
        "a\r\n# b", "\\", "`", "``", "::start", "\u2028# x", "| a |\n|---|", "[User]: x '", "&#35; x", "*Recording stopped 23:36*",
    ]
)  # fmt: skip
MESSAGES = st.lists(NASTY | st.text(max_size=6), max_size=6).map("\n".join)
MARKDOWN = MarkdownIt("commonmark").enable("table")


def outline(text):
    """The headings of levels 1 and 2 of a document, and the paragraphs that stand in no other block."""
    parsed = MARKDOWN.parse(text)
    after = list(pairwise(parsed))
    heads = [
        (token.tag, inner.content)
        for token, inner in after
        if token.type == "heading_open" and token.tag in ("h1", "h2")
    ]
    return heads, [inner.content for token, inner in after if token.type == "paragraph_open" and token.level == 0]


@given(st.lists(MESSAGES, min_size=1, max_size=2), st.booleans())
def test_no_message_poses_as_a_part_of_the_transcript(messages, thinking):
    """Whatever messages hold, the headings are katod's own, and each message leaves the next one its place."""
    options = Options(thinking=thinking, time_zone="Europe/Berlin")
    steps = []
    for text in messages:
        steps += [user(text), user("the person's next words"), thinks(text), says(text), says("the agent's next words")]
    shown = Markdown(options)
    heads, paragraphs = outline(shown.head(facts(), TIMES["a"]).partition("\n---\n")[2] + show(*steps, shown=shown))
    speakers = ["User · 23:36", "Claude · 23:36", "Claude · claude-opus-4-6 · 23:36"]
    assert heads[0] == ("h1", "Add authentication to my app")
    assert {tag for tag, _ in heads[1:]} <= {"h2"}
    assert len(heads) <= 1 + 3 * len(messages)
    assert {content for _, content in heads[1:]} <= set(speakers)
    assert paragraphs.count("the person's next words") == paragraphs.count("the agent's next words") == len(messages)


@given(MESSAGES, st.sampled_from(["summary", "full"]))
def test_no_other_text_poses_as_a_part_of_the_transcript(text, tools):
    """Tools, results, questions, answers, errors and titles cannot pose as speakers or swallow what follows, either."""
    steps = [
        user("begin"), call(1, text or "x", text, "execute", command=text), result(1, text, isError=True),
        asks(text, (text, text), key=text), answers(text, freeText=text), event(ev.ERROR, {"message": text}),
        event(ev.CONFIG_CHANGE, {"what": "title", "after": text}), user(text, subtype="slash-command"), user("the next words"),
    ]  # fmt: skip
    heads, paragraphs = outline(show(*steps, options=Options(tools=tools, time_zone="Europe/Berlin")))
    assert {content.split(" ")[0] for _, content in heads} <= {"User", "Claude"}
    assert {tag for tag, _ in heads} == {"h2"}
    assert len(heads) == 3
    assert paragraphs[-1] == "the next words"
