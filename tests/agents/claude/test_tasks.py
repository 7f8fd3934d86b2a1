"""The answers of Claude's sub-agents in the background: once each, never as words of the person."""

import json

import pytest

from katod import events as ev
from tests.support.outputs import counts, only
from tests.support.records import Claude
from tests.support.translated import payloads, translated
from tests.support.world import World

NOTE = (
    "<task-notification>\n<task-id>a93e</task-id>\n<status>completed</status>\n<summary>Agent finished</summary>\n"
    "<result>{}</result>\n</task-notification>"
)


def told(world: World) -> list[tuple[str, str]]:
    """Return the sub-agent and its answer of each end of one."""
    rows = map(json.loads, world.cli("export", "latest", "-f", "jsonl").splitlines())
    return [(row["payload"]["subagent"], row["payload"]["result"]) for row in rows if row["kind"] == ev.AGENT_END]


def test_an_answer_comes_once_however_often_it_is_notified(world: World) -> None:
    """A task may notify twice with the same words, in a record and in an attachment; other words are another answer."""
    make, source = Claude(), world.claude()
    queued = {"type": "queued_command", "commandMode": "task-notification", "prompt": NOTE.format("Done.\n::stop")}
    source.append(make.user("::start\none"), make.user(NOTE.format("Done.\n::stop"), promptSource="system"))
    source.append(make.record("attachment", attachment=queued), make.user(NOTE.format("More."), promptSource="system"))
    source.append(make.says("thanks"))
    world.once()
    assert told(world) == [("a93e", "Done.\n::stop"), ("a93e", "More.")]
    assert counts(only(world), "one", "thanks") == [1, 1]


@pytest.mark.whole
@pytest.mark.parametrize(
    "text", ["<task-id>b1</task-id>", "<result>x</result>", "<result>x<task-id>b</task-id></result>"]
)
def test_a_notification_without_an_answer_or_a_task_ends_nothing(world: World, text: str) -> None:
    """The client also notifies of shell commands in the background."""
    world.claude().append(Claude().user("one"), Claude().user(f"<task-notification>{text}</task-notification>"))
    assert told(world) == []


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "speaker"), [("Agent finished", "Sub-agent"), ('Agent "Look &amp; see" finished', "Look & see")]
)
def test_an_answer_says_whose_it_is_and_how_the_work_ended(name: str, speaker: str) -> None:
    """By the name that the client gives the sub-agent, if it has one."""
    note = NOTE.format("Done.").replace("Agent finished", name)
    [ended] = payloads(translated("claude", Claude().user(note, promptSource="system")), ev.AGENT_END)
    assert ended == {"subagent": "a93e", "status": "completed", "result": "Done.", "speaker": speaker}
