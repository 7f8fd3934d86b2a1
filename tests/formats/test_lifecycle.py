"""Lifecycle lines as a recording: they go on where they stopped, and say what an export says."""

import json

import pytest

from katod.formatspec import FORMATS, open_format
from katod.model import Options
from tests.support.records import Claude, Gemini, says, user


def test_a_recording_is_the_same_as_its_export(world):
    """Step by step, with a start of katod in between, in the middle of a call."""
    world.configure(format="lifecycle")
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\nLook."), make.runs("t1", "make"))
    world.once()
    source.append(make.result("t1", "ok", error=True))
    world.once()
    source.append(make.says("It is broken."))
    world.once()
    assert world.assert_live_is_batch() == 1
    [row] = world.outputs()
    assert row.path.name == "notes.lifecycle.jsonl"
    lines = [json.loads(line) for line in row.path.read_text().splitlines()]
    assert [line["type"] for line in lines] == [
        "session", "agent_start", "message_update", "turn_start", "tool_execution_start", "tool_execution_end", "turn_end",
        "turn_start", "message_start", "message_end", "turn_end", "agent_end",
    ]  # fmt: skip
    assert lines[5] | {"timestamp": ""} == {
        "type": "tool_execution_end", "toolCallId": "t1", "toolName": "Bash", "isError": True, "timestamp": "",
    }  # fmt: skip
    assert "Look" not in row.path.read_text()


def test_its_state_is_small():
    """Nothing is kept where nothing is open."""
    assert open_format("lifecycle", Options()).state() == {}
    assert FORMATS["lifecycle"].in_chat is False


@pytest.mark.parametrize(("name", "ended"), [("lifecycle", "agent_end"), ("stream", "idle")])
def test_an_export_ends_an_answer_that_may_be_the_last(world, name, ended):
    """The agent does not record that it is; a recording says so with the next prompt."""
    source = Gemini(world)
    source.say(user("Look."), says("I looked."))
    lines = world.cli("export", source.source, "-f", name, "-o", "-").splitlines()
    assert ended in lines[-1]
    printer = open_format(name, Options())
    assert printer.end() == ""
