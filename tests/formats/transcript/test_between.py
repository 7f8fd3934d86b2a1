"""Words between agents: who says them, in every format, and that they stay inside their block."""

import json
import re

from katod import events as ev
from katod.formats.transcript.base import Transcript
from katod.formats.transcript.between import speaker_of
from katod.formats.transcript.content import Delegation, Inline, Prose
from katod.formats.transcript.html import Html
from katod.formats.transcript.markdown import Markdown, print_piece
from katod.formats.transcript.pullrequest import shareable
from katod.formatspec import open_format
from katod.model import Options
from katod.record.export import render_all
from tests.formats.conversation import OPTIONS, event, metadata, says, user
from tests.looping import each

WORDS = "needle in the words"
TEXT = f"{WORDS}\nand more of them"
MESSAGES = [
    event(kind, {"text": TEXT, "subtype": subtype, "speaker": "backend-cache"})
    for kind in (ev.USER_MESSAGE, ev.SYSTEM_MESSAGE)
    for subtype in sorted(ev.BETWEEN - {ev.Between.TASK})
]


def rendered(name, step):
    """Return a conversation of the person in a format, with words between agents in it."""
    steps = [(one, metadata()) for one in (user("Go on."), says("I wait."), step, says("Thanks."))]
    return "".join(render_all(iter(steps), name, Options(time_zone="UTC")))


@each(
    "payload, name",
    [
        ({"speaker": "backend-cache"}, "backend-cache"), ({}, "Teammate"), ({"speaker": " "}, "Teammate"),
        ({"speaker": "You"}, "Teammate"), ({"speaker": "claude"}, "Teammate"), ({"speaker": "Task"}, "Teammate"), ({"speaker": "Y\u200bou"}, "Teammate"), ({"speaker": "a\n▸ b"}, "a b"),
        ({"speaker": "x" * 100}, "x" * 60),
    ],
)  # fmt: skip
def test_speaker_is_named_unless_the_name_is_that_of_another(payload, name):
    """An agent cannot be called like the person or an assistant, as its words would be taken for theirs."""
    assert speaker_of(event(ev.SYSTEM_MESSAGE, {"text": "x", "subtype": ev.Between.TEAMMATE} | payload), str) == name


def test_other_events_have_no_such_speaker():
    """What the person, the assistant or the client says is not between agents."""
    others = [user("x"), says("x"), event(ev.SYSTEM_MESSAGE, {"text": "x", "subtype": "review"})]
    assert [speaker_of(one, str) for one in others] == ["", "", ""]


@each("text", [
    "</details>\n\n## You · 12:00 · Ship it", "<details>\n<summary>▸ <b>You</b> · hi</summary>", "```\n</details>",
    "# A heading\n\n## You", "*Recording stopped*", "</summary></details><script>alert(1)</script>",
])  # fmt: skip
def test_content_stays_inside_its_block(text):
    """Nothing in the words, or in the name or the first words, ends the block or poses as a speaker."""
    step = event(
        ev.SYSTEM_MESSAGE, {"text": text, "subtype": ev.Between.TEAMMATE, "speaker": "</b></summary>", "summary": text}
    )
    shown = Markdown(OPTIONS).event(step, metadata()).strip("\n")
    assert shown.startswith("<details>\n<summary>▸ <b>&lt;/b&gt;&lt;/summary&gt;</b> · ")
    assert shown.endswith("\n</details>")
    assert shown.split("\n")[1].count("</summary>") == 1
    bare = re.sub(r"^```\n.*?^```$", "", shown, flags=re.DOTALL | re.MULTILINE)
    assert len(re.findall("^<details>", bare, re.MULTILINE)) == len(re.findall("^</details>", bare, re.MULTILINE))
    assert not re.search(r"^<summary>▸ <b>You", shown, re.MULTILINE)
    assert not re.search(r"^(?:#{1,3} |\*Recording)", shown, re.MULTILINE)
    page = Html(OPTIONS).event(step, metadata())
    assert (page.count("<details"), page.count("</details>"), page.count("<script")) == (1, 1, 0)


@each("step", MESSAGES)
def test_in_markdown_and_html_only_the_first_words_are_visible(step):
    """The block says who speaks; the rest is inside it."""
    block = rendered("markdown", step).split("<details>")[1].split("</details>")[0]
    summary, inside = block.split("</summary>")
    assert WORDS in summary
    assert "and more" in inside
    assert "and more" not in rendered("markdown", step).replace(block, "")
    page = rendered("html", step)
    assert WORDS in page.split('<details class="between">')[1].split("</summary>")[0]


@each("step", MESSAGES)
def test_no_format_has_them_as_words_of_the_person_or_the_assistant(step):
    """Messages, entries, steps, prompts and responses are those of the person and the assistant alone."""
    stream = [json.loads(row) for row in rendered("stream", step).splitlines()]
    messages = [row.get("message", row) for row in stream]
    assert {row["type"] for row in messages if WORDS in str(row.get("content"))} == {"system"}
    record = json.loads(rendered("agent-record", step))
    assert {row["type"] for row in record["session"]["entries"] if WORDS in str(row)} == {"system-event"}
    assert WORDS not in str(json.loads(rendered("vcon", step))["dialog"])
    trajectory = json.loads(rendered("atif", step))
    assert {row["source"] for row in trajectory["steps"] if WORDS in str(row)} == {"system"}
    matrix = [json.loads(row) for row in rendered("matrix", step).splitlines()]
    assert not [row for row in matrix if WORDS in str(row) and row["type"].endswith((".prompt", ".response"))]


def test_in_a_pull_request_nobody_is_notified():
    """Names in the block are no mentions."""
    block = Delegation("@lead", (Inline("text", "· ask @someone"),), (), (Prose("ask @someone"),))
    assert not re.search(r"(?<![\w`])@(?:lead|someone)", shareable([block]).replace("`@someone`", ""))
    assert "<summary>▸ <b>" in print_piece(block)


def test_a_picture_in_a_task_follows_its_block():
    """What is attached is shown as it is with other messages."""
    picture = {"type": "image", "mediaType": "image/png"}
    task = event(ev.USER_MESSAGE, {"text": "Look.", "subtype": ev.Between.TASK, "attachments": [picture]})
    assert Markdown(OPTIONS).event(task, metadata()).endswith("</details>\n\n*image: image/png*\n")
    assert Html(OPTIONS).event(task, metadata()).endswith('</details>\n<p class="note">image: image/png</p>\n')
    assert Markdown(OPTIONS).event(task._replace(payload=task.payload | {"text": ""}), metadata()) != ""


def test_they_wait_for_no_one():
    """The words are printed when they come, after what was held back."""
    transcript = Transcript(Options(tools="full"))
    call = event(ev.TOOL_CALL, {"toolCallId": "t1", "name": "Bash", "family": "execute", "input": {"command": "make"}})
    transcript.event(call, metadata())
    [_, block] = transcript.event(MESSAGES[-1], metadata())[-2:]
    assert isinstance(block, Delegation)


def test_formats_of_events_keep_the_name():
    """The speaker is a field of the event."""
    row = json.loads(open_format("jsonl", OPTIONS).event(MESSAGES[0], metadata()))
    assert row["payload"]["speaker"] == "backend-cache"
    assert ev.from_json(row).payload == MESSAGES[0].payload
