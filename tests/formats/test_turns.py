"""Conversations that are cut to a length: for a pull request, and for another agent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.brief import brief
from katod.formats.pullrequest import LIMIT, pull_request
from katod.formats.turns import fitted, gathered
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey

KEY = SessionKey("claude", "s")
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


def work(turns=3, words="words"):
    """Return a conversation of some turns, with a decision, edits, a commit and a list of things to do."""
    todos = [{"content": "Write tests", "status": "pending"}, {"content": "Create tables", "status": "completed"}]
    asked = {"decisionId": "d:0", "decisionKey": "Store", "prompt": "Which store?", "options": [{"label": "SQLite"}]}
    commit = {"toolCallId": "c", "name": "Bash", "family": "execute", "input": {"command": "git commit -m x"}}
    rows = [
        said("Add sign-in to the shop."),
        event(ev.DECISION_PROMPT, asked, 1),
        event(ev.DECISION_RESPONSE, {"decisionId": "d:0", "selections": ["SQLite"]}, 2),
        edited("src/a.ts", 3), edited("src/a.ts", 4), edited("src/b.ts", 5),
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


@given(st.lists(st.text("ab\n", max_size=60), min_size=1, max_size=8), st.integers(80, 300), st.booleans())
def test_what_fits_is_within_the_limit_and_in_order(texts, limit, first):
    """The limit holds whatever the texts are; what fits whole is returned whole."""
    shown = fitted(texts, limit, left_out, first=first)
    assert sum(map(len, shown)) <= limit
    if sum(map(len, texts)) <= limit:
        assert shown == texts
    else:
        assert texts[-1].endswith(shown[-1][-10:])


def test_the_first_and_the_last_texts_are_kept():
    """What is left out is in the middle, and is named."""
    texts = [f"{number}" * 30 + "\n" for number in range(9)]
    shown = fitted(texts, 150, left_out)
    assert (shown[0], shown[-1]) == (texts[0], texts[-1])
    assert shown[1] == "(7 of 217 left out)\n" or "left out" in shown[1]


# -- a pull request ----------------------------------------------------------------------------------


def test_a_pull_request_is_one_block_below_the_limit():
    """A conversation that is far too long for a forge is cut in its middle, which is named."""
    text = pull_request(work(turns=60, words="long " * 2000))
    assert len(text) < LIMIT
    assert text.count("<summary>Conversation: Add sign-in") == 1
    assert text.startswith("<details>")
    assert text.rstrip().endswith("</details>")
    assert "characters left out here" in text
    assert "answer 59" in text


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
def test_nobody_is_notified_and_no_link_leads_to_a_file(words, shown):
    """Mentions and local links of messages are code; code is not changed."""
    assert shown in pull_request(conversation(said("hello"), answered(words)))


# -- a brief -----------------------------------------------------------------------------------------


def test_a_brief_has_what_another_agent_needs():
    """Task, requests, decisions, files, commits, open items, and the last turns word for word."""
    text = brief(work(), 8000)
    for part in (
        "# Brief: Add sign-in", "## Task\n\nAdd sign-in to the shop.", "request 1", "- Store → SQLite",
        "- ▸ **Edit** `src/a.ts` (+2 ", "committed `3f2a91c` Add sign-in", "- Write tests", "answer 2: words",
    ):  # fmt: skip
        assert part in text
    assert text.partition("## How it ended")[0].count("src/a.ts") == 1, "each file once"
    assert "Create tables" not in text.partition("## Still to do")[2].partition("##")[0]


@given(st.integers(2_000, 20_000), st.integers(0, 30), st.integers(0, 3000))
def test_a_brief_is_within_its_budget(budget, turns, length):
    """However long the conversation is, the brief has at most the budget's characters, and the last words."""
    text = brief(work(turns, "x" * length + " end"), budget)
    assert len(text) <= budget


def test_neither_has_a_secret():
    """Secrets are redacted in every part."""
    told = conversation(said(f"use {SECRET}"), answered(SECRET), said(f"{SECRET} again", 2), answered("done", 3))
    assert SECRET not in brief(told, 8000)
    assert SECRET not in pull_request(told)


def test_without_events_there_is_nothing():
    """A session without events has no conversation."""
    assert gathered([], Options()) is None
