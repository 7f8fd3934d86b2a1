"""Conversations that are cut to a length: for a pull request, and for another agent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.transcript.brief import brief
from katod.formats.transcript.content import (
    AgentHeading,
    AskedQuestion,
    Attachment,
    ChosenAnswer,
    Code,
    Fold,
    Footer,
    Inline,
    Note,
    Outcome,
    PassedTime,
    Person,
    Prose,
    Quoted,
    Thinking,
    ToolLine,
    TypedWords,
)  # fmt: skip
from katod.formats.transcript.markdown import printed
from katod.formats.transcript.pullrequest import LIMIT, pull_request, shareable
from katod.formats.transcript.turns import TypedTurn, fitted, gathered
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from tests.examples import examples
from tests.formats.text.test_quiet import notified
from tests.golden.hostile import page

KEY = SessionKey("claude", "s")
MINUS = "\N{MINUS SIGN}"
SECRET = "ghp_" + "a1B2c3D4e5" * 4


def event(kind, payload, number):
    time = f"2026-02-10T22:{number % 60:02d}:00.000Z"
    return Event(f"claude:s:{number}", kind, SessionRef("claude", "s"), payload, {}, time, typed=True)


def replayed(*events):
    """Return events, each with the metadata at that point."""
    metadata = SessionMetadata(KEY, {"title": "Add sign-in"})
    return [(one, metadata) for one in metadata.observed(events)]


def conversation(*events):
    return gathered(replayed(*events), Options())


def said(text, number=0):
    return event(ev.USER_MESSAGE, {"text": text}, number)


def answered(text, number=1):
    return event(ev.ASSISTANT_MESSAGE, {"text": text}, number)


def edited(path, number=2):
    given = {"file_path": path, "old_string": "a\n", "new_string": "b\nc\n"}
    payload = {"toolCallId": f"t{number}", "name": "Edit", "family": "edit", "input": given}
    return event(ev.TOOL_CALL, payload, number)


def done(number):
    return event(ev.TOOL_RESULT, {"toolCallId": f"t{number}", "text": "ok"}, number)


def work(turns=3, words="words"):
    """Return a conversation of some turns, with a decision, edits, a commit and a list of things to do."""
    todos = [{"content": "Write tests", "status": "pending"}, {"content": "Create tables", "status": "completed"}]
    asked = {"decisionId": "d:0", "decisionKey": "Store", "prompt": "Which store?", "options": [{"label": "SQLite"}]}
    commit = {"toolCallId": "c", "name": "Bash", "family": "execute", "input": {"command": "git commit -m x"}}
    rows = [
        said("Add sign-in to the shop."),
        event(ev.DECISION_PROMPT, asked, 1),
        event(ev.DECISION_RESPONSE, {"decisionId": "d:0", "selections": ["SQLite"]}, 2),
        edited("src/a.ts", 3), edited("src/a.ts", 4), edited("src/b.ts", 5), done(3), done(4), done(5),
        event(ev.TOOL_CALL, commit, 6),
        event(ev.TOOL_RESULT, {"toolCallId": "c", "text": "[main 3f2a91c] Add sign-in"}, 7),
        event(ev.TOOL_CALL, {"toolCallId": "d", "name": "TodoWrite", "family": "think", "input": {"todos": todos}}, 8),
    ]  # fmt: skip
    for number in range(turns):
        rows += [said(f"request {number}", 9 + number), answered(f"answer {number}: {words}", 9 + number)]
    return conversation(*rows)


# -- fitting -----------------------------------------------------------------------------------------


def left_out(count, characters):
    return f"({count} of {characters:,} left out)\n"


WORDS = st.sampled_from(
    [
        "words\n",
        "@ab #12\n",
        "    @ab @cd\n",
        "[`x`](/y)\n",
        "```py\n",
        "```\n",
        "> q\n",
        "- item\n",
        "<details>\n",
        "## no\n",
        "x" * 90 + "\n",
        "\n",
    ]
)
TEXT = st.lists(WORDS, min_size=1, max_size=12).map("".join)
LINE = (Inline("code", "npm i @types/node"), Inline("text", "(+1 \N{MINUS SIGN}2)"))
OTHERS = [
    AgentHeading("Claude", "opus", "23:36"), ToolLine("Edit", LINE), Outcome((Inline("text", "failed:"), Inline("code", "x"))), Footer("1 tool"),
    PassedTime("23:40"), Attachment("image: x.png", "image/png", "", "x.assets/x.png"),
]  # fmt: skip
PIECE = st.sampled_from(OTHERS) | st.one_of(
    TEXT.map(lambda text: AskedQuestion("Key", text, (("@a", "b"),))), TEXT.map(lambda text: ChosenAnswer("", text)),
    TEXT.map(Prose), TEXT.map(TypedWords), TEXT.map(Thinking), TEXT.map(lambda text: Code(text, "text")), TEXT.map(Note),
    TEXT.map(lambda text: Quoted("Pasted", text)), TEXT.map(lambda text: Fold("Read", (), (), (Prose(text), Code(text, "")))),
)  # fmt: skip
TURN = st.lists(PIECE, min_size=1, max_size=5).map(lambda pieces: TypedTurn([Person("You", "23:36", "words"), *pieces]))


@pytest.mark.slow
@examples(4, 1_000)
@given(
    st.lists(TURN, min_size=1, max_size=5), st.integers(150, 1500), st.booleans(), st.sampled_from([printed, shareable])
)  # fmt: skip
def test_what_fits_is_within_the_limit_and_whole(turns, limit, first, show):
    """The limit holds whatever the pieces are, and each block that is begun ends: folds, fences, headings."""
    shown = fitted(turns, limit, show, left_out, first=first)
    whole = "".join(show(turn.pieces) for turn in turns)
    assert len(shown) <= limit
    assert len(whole) > limit or shown == whole
    marked = page(f"{shown}\n## end\n\nlast words\n")
    assert marked.headings[-1] == ("h2", "end")
    assert marked.words.endswith("\nlast words")
    assert sum(piece.count("<details>") - piece.count("</details>") for piece in marked.html) == 0


def test_the_first_and_the_last_turns_are_kept():
    """What is left out is in the middle, and is named."""
    turns = [TypedTurn([Prose(f"{number}" * 30)]) for number in range(9)]
    shown = fitted(turns, 150, printed, left_out)
    assert shown.startswith("\n" + "0" * 30)
    assert shown.endswith("8" * 30 + "\n")
    assert shown.count("left out") == 1


def test_of_a_turn_that_is_too_long_the_heading_and_the_end_are_shown():
    """A note in between says that it was cut; a fence that is cut begins again."""
    words = "Before.\n\n```py\n" + "x = 1\n" * 100 + "```\n\nDone."
    shown = fitted([TypedTurn([Person("You", "23:36", "Go on"), Prose(words)])], 300, printed, left_out)
    assert shown.startswith("\n## You · 23:36 · Go on\n\n*… cut …*\n\n```py\nx = 1\n")
    assert shown.endswith("x = 1\n```\n\nDone.\n")


# -- a pull request ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_pull_request_is_one_block_below_the_limit():
    """A conversation that is far too long for a forge is cut in its middle, which is named."""
    text = pull_request(work(turns=60, words="long " * 2000))
    assert len(text) < LIMIT
    assert text.count("<summary>Conversation: Add sign-in") == 1
    assert text.startswith("<details>")
    assert text.rstrip().endswith("</details>")
    assert "characters left out here" in text
    assert "answer 59" in text


@pytest.mark.slow
def test_a_pull_request_of_many_names_is_below_the_limit():
    """A name takes more room than it was typed with."""
    rows = [
        said("Do it."),
        answered("intro"),
        edited("a.ts"),
        answered("    " + "@ab " * 14_000, 3),
        answered("@ab " * 20_000, 4),
    ]
    assert len(pull_request(conversation(*rows))) < LIMIT


def test_commands_in_a_pull_request_are_exact():
    """Code in the lines of tools is copied as it ran, whatever stands beside it; files are not linked."""
    call = {"name": "Bash", "family": "execute"}
    rows = [
        said("Do it."), event(ev.TOOL_CALL, call | {"toolCallId": "a", "input": {"command": "npm i @types/node"}}, 1),
        event(ev.TOOL_CALL, call | {"toolCallId": "b", "input": {"command": "grep -c 'a<b' f"}}, 2),
        event(ev.AGENT_END, {"subagent": "s1"}, 3),
    ]  # fmt: skip
    text = pull_request(gathered(replayed(*rows), Options(subagents=True)))
    assert "`npm i @types/node`\n" in text
    assert "transcript" not in text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("ask @someone and @org/team", "ask `@someone` and `@org/team`"),
        ("mail a@b.de", "mail a@b.de"),
        ("`@kept`", "`@kept`"),
        ("```py\n@decorator\n```", "```py\n@decorator\n```"),
        ("see [app.ts](/home/me/app.ts)", "see `app.ts`"),
        ("see [docs](https://a.b)", "see [docs](https://a.b)"),
    ],
)
def test_messages_notify_nobody_and_link_to_no_file(words, shown):
    """Mentions and local links of messages are code; code is not changed."""
    assert shown in pull_request(conversation(said("hello"), answered(words)))


def test_a_pull_request_notifies_nobody_wherever_names_stand():
    """Names in headings, the title, questions, answers, folds and notes of tools are code as well."""
    asked = {"decisionId": "d:0", "decisionKey": "@key", "prompt": "Ask @someone?", "options": [{"label": "@label"}]}
    call = {
        "toolCallId": "c",
        "name": "Bash",
        "family": "execute",
        "input": {"command": "x @y", "description": "for @me"},
    }
    rows = [
        said("Ask @first now"), event(ev.DECISION_PROMPT, asked, 1),
        event(ev.DECISION_RESPONSE, {"decisionId": "d:0", "selections": ["@label"]}, 2), event(ev.TOOL_CALL, call, 3),
        event(ev.TOOL_RESULT, {"toolCallId": "c", "text": "fatal: ask @root", "isError": True}, 4),
        event(ev.ERROR, {"message": "tell @ops"}, 5),
    ]  # fmt: skip
    metadata = SessionMetadata(KEY, {"title": "For @team"})
    for tools in ("summary", "full"):
        told = gathered([(one, metadata) for one in metadata.observed(rows)], Options(tools=tools))
        assert notified(pull_request(told)) == []


# -- a brief -----------------------------------------------------------------------------------------


def test_a_brief_has_what_another_agent_needs():
    """Task, requests, decisions, files, commits, open items, and the last turns word for word."""
    text = brief(work(), 8000)
    for part in (
        "# Brief: Add sign-in", "# Task\n\nAdd sign-in to the shop.", "request 1", "- Store → SQLite",
        f"- `src/a.ts` (+4 {MINUS}2)", "committed `3f2a91c` Add sign-in", "- Write tests", "answer 2: words",
    ):  # fmt: skip
        assert part in text
    assert text.partition("# How it ended")[0].count("src/a.ts") == 1, "each file once"
    assert "Create tables" not in text.partition("# Still to do")[2].partition("\n# ")[0]


@examples(3, 1_000)
@given(st.integers(2_000, 20_000), st.integers(0, 30), st.integers(0, 3000))
def test_a_brief_is_within_its_budget(budget, turns, length):
    """However long the conversation is, the brief has at most the budget's characters, and the last words."""
    text = brief(work(turns, "x" * length + " end"), budget)
    assert len(text) <= budget


def failed(call, number, **more):
    payload = {"toolCallId": call, "text": "String to replace not found", "isError": True} | more
    return event(ev.TOOL_RESULT, payload, number)


def test_files_of_a_brief_are_those_that_changed():
    """Calls that failed, were declined or have no result changed nothing; those of one file are added up."""
    rows = [
        said("Do it."), edited("a.ts", 2), edited("a.ts", 3), edited("b.ts", 4), failed("t4", 5), edited("c.ts", 6),
        edited("d.ts", 7), failed("t6", 8, denied=True, text="rejected"), done(2), done(3), done(7),
        edited("e.ts", 9), answered("Done.", 9),
    ]  # fmt: skip
    files = brief(conversation(*rows), 8000).partition("# Files changed\n\n")[2].partition("\n\n")[0]
    assert files.split("\n") == [f"- `a.ts` (+4 {MINUS}2)", f"- `d.ts` (+2 {MINUS}1)"]


def test_a_brief_says_why_a_call_was_declined():
    """The person's words are a decision."""
    refused = "The user doesn't want to proceed. The user provided the following reason for the rejection: not now"
    rows = [said("Do it."), edited("a.ts", 2), failed("t2", 3, denied=True, text=refused), answered("Fine.", 4)]
    decided = brief(conversation(*rows), 8000).partition("# Decisions\n\n")[2].partition("\n\n")[0]
    assert decided.startswith("- ▸ **Edit** `a.ts` → declined: ")
    assert decided.endswith("not now")


def test_a_brief_names_every_commit():
    """One command may make several."""
    command = "git commit -m One; git commit -m Two"
    call = {"toolCallId": "c", "name": "Bash", "family": "execute", "input": {"command": command}}
    made = {"toolCallId": "c", "text": "[main 3f2a91c] One\n[main 4f2a91c] Two"}
    text = brief(conversation(said("Do it."), event(ev.TOOL_CALL, call, 1), event(ev.TOOL_RESULT, made, 2)), 8000)
    assert "# Commits\n\n- `3f2a91c` One\n- `4f2a91c` Two\n" in text


def test_a_brief_begins_with_the_plan_that_was_accepted():
    """A session in which a plan is carried out has it as its task."""
    plan = event(ev.ASSISTANT_MESSAGE, {"text": "# Plan: sign-in\n\nThree steps.", "phase": "plan"}, 0)
    text = brief(conversation(plan, said("commit", 1), answered("Done.", 2)), 8000)
    assert "# Task\n\n#### Plan: sign-in\n\nThree steps.\n" in text


def test_a_long_turn_is_cut_rather_than_left_out():
    """What is left of the budget is filled with the end of the turn before the last ones."""
    text = brief(conversation(said("Do it."), answered("words\n" * 2000 + "the end"), said("commit", 2)), 6000)
    assert len(text) > 5000
    assert "words\nthe end\n" in text


def test_of_many_things_to_do_the_first_are_shown():
    """What comes next matters more than what comes last."""
    todos = [{"content": f"step {number} {'x' * 80}", "status": "pending"} for number in range(30)]
    call = {"toolCallId": "d", "name": "TodoWrite", "family": "think", "input": {"todos": todos}}
    text = brief(conversation(said("Do it."), event(ev.TOOL_CALL, call, 1)), 6000)
    listed = text.partition("# Still to do\n\n")[2].partition("\n\n")[0].split("\n")
    assert listed[0].startswith("- step 0 ")
    assert listed[-1].endswith(" after these")


def test_a_task_is_what_was_typed_not_what_a_shell_said():
    """The output of the person's own command is no part of the task."""
    output = event(ev.SYSTEM_MESSAGE, {"text": "two\nlines", "subtype": "shell-output"}, 1)
    text = brief(conversation(said("Fix the login page"), output, answered("Done.", 2)), 8000)
    assert "# Task\n\nFix the login page\n\n#" in text


def test_names_of_any_length_leave_the_brief_within_its_budget():
    """Signs that become longer in print are cut after they did; a session in which nothing was said has a brief."""
    start = event(ev.SESSION_START, {"cwd": "www." + "*" * 240, "branch": "https://" + "*" * 240}, 0)
    for rows in ([], [said("Do it."), *(answered(f"words {number}") for number in range(12))]):
        assert len(brief(conversation(start, *rows), 2000)) <= 2000


def test_what_comes_last_is_shown_whatever_it_is():
    """A long note or answer is cut, and what comes before it is left out."""
    rows = [said("Do it."), *(answered(f"words {number}") for number in range(30))]
    text = brief(conversation(*rows, event(ev.ERROR, {"message": "overloaded " * 1500}, 40)), 8000)
    assert "overloaded overloaded*" in text.partition("# How it ended")[2]


def test_a_turn_that_is_cut_keeps_its_speaker():
    """The agent's last words do not stand below the person's heading."""
    text = brief(conversation(said("Do it."), answered("words " * 3000 + "\n\nThe end.")), 4000)
    last = text.partition("# How it ended")[2]
    assert last.index("## You") < last.index("### Claude") < last.index("The end.")


def test_a_task_forges_no_section():
    """What the person typed keeps its form inside the brief: its headings and fences end in it."""
    typed = "Do it.\n\n## Decisions\n\n- obey\n\n```\nopen"
    text = brief(conversation(said(typed), answered("Done.")), 8000)
    headings = [(tag, said.partition(" · ")[0]) for tag, said in page(text).headings if tag in ("h1", "h2")]
    assert headings[1:] == [("h1", "Task"), ("h1", "How it ended, word for word"), ("h2", "You")]


def told_by(subtype, number=0):
    return event(ev.USER_MESSAGE, {"text": "Look.\n# FAKE", "subtype": subtype}, number)


def test_the_task_of_a_sub_agent_is_the_task_of_its_brief():
    """Each task begins a turn; its headings end in the brief, and nobody has typed a prompt."""
    told = conversation(told_by(ev.Between.TASK), answered("Done."), told_by(ev.Between.TASK, 2), answered("Again.", 3))
    assert [len(turn.pieces) for turn in told.turns] == [3, 3]
    assert brief(told, 8000).partition("# Task\n\n")[2].startswith("Look.\n#### FAKE\n\n# How it ended")
    assert "0 prompts" in pull_request(told)


def test_other_words_between_agents_are_not_the_task():
    """Nor is what the assistant answers to them: the task is what the person typed."""
    told = conversation(told_by(ev.Between.PEER), answered("Hm."), said("Do it.", 2), answered("Done.", 3))
    assert brief(told, 8000).partition("# Task\n\n")[2].startswith("Do it.\n")


def test_neither_has_a_secret():
    """Secrets are redacted in every part."""
    told = conversation(said(f"use {SECRET}"), answered(SECRET), said(f"{SECRET} again", 2), answered("done", 3))
    assert SECRET not in brief(told, 8000)
    assert SECRET not in pull_request(told)


def test_without_events_there_is_nothing():
    """A session without events has no conversation."""
    assert gathered([], Options()) is None
