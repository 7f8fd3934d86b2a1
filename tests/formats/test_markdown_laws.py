"""No text can pose as a part of a transcript: properties of messages made of everything that Markdown reacts to."""

import json
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod import events as ev
from katod.formats.markdown import Markdown
from katod.formats.mdblocks import MARKS
from katod.formats.mdtext import clean
from katod.model import Options
from tests.examples import examples, texts
from tests.formats.conversation import TIMES, answers, asks, call, event, metadata, result, says, show, thinks, user
from tests.golden.hostile import CONTROLS, page
from tests.looping import each

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
MESSAGES = st.lists(NASTY | texts(max_size=6), max_size=6).map("\n".join)
MARKDOWN = MarkdownIt("commonmark").enable("table")
# Pieces for any place in a line: together they cover every way that HTML and code can open, close, hide or act.
PIECES = st.sampled_from(
    [
        "<div>", "</div>", "<div ", "<pre>", "</pre>", "</pre ", "<b>", "</b>", '<a href="', 'javascript:x"', ">", '"', "'", "`", "``",
        "|", "\\", "\n", "\n\n", "<!--", "-->", "<!-->", "<script>", "</script>", "<h1>", "</h1>", "<h2>", "## FAKE", "# FAKE", "> ",
        "- ", "1. ", "    ", " ", "x", '<a title="', "onclick=y", "<details>", "<summary>", "</details>", "<table>", "<tr><td>",
        "</table>", "<x_y>", "<T>", "===", "---", "```", "~~~", "<https://x>", "<javascript:x>", "&lt;", "<?", "?>", "<![CDATA[", "]]>",
        "<svg>", '<img src="http://x">', "<img src=x onerror=y>", "<style>", "<br>", "[x]: y", "[x", "\t", "a | b\n|---|---|\n",
        "<textarea>", "\\<b>", "\\`", "<iframe", "\u2066", "\u202e", "\x1b]0;", "\x07", "\x9b", "\x00", "\r", "::start", "$$", "%%",
    ]
)  # fmt: skip
TEXTS = MESSAGES | st.lists(PIECES, max_size=14).map("".join)
# Elements that change or hide the display of everything in them, and so must not be left open around a heading.
HOLDERS = frozenset({"a", "b", "blockquote", "details", "div", "li", "ol", "pre", "summary", "table", "ul"})


def outline(text):
    """Return the headings of levels 1 and 2 of a document, and the paragraphs that are in no other block."""
    parsed = MARKDOWN.parse(text)
    after = list(pairwise(parsed))
    heads = [
        (token.tag, inner.content)
        for token, inner in after
        if token.type == "heading_open" and token.tag in ("h1", "h2")
    ]
    return heads, [inner.content for token, inner in after if token.type == "paragraph_open" and token.level == 0]


class Elements(HTMLParser):
    """How a browser sees a page: the elements that are open where a heading begins, and active content."""

    def __init__(self, html):
        super().__init__()
        self.open, self.around, self.acting = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag in ("h1", "h2"):
            self.around.append([name for name in self.open if name in HOLDERS])
        if tag in ("script", "style", "textarea", "svg", "iframe") or any(
            name.startswith("on") or name == "style" or (name in ("href", "src") and "script:" in (value or ""))
            for name, value in attrs
        ):
            self.acting.append((tag, attrs))
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def whole(text, options):
    """Return a transcript with this text everywhere: in each kind of event, in each name in it, and in the head."""
    file = {"type": "image", "mediaType": text, "name": text, "bytes": 3}
    edit = {"old_string": text, "new_string": f"{text}\n+"}
    steps = [
        user(text, attachments=[file]), says(text, model=text), thinks(text), says(text),
        call(1, text, text, "execute", command=text), result(1, text, isError=True),
        call(2, text, text, "edit", **edit), result(2, text, denied=True, attachments=[file]),
        call(3, text, text, given=text), result(3, text),
        asks(text, (text, text), key=text), answers(text, freeText=text),
        event(ev.ERROR, {"message": text}), event(ev.CONFIG_CHANGE, {"what": "title", "after": text}),
        event(ev.CONFIG_CHANGE, {"what": "model", "before": text, "after": text}),
        event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": "review"}), event(ev.AGENT_END, {"subagent": text}),
        user(text, subtype="slash-command"), user(text), says("the next words", model=text),
    ]  # fmt: skip
    known = metadata(title=text, cwd=text, branch=text, version=text, model=text)
    shown = Markdown(options)
    return shown.head(known, TIMES["a"]) + show(*steps, shown=shown, known=known)


@pytest.mark.fault("text that poses as another speaker")
@pytest.mark.parametrize("tools", ["summary", "full"])
@examples(10, 2_000)
@given(text=TEXTS, first=st.booleans())
@example(text="\n## FAKE\n\n<div><script>", first=True)
@example(text='<div>[x]: y<a href="', first=False)
def test_the_outline_is_that_of_plain_words(tools, text, first):
    """Whatever its texts and names contain, a transcript has the same outline as one of plain words."""
    options = Options(tools=tools, thinking=True, redact=False, subagents=True, time_zone="Europe/Berlin")
    plain = plain_heads(options)
    text = f"x\n{text}" if first else f"{text}\nx"
    transcript = whole(text, options)
    seen = page(transcript)
    heads = [(tag, said) for tag, said in seen.headings if tag in ("h1", "h2")]
    assert [(tag, said.split()[0]) for tag, said in heads][1:] == plain[1:]
    assert (heads[0][0], seen.words.split("\n")[-1]) == ("h1", "the next words")
    assert CONTROLS.findall(transcript) == []
    head, _, rest = transcript.partition("\n---\n")
    assert all(json.loads(line.partition(": ")[2]) for line in head.split("\n")[1:] if not line.startswith("tags"))
    elements = Elements(MARKDOWN.render(rest))
    assert (elements.acting, elements.around) == ([], [[] for _ in plain])


@cache
def plain_heads(options):
    """Return the headings of levels 1 and 2 of a plain conversation: tag and first word."""
    return [(tag, said.split()[0]) for tag, said in page(whole("x", options)).headings if tag in ("h1", "h2")]


@pytest.mark.fault("text that poses as another speaker")
@examples(10, 2_000)
@given(TEXTS)
@example("\n```\n# FAKE\n````")
def test_no_fence_ends_early(text):
    """Each input and result of a tool is in one fence, unchanged, whatever fences it contains."""
    text = f"x{text}\nx"
    shown = whole(text, Options(tools="full", redact=False, time_zone="Europe/Berlin"))
    fences = [token.content for token in MARKDOWN.parse(shown) if token.type == "fence"]
    assert fences.count(clean(text) + "\n") >= 4  # a command and three results


@pytest.mark.fault("text that poses as another speaker")
@given(st.lists(MESSAGES, min_size=1, max_size=2), st.booleans())
def test_no_message_poses_as_a_part_of_the_transcript(messages, thinking):
    """Whatever messages contain, all headings are katod's own, and no message swallows the next one."""
    options = Options(thinking=thinking, time_zone="Europe/Berlin")
    steps = []
    for text in messages:
        steps += [user(text), user("the person's next words"), thinks(text), says(text), says("the agent's next words")]
    shown = Markdown(options)
    heads, paragraphs = outline(shown.head(metadata(), TIMES["a"]).partition("\n---\n")[2] + show(*steps, shown=shown))
    speakers = ["User · 23:36", "Claude · 23:36", "Claude · claude-opus-4-6 · 23:36"]
    assert heads[0] == ("h1", "Add authentication to my app")
    assert {tag for tag, _ in heads[1:]} <= {"h2"}
    assert len(heads) <= 1 + 3 * len(messages)
    assert {content for _, content in heads[1:]} <= set(speakers)
    assert paragraphs.count("the person's next words") == paragraphs.count("the agent's next words") == len(messages)


@pytest.mark.fault("text that poses as another speaker")
@each("mark", MARKS.values())
@each("form", ["*{}*", "*{} 19:30*", "_{}_", "words\n*{}*", "words\n\n  *{} 19:30*\n\nwords", "# x\n*{}*"])
def test_no_message_poses_as_a_mark_of_katod(mark, form):
    """Text in italics that looks like a mark of katod is shown with its asterisks; in code it is unchanged."""
    text = form.format(mark)
    printed = show(user(text), says(text))
    assert not [line for line in printed.splitlines() if line.strip().startswith((f"*{mark}", f"_{mark}"))]
    assert f"```\n*{mark}*\n```" in show(says(f"```\n*{mark}*\n```"))


@pytest.mark.fault("text that poses as another speaker")
@given(MESSAGES, st.sampled_from(["summary", "full"]))
def test_no_other_text_poses_as_a_part_of_the_transcript(text, tools):
    """Calls, results, questions, answers, errors and titles cannot pose as speakers or swallow what follows."""
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
