"""Transcripts taken apart into passages."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.text.mdtext import body, typed
from katod.formats.transcript.html import Html
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.search.spoken import is_said
from katod.search.transcripts import TranscriptHead, about, jsonl_event, markdown_passages, page_passages, plain
from tests.documents import ROOT
from tests.examples import examples
from tests.looping import each

GOLDEN = ROOT / "fixtures" / "golden" / "claude"
# Lines of messages that open, hold or close what a search must not take for katod's own lines.
LINES = [
    "words", "", "", "## You · 10:00 · x", "### Claude · 10:00", "```", "```js", "```js``` x", "````", "~~~", "~~~ `x`",
    " ```", "  ```", "   ```", "    ```", "- ```js", "1. ```", "> ```", "- a", "  - b", "1. x", "> x", "<pre>", "</pre>",
    "<!-- ```", "-->", "<div>", "</div>", "<details>", "<details><summary>x</summary>", "<summary>▸ <b>Bash</b>",
    "</details>", "- ▸ **Bash** `x`", "`<details>`", "a | b", "--- | ---", "    x", "=====", "<b>", "</b>", "`` ` ``",
]  # fmt: skip
MESSAGES = st.lists(st.sampled_from(LINES), min_size=1, max_size=8).map("\n".join)


def _passages(name):
    return list(markdown_passages([(GOLDEN / name).read_text()]))


def test_the_head_says_what_a_transcript_is_of():
    """Front matter and the line below the title have session, project, title, date and time zone."""
    assert about((GOLDEN / "plain-turn.md").read_text()) == TranscriptHead(
        "claude-code", "plain-turn", "", "shop", "The cart forgets its items when the page is reloaded. Where is it kept?",
        "2026-03-02", "Europe/Berlin",
    )  # fmt: skip
    assert about("no front matter") == TranscriptHead()


def test_the_zone_is_the_one_beside_the_time():
    """Its name may have digits; what else is in brackets is none."""
    for zone in ("EST5EDT", "Etc/GMT+5", "UTC", "America/Port-au-Prince"):
        text = f'---\ntitle: "x"\n---\n\n# Look (v2)\n\nClaude Code · shop · 2026-06-24 20:20 ({zone})\n'
        assert about(text).zone == zone


def test_each_message_is_a_passage_with_its_speaker_and_time():
    """Headings say who speaks and when, also on another day; words that a heading cuts are taken from below it."""
    assert [(p.speaker, p.time, p.text.split("\n")[0]) for p in _passages("next-day.md")] == [
        ("You", "2026-03-02T23:58:00+01:00", "Still awake?"),
        ("Claude", "2026-03-02T23:58:00+01:00", "Always."),
        ("Claude", "2026-03-03T00:00:00+01:00", "It is tomorrow in Berlin now."),
        ("You", "2026-03-03T01:00:00+01:00", "Then good night."),
        ("Claude", "2026-03-03T01:00:00+01:00", "Good night."),
    ]
    assert _passages("plain-turn.md")[0].text.startswith(
        "The cart forgets its items when the page is reloaded. Where is"
    )


@pytest.mark.parametrize("name", ["tool-kinds-more.md", "tool-kinds-more.full.md"])
def test_a_tool_is_a_passage_of_its_own(name):
    """A line or a block that unfolds is named by its tool; the message behind it is another passage."""
    speakers = [passage.speaker for passage in _passages(name)]
    assert "Claude ▸ Bash" in speakers
    assert "Claude ▸ WebFetch" in speakers
    last = _passages(name)[-1]
    assert (last.speaker, last.text) == ("Claude", "Issue 12 it is.")  # without the footer


def test_headings_inside_of_code_begin_no_passage():
    """What stands in a fence is quoted."""
    text = "## You · 10:00 · Look\n\n````text\n### Claude · 11:00\n```\n## You · 12:00\n````\n\n### Claude · 10:01\n\nYes.\n"
    assert [(p.speaker, p.text[:4]) for p in markdown_passages([text])] == [("You", "Look"), ("Claude", "Yes.")]


@examples(60, 3000)
@given(asked=MESSAGES, said=MESSAGES, told=MESSAGES)
@example(asked="x", said="```js``` is how", told="x")  # no fence: a backtick in its first line
@example(asked="x", said="- ```js\n  code()\n  ```\n- done", told="x")
@example(asked="x", said="<pre>\n```\n</pre>", told="x")
@example(asked="x", said="x", told="<details>\n<!-- ```\n</details>")
@example(asked="x", said="<div>\n## You · 10:00 · x\n</div>", told="x")
@example(asked="x", said="a\n\n<details>\n<summary>x</summary>\n\nb\n\n</details>\n\nc", told="<details>\n</details>")
def test_nothing_in_a_message_ends_it_or_goes_on_behind_it(asked, said, told):
    """Whatever is in messages and reports, each is one passage, and what follows is said by who said it."""
    fold = f"<details>\n<summary>▸ <b>Task</b> · x</summary>\n\n{body(told)}\n\n</details>"
    text = (
        f"## You · 10:01\n\nfirst\n\n{typed(asked)}\n\n### Claude · 10:02\n\nsecond\n\n{body(said)}\n\n"
        f"{fold}\n\nbehind\n\n- ▸ **Bash** `ls`\n\nlast\n\n## You · 10:03 · zebra\n"
    )
    found = [(p.speaker, p.time, p.text.split("\n")[0][:6]) for p in markdown_passages([f"---\ntitle:\n---\n{text}"])]
    assert [(speaker, begin) for speaker, _, begin in found] == [
        ("You", "first"), ("Claude", "second"), ("Task", found[2][2]), ("Claude", "behind"),
        ("Claude ▸ Bash", "- ▸ **"), ("Claude", "last"), ("You", "zebra"),
    ]  # fmt: skip


def test_what_a_message_has_in_a_fold_belongs_to_it():
    """What was pasted, and the rest of a long prompt, stand there as they were typed, also on a page."""
    text = (
        "## You · 10:00 · Look\n\nLook  \nat\n\n<details>\n<summary>▸ Pasted: 2 lines</summary>\n\n````text\n```\n## You\n"
        "````\n\n</details>\n\nand\n\n<details>\n<summary>▸ 1,022 lines more</summary>\n\n```text\nthe rest\n```\n\n"
        "</details>\n\n### Claude · 10:01\n\nYes.\n"
    )
    asked, answer = markdown_passages([text])
    assert asked.text.split() == ["Look", "at", "```", "##", "You", "and", "the", "rest"]
    assert (answer.speaker, answer.text) == ("Claude", "Yes.")
    page = (
        '<!DOCTYPE html>\n<h2 class="speaker person"><a href="#m1">You</a></h2>\n<div class="typed">Look</div>\n'
        "<details>\n<summary>Pasted: 2 lines</summary>\n<pre>at</pre>\n</details>\n<p>and</p>\n"
        "<details>\n<summary><b>Bash</b></summary>\n<pre>ls</pre>\n</details>\n"
    )
    assert [p.text.split() for p in page_passages(page)] == [["Look", "at", "and"], ["Bash", "ls"]]


def test_what_a_person_writes_above_the_first_heading_is_a_note():
    """Without the title and the line about it; a file that has no heading of katod's is one as a whole."""
    head = '---\ntitle: "x"\nagent: claude-code\ndate: 2026-02-10\n---\n\n# x\n\nClaude Code 2.1 · shop\n\n'
    text = f"{head}Mine.\n\n*Recording started 10:01*\n\n## You · 10:01 · Hello\n"
    assert [(p.speaker, p.time[11:16], p.text) for p in markdown_passages([text])] == [
        ("Note", "", "Mine."), ("You", "10:01", "Hello"),
    ]  # fmt: skip
    assert [(p.speaker, p.text) for p in markdown_passages(["# Notes\n\nmine\n"])] == [("Note", "# Notes\n\nmine")]
    assert [p.speaker for p in markdown_passages([text.replace("Mine.\n\n", "")])] == ["You"]


NOTES_HEAD = (
    '---\ntitle: "x"\nagent: claude-code\ndate: 2026-02-10\nsession: "s"\n---\n\n# x\n\nClaude Code 2.1 · shop\n\n'
)
NOTES = "*Error: Rate limit exceeded*\n\n*Left out: 2 messages*\n\n*Interrupted*\n\n*One bug, `a\\*b`.*"


def test_what_katod_notes_above_the_first_heading_is_said_by_nobody():
    """Whatever the agent says there; what a person writes around it is said, its parts apart from katod's."""
    mine = "**Mine, too**\n\n*Call* them *now*"
    text = f"{NOTES_HEAD}Mine,\n\nand *more*.\n\n{NOTES}\n\n{mine}\n\n## You · 10:01 · Hello\n\n*Mine*\n"
    found = list(markdown_passages([text]))
    assert [(p.speaker, p.text) for p in found] == [
        ("Note", "Mine,\n\nand *more*."), ("▸ Note", NOTES), ("Note", mine), ("You", "Hello\n*Mine*"),
    ]  # fmt: skip
    assert [is_said(p.speaker) for p in found] == [True, False, True, True]


@each("head", ["", "# Flat\n\n", "---\ntitle: mine\n---\n\n", "---\ntitle: Reading list\ndate: 2026-03-01\n---\n\n"])
@each("text", ["*Call the landlord*", "*Error: in my tax return*", "*Title: The Pelican Brief*"])
def test_a_file_of_ones_own_is_a_note_as_a_whole(head, text):
    """Whatever is emphasised in it, katod has not written it: its front matter names no agent and no session."""
    (note,) = markdown_passages([f"{head}{text}\n"])
    assert (note.speaker, is_said(note.speaker)) == ("Note", True)


@each("path", sorted(GOLDEN.parent.glob("*/*.md")))
def test_what_katod_prints_above_the_first_heading_is_no_note(path):
    """Nobody wrote into these files."""
    assert "Note" not in {passage.speaker for passage in markdown_passages([path.read_text()])}


@pytest.mark.parametrize("sign", ["Open Settings ▸ **Billing**.", "▸ **Billing**", "▸ <b>Billing</b>", "- a ▸ **b**"])
def test_an_answer_with_a_sign_is_no_tool(sign):
    """After a fold or a line of a tool; only at the beginnings that katod prints is it one's."""
    fold = "<details>\n<summary>▸ <b>Bash</b> <code>ls</code></summary>\n\n```text\n**x**\n```\n\n</details>"
    for tool in (fold, "- ▸ **Bash** `ls`\n- ▸ **Bash** `ls`"):
        speakers = [p.speaker for p in markdown_passages([f"### Claude\n\n{tool}\n\n## You\n\n{fold}\n\n{sign}\n"])]
        assert speakers[-2:] == ["You ▸ Bash", "You"]


@each("said", ["Done.", "1. a\n2. b", "</details>", "<details>\n\na\n\n</details>", "a\n\n</details>", ""])
@each("last", ["**Read** `a.py`", '**Bash** `grep "<details" a.md`', "**Read** a\n  - failed: `<details>`"])
def test_the_end_of_a_fold_of_tool_lines_is_said_by_nobody(last, said):
    """Nor does what follows begin with it; an end in a message is the message's."""
    lines = f"- ▸ **Bash** `ls`\n- ▸ {last}"
    fold = f"<details>\n<summary>▸ <b>2 more</b> Bash, Read</summary>\n\n{lines}\n\n</details>"
    for tools in (f"{lines}\n\n{fold}", lines, f"{fold}\n\n{lines}"):
        text = f"### Claude\n\n{tools}\n\n{body(said)}\n\n## You · Hi\n"
        found = list(markdown_passages([text]))
        assert [(p.speaker, p.text) for p in found if is_said(p.speaker)] == [
            *([("Claude", body(said))] if said else []), ("You", "Hi"),
        ]  # fmt: skip
        assert not any("</details>" in p.text for p in found if not is_said(p.speaker))


def test_a_thought_is_not_said():
    """Whatever is emphasised in it."""
    text = "### Claude\n\n<details>\n<summary>▸ Thinking</summary>\n\n> **Planning**\n\n</details>\n\nDone.\n"
    assert [p.speaker for p in markdown_passages([text])] == ["Claude ▸ Thinking", "Claude"]


def test_what_katod_says_of_the_recording_is_no_passage():
    """Marks and footers are left out; emphasis of a message stays."""
    text = "## You · Look\n\n*at this*\n\n*Recording stopped 03:44*\n"
    assert [p.text for p in markdown_passages([text])] == ["Look\n*at this*"]


def test_a_fold_in_a_message_splits_nothing():
    """Only a fold with katod's sign is one of a tool."""
    text = "## You · Look\n\n<details>\n<summary>mine</summary>\n\na\n\nb\n"
    assert [p.text[:4] for p in markdown_passages([text])] == ["Look"]


def test_a_passage_may_have_been_said_until_the_next_heading():
    """The last one has no end."""
    passages = _passages("next-day.md")
    assert [p.until[11:16] for p in passages] == ["23:58", "00:00", "01:00", "01:00", ""]


def test_a_minute_that_comes_twice_is_either():
    """Where summer time ends, a passage may have been said an hour later than its heading and the next one say."""
    head = '---\ntitle: "x"\nagent: claude-code\ndate: 2026-10-25\n---\n\n# x\n\nClaude Code · 2026-10-25 01:00 '
    text = f"{head}(Europe/Berlin)\n\n## You · 02:30 · Hello\n\n### Claude · 02:31\n\nHi.\n"
    assert [(p.time, p.until) for p in markdown_passages([text])] == [
        ("2026-10-25T02:30:00+02:00", "2026-10-25T02:31:00+01:00"), ("2026-10-25T02:31:00+02:00", ""),
    ]  # fmt: skip


def test_a_head_that_is_not_katods_says_nothing():
    """A note with lines that look like its fields is nobody's session."""
    assert about("My note\nagent: zot\nsession: x\n---\n") == TranscriptHead()


def test_what_a_person_writes_belongs_to_the_passage_around_it():
    """Notes in a transcript are found, too."""
    text = "## You · Hello\n\nMy note: buy milk.\n"
    assert [p.text for p in markdown_passages([text])] == ["Hello\nMy note: buy milk."]


def test_a_transcript_without_times_has_passages_without_times():
    """A date that is missing or wrong gives no time."""
    assert [p.time for p in markdown_passages(["## You · Hello\n"])] == [""]


def test_markdown_is_shown_without_its_escapes():
    """Escapes, entities and tags are not what was said."""
    assert plain(r"a\_b &lt;c&gt; <b>Bash</b> \<div>") == "a_b <c> Bash <div>"


def test_pages_of_html_have_passages_too():
    """Speaker, time and words are those of the Markdown."""
    page = (
        '<!DOCTYPE html>\n<p class="about">Claude Code · shop · 2026-03-02 10:00 (Europe/Berlin)</p>\n'
        '<h2 class="speaker person" id="m1"><a href="#m1">You</a><time>10:00</time></h2>\n<div class="typed">a &lt; b</div>\n'
        '<h3 class="speaker">Claude<span class="model">opus</span><time>2026-03-03 10:01</time></h3>\n<p>Yes,\nit <i>is</i>.</p>\n'
    )
    assert [(p.speaker, p.time[:16], p.text) for p in page_passages(page)] == [
        ("You", "2026-03-02T10:00", "a < b"),
        ("Claude", "2026-03-03T10:01", "Yes,\nit is."),
    ]


@each(
    "asked", ["Feed the **pelican**", "# Plan\n\n- the `pelican`\n- a &lt; b", "```\n</details>\n```\nof the pelican"]
)
def test_a_prompt_in_markdown_is_one_passage_of_a_page(asked):
    """As it is shown there, and not a second time as it was typed; what follows is said by who says it."""
    metadata, printer = SessionMetadata(SessionKey("claude", "s")), Html(Options(time_zone="UTC"))
    said = ((ev.USER_MESSAGE, asked), (ev.ASSISTANT_MESSAGE, "The **pelican** is fed."), (ev.USER_MESSAGE, "Thanks"))
    events = [
        Event(f"claude:s:{n}", kind, SessionRef("claude", "s"), {"text": text}, {}, f"2026-03-02T09:0{n}:00.000Z")
        for n, (kind, text) in enumerate(said)
    ]
    page = printer.head(metadata, "2026-03-02T09:00:00Z") + "".join(printer.event(one, metadata) for one in events)
    assert "As typed" in page
    found = [(p.speaker, p.text) for p in page_passages(page) if "pelican" in p.text or "typed" in p.text]
    assert [speaker for speaker, _ in found] == ["You", "Claude"]
    assert "As typed" not in found[0][1]


def test_what_a_tool_was_given_on_a_page_is_said_by_nobody():
    """Nor is what it returned, or a thought; what follows a fold or a tool line is the agent's again."""
    page = (
        '<!DOCTYPE html>\n<h3 class="speaker">Claude<time>10:00</time></h3>\n<p>first</p>\n<details>\n<summary><b>Agent</b> '
        "<i>x</i></summary>\n<pre>given</pre>\n<h4>returned</h4>\n<details>\n<summary>y</summary>\n<p>deep</p>\n</details>\n"
        "<p>still</p>\n</details>\n<p>second</p>\n<details>\n<summary>Thinking</summary>\n<h4>a</h4>\n</details>\n"
        '<div class="tool"><b>Bash</b> <code>ls</code></div>\n<div class="outcome">1 line</div>\n<p>third</p>\n'
        '<details>\n<summary><b>2 more</b> Read</summary>\n<div class="tool"><b>Read</b> a.py</div>\n</details>\n'
        "<details>\n<summary>mine</summary>\n<h4>own</h4>\n</details>\n<p>last</p>\n"
        '<details class="between">\n<summary><b>Task</b> z</summary>\n<h4>report</h4>\n</details>\n<p>end</p>\n'
    )
    found = [(p.speaker, p.text) for p in page_passages(page)]
    said = [text for speaker, text in found if speaker == "Claude"]
    assert [" ".join(text.split()) for text in said] == ["first", "second", "third", "mine", "own", "last", "end"]
    assert {speaker for speaker, _ in found} == {
        "Claude", "Claude ▸ Agent", "Claude ▸ Thinking", "Claude ▸ Bash", "Claude ▸ 2 more", "Claude ▸ Read", "Task",
    }  # fmt: skip


def test_the_page_that_katod_prints_is_of_this_form():
    """The head of a page is found by its printer's own words."""
    metadata = SessionMetadata(SessionKey("claude", "s"))
    head = Html(Options(time_zone="Europe/Berlin")).head(metadata, "2026-03-02T09:00:00Z")
    page = head + '<h2 class="speaker person" id="m1"><a href="#m1">You</a><time>10:00</time></h2>\n<p>Hello</p>'
    assert [p.time[:16] for p in page_passages(page)] == ["2026-03-02T10:00"]


def test_a_line_that_is_no_event_is_none():
    """A person may have written into a JSONL transcript."""
    assert jsonl_event((GOLDEN / "plain-turn.jsonl").read_bytes().splitlines()[0]) is not None
    assert jsonl_event(b"my note") is None
    assert jsonl_event(b'{"schema": 1}') is None


@each("path", sorted(GOLDEN.glob("*.md"))[::3])
def test_passages_are_the_same_however_the_text_comes(path):
    """As a whole, line by line, and in pieces of some lines after the head."""
    text = path.read_text()
    begin = re.search(r"^(?:## |<details>)", text, re.MULTILINE).start()
    lines, whole = text[begin:].splitlines(keepends=True), list(markdown_passages([text]))
    for size in (1, 2, 7):
        rest = ["".join(lines[at : at + size]) for at in range(0, len(lines), size)]
        assert list(markdown_passages([text[:begin], *rest])) == whole
