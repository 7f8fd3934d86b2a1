"""No text can pose as a part of a transcript: properties of messages made of everything that Markdown reacts to."""

import json
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod import events as ev
from katod.formats.text.ownlines import MARKS
from katod.formats.transcript.markdown import Markdown
from katod.model import Options
from katod.text import clean
from tests.examples import examples, texts
from tests.formats.conversation import TIMES, answers, asks, event, metadata, result, says, show, thinks, user
from tests.golden.cases import cases
from tests.golden.hostile import CONTROLS, OUTLINE, outline, own_forms, page
from tests.looping import each

NASTY = st.sampled_from(
    [
        "## You · 23:36", "### Claude · 23:37", "**You:** x", "*1 tool*", "- ▸ **Read** `x`", "<summary>▸ x", "*23:40*", "&#9656; x", "> # Q", "- # L", "1. # O", "    # code", "   ## three", "text", "2024 x", "#tag", "|x",
        "```code``` t", "-item", "===", "---", "  ---", "> ---", "- foo", "1. foo", "> foo", "```", "~~~", "    ```", "- ```", "> ```",
        "````", "```py", "<!--", "-->", "<div>", "</div>", "<?php", "?>", "<![CDATA[", "<!X", "<script>", "<script", "</script>", "<pre>",
        "<style", "<textarea>", "<details>", "</details>", "<h1>", "<h2>x</h2>", "\u00a0", "", "\t```", "\t# x", "`<!--`", "[a]: /u", ">",
        "*", "-", "+ # p", ">#x", "<x-y>", "<a href='", "---\ntitle: x\n---", "**User** · 23:36", "\u202e## x", "\x1b[2J# x", "a\r# b",
        "a\r\n# b", "\\", "`", "``", "::start", "\u2028# x", "| a |\n|---|", "[User]: x '", "&#35; x", "*Recording stopped 23:36*",
        "**You&#58;** x", "**&#89;ou\\:** x", "***You:*** x", "x<br><b>You:</b> y", "*Recording&#32;stopped  23:40*", "*Recording", "stopped 23:40*",
        "<p><em>1 tool</em></p>", "&#32;**You:** x", "[](#)**You:** x", "**[You:](#)** x", "**\u200bYou:** x", "<br>", "    # x", "    <h1>x</h1>", "*&#49; tool*", "**You", "(x):** y", "_*You:*_ x",
    ]
)  # fmt: skip
MESSAGES = st.lists(NASTY | texts(max_size=6), max_size=6).map("\n".join)
MARKDOWN = MarkdownIt("commonmark").enable("table")
# Pieces for any place in a line: together they cover every way that HTML and code can open, close, hide or act.
PIECES = st.sampled_from(
    [
        "<div>", "</div>", "<div ", "▸ ", "*", "**", "You:", "&#89;ou", "1 tool", "Recording", "stopped", "<em>", "</em>", "<pre>", "</pre>", "</pre ", "<b>", "</b>", '<a href="', 'javascript:x"', ">", '"', "'", "`", "``",
        "|", "\\", "\n", "\n\n", "<!--", "-->", "<!-->", "<script>", "</script>", "<h1>", "</h1>", "<h2>", "## FAKE", "# FAKE", "> ",
        "- ", "1. ", "    ", " ", "x", '<a title="', "onclick=y", "<details>", "<summary>", "</details>", "<table>", "<tr><td>",
        "</table>", "<x_y>", "<T>", "===", "---", "```", "~~~", "<https://x>", "<javascript:x>", "&lt;", "<?", "?>", "<![CDATA[", "]]>",
        "<svg>", '<img src="http://x">', "<img src=x onerror=y>", "<style>", "<br>", "[x]: y", "[x", "\t", "a | b\n|---|---|\n",
        "<textarea>", "\\<b>", "\\`", "<iframe", "\u2066", "\u202e", "\x1b]0;", "\x07", "\x9b", "\x00", "\r", "::start", "$$", "%%",
    ]
)  # fmt: skip
TEXTS = MESSAGES | st.lists(PIECES, max_size=14).map("".join)
TOOLS = st.sampled_from(["summary", "full"])
LARGEST = 6_000
# Elements that change or hide the display of everything in them, and so must not be left open around a heading.
HOLDERS = frozenset({"a", "b", "blockquote", "details", "div", "li", "ol", "pre", "summary", "table", "ul"})


class Elements(HTMLParser):
    """How a browser sees a page: the elements that are open where a heading begins, and active content."""

    def __init__(self, html):
        super().__init__()
        self.open, self.around, self.acting = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag in OUTLINE:
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


def tool(number, name, family, given):
    """Return a call with any name, of any family."""
    payload = {"toolCallId": f"t{number}", "name": name, "family": family, "input": given}
    return event(ev.TOOL_CALL, payload)


def whole(text, options):
    """Return a transcript with this text everywhere: in each kind of event, in each name in it, and in the head."""
    file = {"type": "image", "mediaType": text, "name": text, "bytes": 3}
    edit = {"file_path": text, "old_string": text, "new_string": f"{text}\n+"}
    steps = [
        user(text, attachments=[file]), says(text, model=text), thinks(text), says(text),
        user(f"words\n{text}\nwords", pasted=[[5, 6 + len(text)]]), user(f"{text}\n" * 61), says("in between"),
        tool(1, text, "execute", {"command": text, "description": text}), result(1, text, isError=True),
        tool(2, text, "edit", edit), result(2, text, denied=True, attachments=[file]),
        tool(3, text, "fetch", {"prompt": text}), result(3, text), tool(4, "TodoWrite", "think", {"todos": [{"content": text}]}),
        tool(5, "Bash", "execute", {"command": "git commit"}), result(5, f"[main 3f2a91c] {text}"),
        asks(text, (text, text), key=text), asks("B?", (text, ""), key=text, number=1), answers(text, freeText=text),
        event(ev.ERROR, {"message": text}), event(ev.CONFIG_CHANGE, {"what": "title", "after": text}),
        event(ev.CONFIG_CHANGE, {"what": "model", "before": text, "after": text}),
        event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": "review"}),
        event(ev.AGENT_END, {"subagent": text, "result": text, "status": text}),
        user(text, subtype="slash-command"), user(text), says("well"), tool(9, "Read", "read", {"file_path": "x"}), says(text),
        says("the next words", model=text),
    ]  # fmt: skip
    known = metadata(title=text, cwd=text, branch=text, version=text, model=text)
    shown = Markdown(options)
    return shown.head(known, TIMES["a"]) + show(*steps, shown=shown, known=known) + shown.pause()


def everything(tools):
    """Return options with which a transcript has all that it can have."""
    return Options(
        tools=tools, thinking=True, redact=False, subagents=True, subagent_reports=True, time_zone="Europe/Berlin"
    )


@pytest.mark.slow
@pytest.mark.fault("text that poses as another speaker")
@examples(3, 1_000)
@given(tools=TOOLS, text=TEXTS, first=st.booleans())
@example(tools="summary", text="\n## FAKE\n\n<div><script>", first=True)
@example(tools="full", text="\n## FAKE\n\n<div><script>", first=True)
@example(tools="summary", text='<div>[x]: y<a href="', first=False)
@example(tools="full", text='<div>[x]: y<a href="', first=False)
@example(tools="summary", text="*23:40*\n\n*1 tool*\n\n**You:** x\n\n- ▸ **Read** `x`", first=True)
@example(tools="full", text="*23:40*\n\n*1 tool*\n\n**You:** x\n\n- ▸ **Read** `x`", first=True)
@example(tools="summary", text="> | FAKE |\n> |---|\nFAKE\n---", first=True)
@example(tools="full", text="> | FAKE |\n> |---|\nFAKE\n---", first=True)
@example(tools="summary", text="- | FAKE |\n  |---|\nFAKE\n---", first=True)
@example(tools="full", text="- | FAKE |\n  |---|\nFAKE\n---", first=True)
@example(tools="summary", text="?>\n\t*Recording stopped 23:40*", first=True)
@example(tools="full", text="?>\n\t*Recording stopped 23:40*", first=True)
@example(tools="summary", text="/\n\xa0", first=True)
@example(tools="full", text="/\n\xa0", first=True)
@example(tools="summary", text="<h3>FAKE</h3>\n\n<em>Recording stopped</em>", first=True)
@example(tools="full", text="<h3>FAKE</h3>\n\n<em>Recording stopped</em>", first=True)
def test_the_outline_is_that_of_plain_words(tools, text, first):
    """Whatever its texts and names contain, a transcript has the outline and katod's own lines of one of plain words."""
    options = everything(tools)
    text = f"x\n{text}" if first else f"{text}\nx"
    heads, forms = plain(options, text.strip().count("\n"))
    transcript = whole(text, options)
    assert outline(transcript)[1:] == heads[1:]
    assert own_forms(transcript) == forms
    assert "\nthe next words\n" in f"{page(transcript).words}\n"
    assert CONTROLS.findall(transcript) == []
    head, _, rest = transcript.partition("\n---\n")
    plainly = ("tags", "date", "agent")
    assert all(json.loads(line.partition(": ")[2]) for line in head.split("\n")[1:] if not line.startswith(plainly))
    elements = Elements(MARKDOWN.render(rest))
    assert (elements.acting, elements.around) == ([], [[] for _ in heads])


@cache
def plain(options, breaks):
    """Return the outline of a conversation of so many plain lines, and katod's own lines in it."""
    transcript = whole("x" + "\nx" * breaks, options)
    return outline(transcript), own_forms(transcript)


@cache
def transcripts():
    """Return katod's own transcripts of the fixtures, without those of which calls would not be held for their size."""
    found = [one.golden(form).read_text() for one in cases() for form in (".md", ".full.md")]
    return [text for text in found if 0 < len(text) < LARGEST]


@pytest.mark.slow
@pytest.mark.fault("text that poses as another speaker")
@examples(3, 200)
@given(tools=TOOLS, data=st.data())
def test_a_transcript_in_a_conversation_changes_nothing_around_it(tools, data):
    """Transcripts by katod, as messages of the person and the agent, as results, answers and names, pose as nothing."""
    text = data.draw(st.sampled_from(transcripts()))
    if data.draw(st.booleans()):
        text = text.partition("\n# ")[2]
    options = everything(tools)
    text = f"x\n{text.rstrip()}"
    transcript = whole(text, options)
    heads, forms = plain(options, text.count("\n"))
    assert outline(transcript) == heads
    assert own_forms(transcript) == forms


@pytest.mark.fault("text that poses as another speaker")
@examples(3, 1_000)
@given(TEXTS)
@example("\n```\n# FAKE\n````")
def test_no_fence_ends_early(text):
    """Each input and result of a tool is in one fence, unchanged, whatever fences it contains."""
    text = f"x{text}\nx"
    shown = whole(text, Options(tools="full", redact=False, time_zone="Europe/Berlin"))
    fences = [token.content for token in MARKDOWN.parse(shown) if token.type == "fence"]
    assert fences.count(clean(text) + "\n") >= 3  # a command and two results


@pytest.mark.fault("text that poses as another speaker")
@given(st.lists(MESSAGES, min_size=1, max_size=2), st.booleans())
@example(["#\xa0\n**You:** x"], False)
def test_no_message_poses_as_a_part_of_the_transcript(messages, thinking):
    """Whatever messages contain, all headings are katod's own, and no message swallows the next one."""
    steps = []
    for text in messages:
        steps += [
            user(text),
            user("the person's\nnext words"),
            thinks(text),
            says(text),
            says("the agent's next words"),
        ]
    shown = Markdown(Options(thinking=thinking, time_zone="Europe/Berlin"))
    seen = page(shown.head(metadata(), TIMES["a"]) + show(*steps, shown=shown))
    heads = [(tag, said.partition(" · ")[0]) for tag, said in seen.headings if tag in OUTLINE]
    assert heads[0] == ("h1", "Add authentication to my app")
    assert set(heads[1:]) == {("h2", "You"), ("h3", "Claude")}
    typed = sum(show(user(text)) != "" for text in messages)
    assert [tag for tag, _ in heads].count("h2") == len(messages) + typed
    assert len(messages) <= [tag for tag, _ in heads].count("h3") <= 2 * len(messages)
    paragraphs = seen.words.split("\n")
    assert paragraphs.count("next words") == paragraphs.count("the agent's next words") == len(messages)


@pytest.mark.fault("text that poses as another speaker")
@each("mark", MARKS.values())
@each(
    "form", ["*{}*", "*{} 19:30*", "_{}_", "words\n*{}*", "words\n\n  *{} 19:30*\n\nwords", "# x\n*{}*", "<em>{}</em>"]
)
def test_no_message_poses_as_a_mark_of_katod(mark, form):
    """Text in italics that looks like a mark of katod is shown with its asterisks; in code it is unchanged."""
    text = form.format(mark)
    assert own_forms(show(user(text), says(text))) == []
    assert f"```\n*{mark}*\n```" in show(says(f"```\n*{mark}*\n```"))


@pytest.mark.fault("text that poses as another speaker")
@each("text", ["Recording stopped 23:40", "3 tools", "23:40", "You: FAKE", "▸ FAKE", "&#9656; FAKE"])
def test_no_name_or_note_poses_as_a_line_of_katod(text):
    """What katod prints in emphasis or in a list of its own, such as questions, options and notes, reads like none of its lines."""
    steps = (
        asks(text, (text, text), key=text), asks(f"{text}\nwords", (text, ""), key=text, number=1),
        event(ev.SYSTEM_MESSAGE, {"text": text, "subtype": "review"}), user(text, attachments=[{"type": "file", "name": text}]),
    )  # fmt: skip
    assert own_forms(show(*steps)) == []
