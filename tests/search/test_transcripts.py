"""Transcripts taken apart into passages."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event, SessionRef
from katod.formats.text.mdtext import body, typed
from katod.formats.transcript.markdown import Markdown
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.search.spoken import is_said
from katod.search.transcripts import jsonl_event, markdown_passages
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
    "**You:** where?", "*10:30* came", "*10:30*", "* 3 tools to buy", "*3 tools · 5 s*", "*Recording stopped 10:00*",
    "* Recording stopped working", "**You (Name):** x",
]  # fmt: skip
# A transcript of katod's, up to its messages; without it, a file is a person's own.
HEAD = '---\ntitle: "x"\nagent: claude-code\nsession: "s"\n---\n\n'
MESSAGES = st.lists(st.sampled_from(LINES), min_size=1, max_size=8).map("\n".join)


def _passages(name):
    return list(markdown_passages([(GOLDEN / name).read_text()]))


def _printed(*said):
    """Return the transcript of messages, each of a kind and with a text."""
    metadata, printer = SessionMetadata(SessionKey("claude", "s")), Markdown(Options(time_zone="UTC"))
    events = [
        Event(f"claude:s:{n}", kind, SessionRef("claude", "s"), {"text": text}, {}, f"2026-03-02T09:{n:02}:00.000Z")
        for n, (kind, text) in enumerate(said)
    ]
    head = printer.head(metadata, "2026-03-02T09:00:00Z")
    return head + "".join(printer.event(one, metadata) for one in events) + printer.pause()


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
    text = (
        HEAD
        + "## You · 10:00 · Look\n\n````text\n### Claude · 11:00\n```\n## You · 12:00\n````\n\n### Claude · 10:01\n\nYes.\n"
    )
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
    found = [(p.speaker, p.time, p.text.split("\n")[0][:6]) for p in markdown_passages([HEAD + text])]
    assert [(speaker, begin) for speaker, _, begin in found] == [
        ("You", "first"), ("Claude", "second"), ("Task", found[2][2]), ("Claude", "behind"),
        ("Claude ▸ Bash", "- ▸ **"), ("Claude", "last"), ("You", "zebra"),
    ]  # fmt: skip


def test_what_a_message_has_in_a_fold_belongs_to_it():
    """What was pasted, and the rest of a long prompt, stand there as they were typed."""
    text = (
        f"{HEAD}## You · 10:00 · Look\n\nLook  \nat\n\n<details>\n<summary>▸ Pasted: 2 lines</summary>\n\n````text\n```\n## You\n"
        "````\n\n</details>\n\nand\n\n<details>\n<summary>▸ 1,022 lines more</summary>\n\n```text\nthe rest\n```\n\n"
        "</details>\n\n### Claude · 10:01\n\nYes.\n"
    )
    asked, answer = markdown_passages([text])
    assert asked.text.split() == ["Look", "at", "```", "##", "You", "and", "the", "rest"]
    assert (answer.speaker, answer.text) == ("Claude", "Yes.")


def test_what_a_person_writes_above_the_first_heading_is_a_note():
    """Without the title and the line about it; a file that has no heading of katod's is one as a whole."""
    head = (
        '---\ntitle: "x"\nagent: claude-code\nsession: "s"\ndate: 2026-02-10\n---\n\n# x\n\nClaude Code 2.1 · shop\n\n'
    )
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
        speakers = [
            p.speaker for p in markdown_passages([f"{HEAD}### Claude\n\n{tool}\n\n## You\n\n{fold}\n\n{sign}\n"])
        ]
        assert speakers[-2:] == ["You ▸ Bash", "You"]


@each("said", ["Done.", "1. a\n2. b", "</details>", "<details>\n\na\n\n</details>", "a\n\n</details>", ""])
@each("last", ["**Read** `a.py`", '**Bash** `grep "<details" a.md`', "**Read** a\n  - failed: `<details>`"])
def test_the_end_of_a_fold_of_tool_lines_is_said_by_nobody(last, said):
    """Nor does what follows begin with it; an end in a message is the message's."""
    lines = f"- ▸ **Bash** `ls`\n- ▸ {last}"
    fold = f"<details>\n<summary>▸ <b>2 more</b> Bash, Read</summary>\n\n{lines}\n\n</details>"
    for tools in (f"{lines}\n\n{fold}", lines, f"{fold}\n\n{lines}"):
        text = f"{HEAD}### Claude\n\n{tools}\n\n{body(said)}\n\n## You · Hi\n"
        found = list(markdown_passages([text]))
        assert [(p.speaker, p.text) for p in found if is_said(p.speaker)] == [
            *([("Claude", body(said))] if said else []), ("You", "Hi"),
        ]  # fmt: skip
        assert not any("</details>" in p.text for p in found if not is_said(p.speaker))


def test_a_thought_is_not_said():
    """Whatever is emphasised in it."""
    text = HEAD + "### Claude\n\n<details>\n<summary>▸ Thinking</summary>\n\n> **Planning**\n\n</details>\n\nDone.\n"
    assert [p.speaker for p in markdown_passages([text])] == ["Claude ▸ Thinking", "Claude"]


def test_what_katod_says_of_the_recording_is_no_passage():
    """Marks and footers are left out; emphasis of a message stays."""
    text = HEAD + "## You · Look\n\n*at this*\n\n*Recording stopped 03:44*\n"
    assert [p.text for p in markdown_passages([text])] == ["Look\n*at this*"]


def test_a_fold_in_a_message_splits_nothing():
    """Only a fold with katod's sign is one of a tool."""
    text = HEAD + "## You · Look\n\n<details>\n<summary>mine</summary>\n\na\n\nb\n"
    assert [p.text[:4] for p in markdown_passages([text])] == ["Look"]


def test_a_passage_may_have_been_said_until_the_next_heading():
    """The last one has no end."""
    passages = _passages("next-day.md")
    assert [p.until[11:16] for p in passages] == ["23:58", "00:00", "01:00", "01:00", ""]


def test_a_minute_that_comes_twice_is_either():
    """Where summer time ends, a passage may have been said an hour later than its heading and the next one say."""
    head = '---\ntitle: "x"\nagent: claude-code\nsession: "s"\ndate: 2026-10-25\n---\n\n# x\n\nClaude Code · 2026-10-25 01:00 '
    text = f"{head}(Europe/Berlin)\n\n## You · 02:30 · Hello\n\n### Claude · 02:31\n\nHi.\n"
    assert [(p.time, p.until) for p in markdown_passages([text])] == [
        ("2026-10-25T02:30:00+02:00", "2026-10-25T02:31:00+01:00"), ("2026-10-25T02:31:00+02:00", ""),
    ]  # fmt: skip


def test_what_a_person_writes_belongs_to_the_passage_around_it():
    """Notes in a transcript are found, too."""
    text = HEAD + "## You · Hello\n\nMy note: buy milk.\n"
    assert [p.text for p in markdown_passages([text])] == ["Hello\nMy note: buy milk."]


def test_a_transcript_without_times_has_passages_without_times():
    """A date that is missing or wrong gives no time."""
    assert [p.time for p in markdown_passages([HEAD + "## You · Hello\n"])] == [""]


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


# What a transcript prints besides what was said: marks, footers and times, ends of folds, and the folds of a prompt.
UNSAID = re.compile(
    r"\*(?:Recording (?:started|stopped)|\d[\d,]* (?:tools?|files?)\b)[^*]*\*|\*(?:[\d-]{10} )?\d\d:\d\d\*|</?details>"
    r"|<summary>▸ (?:Pasted: )?[\d,]+ lines?(?: more)?</summary>|`{3,}(?:text)?"
)
LABEL = re.compile(r"^(?:### .*|## You(?: · (?:[\d-]{10} )?\d\d:\d\d)?(?: · |$)|\*\*You(?: \(.*?\))?:\*\* )")
BETWEEN = re.compile(r"<summary>▸ <b>[^<]+</b> ·")


@each("path", sorted(GOLDEN.parent.glob("*/*.md")))
def test_nothing_that_stands_in_a_transcript_is_lost(path):
    """Each line is in a passage, whatever agent it is of; only marks, footers and labels are left out."""
    text = path.read_text()
    found = "\n".join(passage.text for passage in markdown_passages([text]))
    below = text.split("\n---\n", 1)[1].lstrip("\n").split("\n", 3)[3]
    lines = (BETWEEN.sub("", LABEL.sub("", line)).rstrip("…") for line in below.split("\n"))
    assert [line for line in lines if line.strip() not in found and not UNSAID.fullmatch(line)] == []


@examples(100, 3000)
@given(text=MESSAGES, head=st.sampled_from(["", "---\ntitle: mine\nagent: me\n---\n\n# T\n\n"]))
@example(
    head="", text="*10:30* Dentist\n\n*3 tools to buy:* rake\n\n**You:** asked\n\n*Recording stopped 10:00*\n\n*10:30*"
)
@example(head="", text="### Shopping\n\n- ▸ **Bash** `x`\n\n### Claude · 10:30\n\n## You · 10:31\n\n---\ntitle: x\n---")
def test_nothing_in_a_file_of_ones_own_is_lost_and_all_of_it_is_a_note(head, text):
    """Whatever it looks like: katod has not written it."""
    found = list(markdown_passages([f"{head}{text}\n"]))
    lines = "\n".join(p.text for p in found).split("\n")
    assert list(filter(None, lines)) == list(filter(None, f"{head}{text}".split("\n")))
    assert {(p.speaker, p.time) for p in found} <= {("Note", "")}


@examples(60, 3000)
@given(asked=MESSAGES, said=MESSAGES)
@example(asked="x", said="```\n**You:** where?\n\n*10:30*\n\n*3 tools · 5 s*\n```\n\n* 3 tools to buy\n* b")
@example(asked="* a\n**You:** b", said="- ```\n\n  x\n\n*10:30*\n")
@example(asked="<pre>\n\n*10:30*\n</pre>", said="<!--\n\n**You:** x\n\n*Recording stopped 10:00*\n-->")
def test_nothing_in_a_message_is_lost(asked, said):
    """Whatever in it looks like a line of katod's, it is said by who said it."""
    typed_words, words = f"a\n\n{typed(asked)}".strip("\n"), f"b\n\n{body(said)}".strip("\n")
    text = f"{HEAD}## You · 10:01\n\n{typed_words}\n\n### Claude · 10:02\n\n{words}\n\n*3 tools · 5 s*\n"
    found = [(p.speaker, p.text) for p in markdown_passages([text])]
    assert found == [("You", typed_words), ("Claude", words)]


def test_an_answer_is_the_users():
    """What names its question, and what follows it, is the agent's; a note of katod's is said by nobody."""
    text = (GOLDEN / "ask-user-question.md").read_text()
    found = [(p.speaker, p.text) for p in markdown_passages([text])]
    assert [text for speaker, text in found if speaker == "You"][1:] == [
        "SQLite", "Card, Cash, on delivery", r"user_sessions, as \*everywhere\* else",
    ]  # fmt: skip
    assert found[-1] == ("Claude", "SQLite, card and cash, table `user_sessions`.")
    assert ("Claude", "Name") in found


@each("note", ["Error: overloaded", "Model: a → b", "Interrupted", "Title: x", "Context compacted"])
def test_what_katod_notes_below_a_heading_is_said_by_nobody(note):
    """What was said before and after it is one passage; in code, or within a line, it is said."""
    text = f"{HEAD}## You · 10:00 · Go on\n\n*{note}*\n\n### Claude · 10:01\n\na\n\n```\n\n*{note}*\n```\n\n*{note}*\n\nb\n"
    assert [(p.speaker, p.text) for p in markdown_passages([text])] == [
        ("You", "Go on"), ("▸ Note", f"*{note}*"), ("Claude", f"a\n\n```\n\n*{note}*\n```\n\nb"), ("▸ Note", f"*{note}*"),
    ]  # fmt: skip


@each("note", ["*Title: The Table*", "*Model: x*", "*Error: lost*", "*Interrupted*", "*2 turns rolled back*"])
@each("kind", [ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE])
def test_a_message_with_what_reads_like_a_note_is_one_passage(kind, note):
    """The note, which may be katod's, is apart; all other words are found together, also behind a second one."""
    words = f"before\n\n{note}\n\n- list\n\n*Plan accepted*\n\nafter"
    found = list(markdown_passages([_printed((ev.USER_MESSAGE, "a"), (kind, words), (ev.USER_MESSAGE, "b"))]))
    (said,) = [passage for passage in found if "before" in passage.text]
    assert "before\n\n- list\n\nafter" in said.text
    assert [p.text for p in found if p.speaker == "▸ Note"] == [note, "*Plan accepted*"]
    assert len({p.time for p in found if p.speaker in (said.speaker, "▸ Note") and p.text not in ("a", "b")}) == 1


def test_what_a_mark_stands_between_is_one_passage():
    """Words before and after a mark, a time or a footer are under one heading."""
    text = f"{HEAD}### Claude · 10:01\n\na\n\n*10:30*\n\nb\n\n*1 tool*\n\n*Recording stopped 10:31 · 7 tokens*\n\nc\n"
    assert [p.text for p in markdown_passages([text])] == ["a\n\nb\n\nc"]


# The last ones have digits that katod does not write.
FOOTERS = ["3 files", "14 files (+200 \u221230)", "2 files · 3 commits", "1 file · 5 min · 1,000 tokens", "\u0661 file",
           "\u0661\u0660:\u0663\u0660", "\u0662 tools"]  # fmt: skip


@each("footer", FOOTERS)
@each("kind", [ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE])
def test_what_reads_like_a_footer_without_tools_is_said(kind, footer):
    """A message may have such a paragraph: it is searched as a part of it, with what is before and behind it."""
    words = f"before\n\n*{footer}*\n\nafter"
    *_, said, _ = markdown_passages([_printed((ev.USER_MESSAGE, "a"), (kind, words), (ev.USER_MESSAGE, "b"))])
    assert words in said.text


@each(
    "key",
    [
        "b" * 991 + r"\*b",
        "<" + "b" * 990 + r"\*b",
        "<" * 500 + "b" * 491 + r"\_b",
        "b" * 1000,
        "b " * 1200,
        "<b",
        "a<i ",
        "",
    ],
)
@each("end", ["", ">"])
def test_an_agent_gives_no_answer_of_the_user(key, end):
    """However long its line is, and with what looks like a tag: the message is one passage."""
    words = f"before\n\n**You ({key}):** I agree{end}\n\nafter"
    _, said = markdown_passages([_printed((ev.USER_MESSAGE, "a"), (ev.ASSISTANT_MESSAGE, words))])
    assert said.speaker == "Claude"
    assert f"I agree{end}\n\nafter" in said.text


@each("said", ["- a\n- b\n\n  c\n\n- d", "* a", "+ a", "-", "-- x", "--- x", "1. a", "- [ ] a"])
@each("lines", ["- ▸ **Read** `a.py`", "- ▸ **Bash** `ls`\n  - failed: x\n  - y"])
def test_an_answer_that_begins_with_a_list_is_the_agents(lines, said):
    """Tool lines go on only with further ones, and with what is indented below one."""
    text = f"{HEAD}### Claude · 10:01\n\n- ▸ **Read** `b.py`\n{lines}\n\n{body(said)}\n\n*2 tools · 1 s*\n"
    *tools, answer = markdown_passages([text])
    assert [p.text for p in tools] == ["- ▸ **Read** `b.py`", lines]
    assert (answer.speaker, answer.text, is_said(answer.speaker)) == ("Claude", body(said), True)


def test_a_heading_of_a_person_is_no_speaker():
    """In a transcript, only labels of agents are; what stands below another one belongs to the passage around it."""
    text = f"{HEAD}### Claude · 10:01\n\n- ▸ **Bash** `ls`\n\n### Remember · 10:30\n\nmine\n\nMoved.\n"
    assert [(p.speaker, p.time, p.text) for p in markdown_passages([text])][1:] == [
        ("Claude", "", "### Remember · 10:30\n\nmine\n\nMoved."),
    ]


@each("agent", sorted(AGENTS))
def test_each_agent_is_known_by_its_label(agent):
    """Whatever model it uses."""
    text = f"{HEAD}### {AGENTS[agent].label} · opus-4-6 · 10:01\n\nHi.\n"
    assert [(p.speaker, p.text) for p in markdown_passages([text])] == [(AGENTS[agent].label, "Hi.")]


def test_a_recording_whose_head_was_edited_is_one():
    """The ledger knows it: without front matter, its speakers are still those of its headings."""
    text = "Mine.\n\n## You · Hello\n\n### Claude\n\nHi.\n"
    assert [p.speaker for p in markdown_passages([text], is_recording=True)] == ["Note", "You", "Claude"]


def test_a_prompt_that_is_a_time_is_a_prompt():
    """Some agents have no times; below a heading that says only a time, there are always words or pictures."""
    head = '---\ntitle: "x"\ndate: 2026-11-20\nagent: cursor\nsession: "s"\n---\n\n'
    said = "## You · 19:16 · Move\n\n## You · 07:30\n\n### Cursor\n\nMoved.\n\n## You · 2026-11-21 09:15\n\n*Interrupted*\n\n"
    text = f"{head}{said}## You · 20:00\n\n*image: a.png*\n"
    assert [(p.speaker, p.time[:16], p.text) for p in markdown_passages([text])] == [
        ("You", "2026-11-20T19:16", "Move"), ("You", "2026-11-20T19:16", "07:30"),
        ("Cursor", "2026-11-20T19:16", "Moved."), ("You", "2026-11-20T19:16", "2026-11-21 09:15"),
        ("▸ Note", "2026-11-20T19:16", "*Interrupted*"), ("You", "2026-11-20T20:00", "*image: a.png*"),
    ]  # fmt: skip


@each("line", ["*Error: x*", "*Interrupted*"])
def test_what_reads_like_a_note_in_a_report_belongs_to_it(line):
    """Words between agents go on until their fold ends."""
    fold = f"<details>\n<summary>▸ <b>Task</b> · x</summary>\n\na\n\n{line}\n\nb\n\n</details>"
    text = f"{HEAD}### Claude\n\nGo.\n\n{fold}\n\nDone.\n"
    assert [(p.speaker, p.text.split("\n\n")[1:]) for p in markdown_passages([text])] == [
        ("Claude", []), ("Task", ["a", line, "b"]), ("Claude", []),
    ]  # fmt: skip


def test_a_line_of_ones_own_below_the_title_is_not_about_the_transcript():
    """Although it begins with the agent's product."""
    text = f"{HEAD}# x\n\nClaude Code rocks\n\n## You · Look\n"
    assert [p.text for p in markdown_passages([text])] == ["Claude Code rocks", "Look"]
