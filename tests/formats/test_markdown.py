"""Markdown transcripts: how a conversation is rendered, byte for byte."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod import events as ev
from katod.formats.markdown import Markdown, asset_name
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from tests.formats.conversation import (
    MINUS,
    OPTIONS,
    TIMES,
    answers,
    asks,
    call,
    event,
    full,
    metadata,
    result,
    says,
    show,
    thinks,
    user,
)
from tests.looping import each

SECRET = "gh" + "p_" + "a1B2c3D4e5" * 4


# -- the layout --------------------------------------------------------------------------------------

LOOK = f"""---
title: "Add authentication to my app"
agent: "Claude Code 2.1.39"
session: "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
project: "/home/me/app"
branch: "main"
started: "2026-02-10T23:36:18+01:00"
recorder: "katod 1.0.0"
tags: [katod, claude-code]
---

# Add authentication to my app

*Recording started 23:36*

## User · 23:36

I want to add authentication to my app. Can you help?

## Claude · claude-opus-4-6 · 23:36

I'd be happy to help with authentication! Let me check your project structure first.

- `Read` package.json
- `Grep` "auth|login|session" in src
- `Bash` npm test
  - failed: exit code 1

I can see you're using Express but don't have any auth yet.

**Which store should hold the sessions?**

- PostgreSQL: the one you run already
- SQLite: no server, one file

**Answer:** SQLite

- `Edit` src/auth.ts (+2 {MINUS}1)

*Context compacted: 180,000 → 12,000 tokens*

## User · 23:52

Thanks.

*Recording stopped 23:52*

*Recording started 2026-02-11 09:02*

## User · 2026-02-11 09:02

One more thing: …
"""


def test_transcript_looks_as_designed():
    """With the default settings a conversation is rendered exactly as designed, byte for byte."""
    shown = Markdown(OPTIONS)
    steps = [
        Mark("started", TIMES["a"]),
        user("I want to add authentication to my app. Can you help?"),
        says("I'd be happy to help with authentication! Let me check your project structure first."),
        call(1, "Read", "package.json"), result(1, "{}"),
        call(2, "Grep", '"auth|login|session" in src'), result(2),
        call(3, "Bash", "npm test"), result(3, "FAIL", isError=True, exitCode=1),
        says("I can see you're using Express but don't have any auth yet."),
        call(4, "AskUserQuestion", ""),
        asks("Which store should hold the sessions?", ("PostgreSQL", "the one you run already"), ("SQLite", "no server, one file")),
        answers("SQLite"), result(4),
        call(5, "Edit", "src/auth.ts", "edit", old_string="a", new_string="b\nc"), result(5),
        event(ev.COMPACTION, {"tokensBefore": 180_000, "tokensAfter": 12_000}),
        user("Thanks.", "b"),
        Mark("stopped", TIMES["b"]), Mark("started", TIMES["c"]),
        user("One more thing: …", "c"),
    ]  # fmt: skip
    assert shown.head(metadata(), TIMES["a"]) + show(*steps, shown=shown) == LOOK


def test_head_names_what_is_known_and_nothing_else():
    """Front matter contains what is known when the output is created; a missing title is generated."""
    bare = Markdown(Options()).head(
        SessionMetadata(SessionKey("codex", "s", "a1"), {"model": "gpt", "parent": "p"}), ""
    )
    assert bare == (
        '---\ntitle: "Conversation with Codex"\nagent: "Codex"\nmodel: "gpt"\nsession: "s"\nsubagent: "a1"\nparent: "p"\n'
        "tags: [katod, codex]\n---\n\n# Conversation with Codex\n"
    )


@each("title", ['a "b"', "a\\b", "a: b # c", "---", "{x}", "a\nb: c", "- a", "漢字 🙂", "*a* <b>"])
def test_front_matter_is_a_string_whatever_the_title_is(title):
    """A title cannot end the front matter or add a key, and appears in the heading as text."""
    head = Markdown(OPTIONS).head(metadata(title=title), TIMES["a"])
    [line] = [line for line in head.split("\n") if line.startswith("title: ")]
    assert json.loads(line.removeprefix("title: ")) == " ".join(title.split())
    assert head.count("\n---\n") == 1
    assert [t.content for t in MarkdownIt().parse(head.partition("\n---\n")[2]) if t.type == "inline"] != []


def test_heading_stands_only_where_the_speaker_the_model_or_the_day_changes():
    """Consecutive messages of one speaker share one heading."""
    text = show(user("1"), user("2"), says("3"), says("4"), says("5", "haiku"), user("6"), user("7", "c"))
    assert re.findall(r"^##.*|^\d$", text, re.MULTILINE) == [
        "## User · 2026-02-10 23:36", "1", "2", "## Claude · claude-opus-4-6 · 23:36", "3", "4",
        "## Claude · haiku · 23:36", "5", "## User · 23:36", "6", "## User · 2026-02-11 09:02", "7",
    ]  # fmt: skip


def test_event_without_a_time_or_a_model_invents_none():
    """What is not known is not shown."""
    assert show(user("hi", ""), says("ho", "", "")) == "\n## User\n\nhi\n\n## Claude\n\nho\n"


# -- calls, thinking, decisions ----------------------------------------------------------------------


def test_late_failure_names_its_call():
    """A failed result after other text is a line of its own with the name of its call."""
    text = show(
        call(1, "Bash", "make"), call(2, "Read", "a"), result(1, "boom", isError=True), result(2, "gone", isError=True)
    )
    assert text.endswith("- `Bash` make\n- `Read` a\n- `Bash` make: failed: boom\n- `Read` a: failed: gone\n")


def test_failure_of_a_call_before_the_range_names_the_tool():
    """If the call itself was not recorded, its failed result names the tool."""
    known = metadata()
    known.observe(call(1, "Bash", "make"))
    assert show(result(1, "boom", isError=True), known=known).endswith("\n- `Bash`: failed: boom\n")


def test_full_calls_are_two_blocks():
    """A call and its result are collapsible blocks with the same name, each at its own place."""
    text = show(
        call(1, "Bash", "npm test", "execute", command="npm test"),
        result(1, "FAIL", exitCode=1, durationMs=1200),
        options=full(),
    )
    assert text.partition("\n\n")[2] == (
        "<details>\n<summary><code>Bash</code> npm test</summary>\n\n```bash\nnpm test\n```\n\n</details>\n\n"
        "<details>\n<summary>result: <code>Bash</code> npm test · exit 1 · 1.2 s</summary>\n\n```text\nFAIL\n```\n\n</details>\n"
    )


def test_full_result_of_a_call_before_the_range_is_no_markup():
    """The name of a tool whose call was not recorded is also escaped."""
    known = metadata()
    known.observe(call(1, "<b>x", ""))
    assert "<summary>result: <code>&lt;b&gt;x</code></summary>" in show(result(1), known=known, options=full())


def test_tools_can_be_left_out():
    """With `tools = none` neither calls nor failures are rendered."""
    assert show(call(1, "Bash", "make"), result(1, "", isError=True), options=Options(tools="none")) == ""


def test_thinking_prints_only_where_it_is_wanted():
    """Thinking is off by default; if enabled, it is a quotation in a collapsible block."""
    assert show(thinks("Hm.\n\n# So")) == ""
    shown = show(thinks("Hm.\n\n# So"), options=Options(thinking=True))
    assert "<summary>Thinking</summary>\n\n> Hm.\n>\n> ### So\n\n</details>\n" in shown


def test_switches_hold_for_their_range():
    """The options of a command apply from its mark to the next one."""
    on, off = Mark("started", switches=(("thinking", True), ("tools", True))), Mark("started")
    text = show(on, thinks("one"), call(1, "Read", "a"), off, thinks("two"), call(2, "Read", "b"))
    assert ("> one" in text, "> two" in text) == (True, False)
    assert ("<code>Read</code> a" in text, "- `Read` b" in text) == (True, True)


def test_several_questions_are_told_apart():
    """If more than one question is open, an answer names its question."""
    text = show(
        asks("A?", key="Store"),
        asks("B?", key="Port", number=1),
        answers("80", number=1),
        answers(number=0, freeText="my own"),
    )
    assert text.endswith("\n**Answer (Port):** 80\n\n**Answer (Store):** my own\n")


def test_long_question_prints_as_text_below_its_key():
    """A question of several lines, such as a plan, is rendered as text."""
    assert "\n**Plan**\n\nIs this good?\n\n### Steps\n\n- Yes\n" in show(
        asks("Is this good?\n\n# Steps", ("Yes", ""), key="Plan")
    )


@each(
    ("kind", "payload", "line"),
    [
        (ev.TURN_END, {"reason": "aborted"}, "*Interrupted*"),
        (ev.TURN_END, {"reason": "done"}, ""),
        (ev.ERROR, {"message": "overloaded *now*"}, r"*Error: overloaded \*now\**"),
        (ev.ERROR, {"message": "overloaded", "retry": {"attempt": 1}}, ""),
        (ev.COMPACTION, {}, "*Context compacted*"),
        (ev.CONFIG_CHANGE, {"what": "model", "before": "a", "after": "b"}, "*Model: a → b*"),
        (ev.CONFIG_CHANGE, {"what": "title", "before": "a", "after": "b"}, "*Title: b*"),
        (ev.CONFIG_CHANGE, {"what": "permissionMode", "before": "a", "after": "b"}, ""),
        (ev.SYSTEM_MESSAGE, {"text": "No.", "subtype": "api_refusal"}, "*No.*"),
        (ev.SYSTEM_MESSAGE, {"text": "hook ran"}, ""),
        (ev.PROVIDER_RAW, {"rawType": "x", "raw": {}}, ""),
        (ev.PROVIDER_INFO, {"text": "x"}, ""),
        (ev.USAGE, {"scope": "message", "input": 1, "output": 1}, ""),
        (ev.USER_COMMAND, {"command": "start", "options": [], "line": "::start"}, ""),
        (ev.SESSION_START, {"cwd": "/x"}, ""),
        (ev.TURN_START, {}, ""),
    ],
)
def test_marks_are_one_italic_line_and_bookkeeping_is_nothing(kind, payload, line):
    """Marks are one line each; bookkeeping events are not rendered."""
    assert show(event(kind, payload)).strip() == line


def test_what_a_sub_agent_says_is_not_part_of_its_parents_transcript():
    """Events of a sub-agent render nothing, whatever their kind."""
    assert (
        show(
            event(ev.ASSISTANT_MESSAGE, {"text": "x"}, subagent="a1"),
            event(ev.TURN_END, {"reason": "aborted"}, subagent="a1"),
        )
        == ""
    )


def test_slash_command_prints_as_code():
    """A slash command that the user typed for the client is rendered as code."""
    assert show(user("/model `x`", subtype="slash-command")).endswith("\n\n`` /model `x` ``\n")


def test_attachments_are_named_or_linked():
    """A picture is named by default, and linked if it is saved."""
    image = {"type": "image", "mediaType": "image/svg+xml", "bytes": 2048, "sha256": "ab" * 32}
    assert show(user("look", attachments=[image])).endswith("look\n\n*image: image/svg+xml, 2.0 KB*\n")
    saved = show(user("", attachments=[image]), options=Options(attachments="save", assets="auth.assets"))
    assert saved.endswith(f"\n\n![image: image/svg+xml, 2.0 KB](<auth.assets/{asset_name(image)}>)\n")
    assert asset_name(image) == "abababababababab.svg"


def test_secrets_are_replaced_wherever_they_stand():
    """No part of a transcript contains a secret, unless redaction is off."""
    steps = [
        user(SECRET), says(SECRET), thinks(SECRET), call(1, "Bash", SECRET, "execute", command=SECRET), result(1, SECRET, isError=True),
        asks(SECRET, (SECRET, SECRET)), answers(SECRET, freeText=SECRET), event(ev.ERROR, {"message": SECRET}),
        event(ev.CONFIG_CHANGE, {"what": "title", "after": SECRET}), event(ev.SYSTEM_MESSAGE, {"text": SECRET, "subtype": "rollback"}),
    ]  # fmt: skip
    for tools in ("summary", "full"):
        known = metadata(title=SECRET)
        head = Markdown(Options(tools=tools)).head(known, "")
        assert SECRET not in head + show(*steps, options=Options(tools=tools, thinking=True), known=known)
    assert SECRET in show(user(SECRET), options=Options(redact=False))


# -- properties --------------------------------------------------------------------------------------

STEPS = st.sampled_from(
    [
        user("one"), user("two", "b"), user("three", "c"), says("four"), says("five", "haiku"), thinks("six"),
        call(1, "Bash", "make"), result(1, "boom", isError=True), call(2, "Read", "a"), result(2), asks("A?", ("x", "")),
        asks("B?", number=1, key="Port"), answers("x"), answers("80", number=1), event(ev.TURN_END, {"reason": "aborted"}),
        Mark("started", TIMES["a"], (("thinking", True), ("tools", True))), Mark("started", TIMES["b"], (("tools", False),)),
        Mark("stopped", TIMES["c"]), Mark("edited"),
    ]
)  # fmt: skip


@given(st.lists(STEPS, max_size=14), st.data())
def test_transcript_goes_on_from_its_state(steps, draw):
    """A transcript stored as JSON and reopened between any two steps continues with the same bytes."""
    cut = draw.draw(st.integers(0, len(steps)))
    first, known = Markdown(OPTIONS), metadata()
    before = show(*steps[:cut], shown=first, known=known)
    second = Markdown(OPTIONS, json.loads(json.dumps(first.state())))
    assert before + show(*steps[cut:], shown=second, known=known) == show(*steps)
