"""Markdown transcripts: how content is printed, byte for byte."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod import events as ev
from katod.formats.transcript.content import (
    AskedQuestion,
    Attachment,
    ChosenAnswer,
    Code,
    Fold,
    Footer,
    Inline,
    Link,
    Note,
    PassedTime,
    Person,
    Prose,
    Quoted,
    Thinking,
    ToolLine,
    TypedWords,
)  # fmt: skip
from katod.formats.transcript.markdown import Markdown, print_piece
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from tests.formats.conversation import (
    MINUS,
    OPTIONS,
    TIMES,
    answers,
    asks,
    call,
    ends,
    event,
    full,
    metadata,
    result,
    says,
    show,
    todo,
    user,
)
from tests.formats.transcript.test_base import STEPS
from tests.looping import each

TYPED_END = "  "

LOOK = f"""---
title: "Add authentication to my app"
date: 2026-02-10
agent: claude-code
project: "app"
branch: "main"
session: "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
tags: [katod, claude-code]
---

# Add authentication to my app

Claude Code 2.1.39 · app · main · 2026-02-10 23:36 (Europe/Berlin)

*Recording started 23:36*

## You · 23:36 · I want to add authentication to my app. Can you help?

I want to add authentication to my app. Can you help?{TYPED_END}
Sessions should survive a restart.

### Claude · opus-4-6 · 23:36

I'd be happy to. Let me look at what is there first.

- ▸ **Read** `package.json`
- ▸ **Grep** `auth|login|session` in `src`
- ▸ **Bash** `npm test` · *Run the test suite*
  - failed, exit 1: `1 failing: cart adds items`
- ▸ **TodoWrite** 2 items: Create users table · Add session cookie

There is no auth yet. For sign-in I'd use **signed cookies**:

**Which store should hold the sessions?**

- PostgreSQL: the one you run already
- SQLite: no server, one file

**You:** SQLite

- ▸ **Edit** `src/auth.ts` (+2 {MINUS}1)
- ▸ **TodoWrite** ☑ Create users table ☑ Add session cookie
- ▸ **Bash** `git commit -m "Add sign-in"`
  - committed `3f2a91c` Add sign-in

*Context compacted: 180,000 → 12,000 tokens*

*23:52*

Done: sign-in works at `/auth/login`.

*7 tools · 1 file (+2 {MINUS}1) · 1 commit · 15 min*

## You · 23:52 · Thanks.

*Recording stopped 23:52*

*Recording started 2026-02-11 09:02*

## You · 2026-02-11 09:02 · One more thing: …
"""


def test_transcript_looks_as_designed():
    """With the default settings a conversation is rendered exactly as designed, byte for byte."""
    shown = Markdown(OPTIONS)
    steps = [
        Mark("started", TIMES["a"]),
        user("I want to add authentication to my app. Can you help?\nSessions should survive a restart."),
        says("I'd be happy to. Let me look at what is there first."),
        call(1, "Read", file_path="/home/me/app/package.json"), result(1, "{}"),
        call(2, "Grep", pattern="auth|login|session", path="/home/me/app/src"), result(2),
        call(3, "Bash", command="npm test", description="Run the test suite"),
        result(3, "Exit code 1\nFAIL\n1 failing: cart adds items\n", isError=True, exitCode=1),
        todo(4, **{"Create users table": False, "Add session cookie": False}), result(4, "ok"),
        says("There is no auth yet. For sign-in I'd use **signed cookies**:"),
        call(5, "AskUserQuestion"),
        asks("Which store should hold the sessions?", ("PostgreSQL", "the one you run already"), ("SQLite", "no server, one file")),
        answers("SQLite"), result(5),
        call(6, "Edit", file_path="/home/me/app/src/auth.ts", old_string="a", new_string="b\nc"), result(6),
        todo(7, **{"Create users table": True, "Add session cookie": True}), result(7, "ok"),
        call(8, "Bash", command='git commit -m "Add sign-in"'), result(8, "[main 3f2a91c] Add sign-in\n 1 file changed"),
        event(ev.COMPACTION, {"tokensBefore": 180_000, "tokensAfter": 12_000}),
        says("Done: sign-in works at `/auth/login`.", at="b"),
        user("Thanks.", "b"),
        Mark("stopped", TIMES["b"]), Mark("started", TIMES["c"]),
        user("One more thing: …", "c"),
    ]  # fmt: skip
    assert shown.head(metadata(), TIMES["a"]) + show(*steps, shown=shown) == LOOK


def test_full_call_looks_as_designed():
    """With `+tools` a call and its result are one block."""
    steps = (call(1, "Bash", command="npm test"), result(1, "FAIL", exitCode=1, durationMs=1200))
    assert show(*steps, options=full()).partition("\n\n")[2] == (
        "<details>\n<summary>▸ <b>Bash</b> <code>npm test</code> → exit 1 · 1 line · 1.2 s</summary>\n\n"
        "```bash\nnpm test\n```\n\n```text\nFAIL\n```\n\n</details>\n"
    )


def test_head_names_what_is_known_and_nothing_else():
    """Front matter contains what is known when the output is created; a missing title is generated."""
    known = SessionMetadata(SessionKey("codex", "s", "a1"), {"model": "gpt", "parent": "p"})
    assert Markdown(Options()).head(known, "") == (
        '---\ntitle: "Conversation with Codex"\nagent: codex\nmodel: "gpt"\nsession: "s"\nsubagent: "a1"\nparent: "p"\n'
        "tags: [katod, codex]\n---\n\n# Conversation with Codex\n\nCodex\n"
    )


@each("title", ['a "b"', "a\\b", "a: b # c", "---", "{x}", "a\nb: c", "- a", "漢字 🙂", "*a* <b>"])
def test_front_matter_is_a_string_whatever_the_title_is(title):
    """A title cannot end the front matter or add a key, and appears in the heading as text."""
    head = Markdown(OPTIONS).head(metadata(title=title), TIMES["a"])
    [line] = [line for line in head.split("\n") if line.startswith("title: ")]
    assert json.loads(line.removeprefix("title: ")) == " ".join(title.split())
    assert head.count("\n---\n") == 1
    assert [t.content for t in MarkdownIt().parse(head.partition("\n---\n")[2]) if t.type == "inline"] != []


@each(
    ("piece", "text"),
    [
        (Person("You", "23:36", "a *b* <c> `d`"), r"## You · 23:36 · a \*b\* &lt;c> \`d\`"),
        (Person("You", "", ""), "## You"),
        (TypedWords("one\ntwo\n\nthree"), "one  \ntwo\n\nthree"),
        (TypedWords("see\n```\nx\ny\n```"), "see\n```\nx\ny\n```"),
        (Prose("one\ntwo\n\n# Plan\n\n### Deep"), "one\ntwo\n\n#### Plan\n\n###### Deep"),
        (ToolLine("a_b", (Inline("code", "x `y`"), Inline("text", "*in*"))), r"- ▸ **a_b** ``x `y` `` \*in\*".replace("``x", "`` x")),
        (ToolLine("Bash", (), (Inline("text", "failed"),)), "- ▸ **Bash** \N{EN DASH} failed"),
        (Quoted("Pasted: 2 lines", "```\n</details>"), "<details>\n<summary>▸ Pasted: 2 lines</summary>\n\n````text\n```\n</details>\n````\n\n</details>"),
        (Thinking("Hm.\n\n# So"), "<details>\n<summary>▸ Thinking</summary>\n\n> Hm.\n>\n> #### So\n\n</details>"),
        (Fold("<b>", (Inline("note", "a & b"),), ("exit 1",), ()), "<details>\n<summary>▸ <b>&lt;b&gt;</b> <i>a &amp; b</i> → exit 1</summary>\n\n(no text)\n\n</details>"),
        (AskedQuestion("Store", "A *b*?", (("x", ""), ("y", "why"))), "**A \\*b\\*?**\n\n- x\n- y: why"),
        (AskedQuestion("Plan", "# Steps\n1. a", ()), "**Plan**\n\n#### Steps\n1. a"),
        (ChosenAnswer("", "yes *now*"), r"**You:** yes \*now\*"),
        (ChosenAnswer("Store", "yes"), "**You (Store):** yes"),
        (Note("Recording stopped"), r"\*Recording stopped*"),
        (AskedQuestion("Store", "You: yes", ()), r"\*\*You: yes**"),
        (Note("Error: *x*\n# y"), r"*Error: \*x\* # y*"),
        (PassedTime("23:41"), "*23:41*"),
        (Footer("1 tool"), "*1 tool*"),
        (Attachment("image: a_b.png", "image/png", "", ""), "*image: a_b.png*"),
        (Attachment("image: x", "image/png", "ab", "n.assets/ab.png"), "![image: x](<n.assets/ab.png>)"),
        (Attachment("file: x", "application/pdf", "ab", "n.assets/ab.pdf"), "[file: x](<n.assets/ab.pdf>)"),
        (Code("a\n```\n", "text"), "````text\na\n```\n````"),
        (Link("sub-agent", "transcript", "n/agent-a.md"), "  - sub-agent: [transcript](<n/agent-a.md>)"),
    ],
)  # fmt: skip
def test_piece_is_printed(piece, text):
    """What was typed and named is text, the agent's words are Markdown, and code is its exact characters."""
    assert print_piece(piece) == text


def test_lines_of_tools_are_one_list():
    """Tool lines follow each other without blank lines, whatever events they come from; other pieces do not."""
    shown = show(
        call(1, "Read", file_path="a"), result(1, "x", isError=True), call(2, "Read", file_path="b"), says("so", "")
    )
    assert shown.partition("\n\n")[2] == "- ▸ **Read** `a`\n  - failed: `x`\n- ▸ **Read** `b`\n\nso\n"


def test_pause_prints_what_is_held_back():
    """At the end of an export, calls without results and the footer are printed, once."""
    shown = Markdown(full())
    assert "<b>Read</b>" not in show(call(1, "Read", file_path="a"), shown=shown)
    paused = shown.pause()
    assert paused.startswith("\n<details>\n<summary>▸ <b>Read</b>")
    assert paused.endswith("\n\n*1 tool*\n")
    assert shown.pause() == ""


LONG = "Where is the cart kept, and why does it forget its items when the page is reloaded?"


@pytest.mark.parametrize(
    ("title", "words", "heading"),
    [
        (LONG, LONG, "## You · 23:36"),
        ("Fix it", "Fix it\n\nIt fails.", "## You · 23:36"),
        ("Where is it?", "Where is it?", "## You · 23:36 · Where is it?"),
        ("auth", LONG, "## You · 23:36 · Where is the cart kept, and why does it forget its items…"),
        ("Fix it", "Fix it all\n\nIt fails.", "## You · 23:36 · Fix it all"),
    ],
)
def test_the_first_heading_does_not_repeat_the_title(title, words, heading):
    """In an export, if the title is what the first message begins with, that is said once more: by the message itself."""
    known = metadata(title=title)
    shown = Markdown(replace(OPTIONS, exported=True))
    head = shown.head(known, TIMES["a"])
    text = head + show(user(words), user(words, "b"), shown=shown, known=known)
    found = [line for line in text.split("\n") if line.startswith("## ")]
    assert found[0] == heading
    assert found[1].endswith(words.partition("\n")[0][:20] if len(words) < 60 else "…")


def test_the_first_heading_of_a_recording_depends_on_no_title():
    """It may be printed before words have named the recording."""
    known = metadata(title=LONG)
    shown = Markdown(OPTIONS)
    text = shown.head(known, TIMES["a"]) + show(user(LONG), shown=shown, known=known)
    assert "## You · 23:36 · Where is the cart kept" in text


def test_a_message_with_an_address_is_below_its_heading_too():
    """There it can be followed, and be copied as it was typed."""
    shown = show(user("see https://example.org/a"))
    assert shown.endswith(" 23:36 · see https\\://example.org/a\n\nsee https://example.org/a\n")


def test_a_head_that_is_written_again_changes_no_heading():
    """After somebody deleted the file, it has a new head; its messages are headed as in an export."""
    known, shown = metadata(title="Fix it"), Markdown(OPTIONS)
    shown.head(known, TIMES["a"])
    show(user("Look\n\nat this"), shown=shown, known=known)
    again = Markdown(OPTIONS, json.loads(json.dumps(shown.state())))
    again.head(known, TIMES["a"])
    assert "· Fix it" in show(user("Fix it\n\nnow"), shown=again, known=known)


def test_typed_lines_stay_lines():
    """Where a person began a new line, a reader sees one; paragraphs, lists and code are unchanged."""
    text = show(user("first\nsecond\n\nnew paragraph\n- a\n- b"), ends(durationMs=1)).partition("\n\n")[2]
    html = MarkdownIt("commonmark").render(text)
    assert "first<br />\nsecond</p>" in html
    assert "<li>a</li>" in html


@given(st.lists(STEPS, max_size=14), st.data())
def test_markdown_goes_on_from_its_state(steps, draw):
    """A transcript stored as JSON and reopened between any two steps continues with the same bytes."""
    cut = draw.draw(st.integers(0, len(steps)))
    first, known = Markdown(OPTIONS), metadata()
    before = show(*steps[:cut], shown=first, known=known)
    second = Markdown(OPTIONS, json.loads(json.dumps(first.state())))
    assert before + show(*steps[cut:], shown=second, known=known) == show(*steps)
