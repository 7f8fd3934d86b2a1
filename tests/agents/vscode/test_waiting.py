"""VS Code: whether a chat waits for its person."""

import json
from pathlib import Path

import pytest

from katod.agents.vscode.waiting import reported
from katod.metadata import SessionStart
from katod.states import Report, State


def journal(tmp_path: Path, *states: int, tail: str = "") -> Path:
    """Write a journal that sets these states, each of a request of its own."""
    path = tmp_path / "chat.jsonl"
    rows = [{"kind": 1, "k": ["requests", n, "modelState"], "v": {"value": state}} for n, state in enumerate(states)]
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows) + tail)
    return path


@pytest.mark.whole
@pytest.mark.parametrize(("states", "is_blocked"), [((), False), ((4,), True), ((1, 4), True), ((4, 1), False), ((0,), False)])  # fmt: skip
def test_a_chat_waits_if_the_last_state_says_so(tmp_path, states, is_blocked):
    """The state of an earlier request is over."""
    expected = Report(State.BLOCKED) if is_blocked else None
    assert reported(journal(tmp_path, *states), "chat", SessionStart()) == expected


def test_only_the_end_of_a_journal_is_read(tmp_path):
    """A text that quotes a journal is no line of it, and a state far behind counts no more."""
    quoted = json.dumps(
        {"kind": 2, "k": ["requests"], "v": ['{"kind":1,"k":["requests",0,"modelState"],"v":{"value":4']}
    )
    assert reported(journal(tmp_path, 0, tail=quoted + "\n"), "chat", SessionStart()) is None
    assert reported(journal(tmp_path, 4, tail="x" * 65536), "chat", SessionStart()) is None


def test_a_journal_that_cannot_be_read_says_nothing(tmp_path):
    """Neither does a folder, nor a pipe that nobody writes to."""
    assert reported(tmp_path / "none.jsonl", "chat", SessionStart()) is None
    assert reported(tmp_path, "chat", SessionStart()) is None
