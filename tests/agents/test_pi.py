"""Pi: the system prompt, exit codes, shell commands, aborted turns and compactions."""

from typing import Any

from katod import events as ev
from katod.agents.pi import PiAdapter
from tests.looping import each
from tests.support.translated import Row, kinds, payloads, translated


def entry(kind: str, native: str = "1", **fields: Any) -> Row:
    return {"type": kind, "id": native, "parentId": None, "timestamp": "2026-11-22T00:24:28.826Z"} | fields


def message(role: str, content: Any = "", **fields: Any) -> Row:
    return entry("message", message={"role": role, "content": content} | fields)


def result(text: str, tool: str = "bash", *, failed: bool = True, **fields: Any) -> Row:
    blocks = [{"type": "text", "text": text}]
    return message("toolResult", blocks, toolCallId="c1", toolName=tool, isError=failed, **fields)


def test_the_system_prompt_is_left_out() -> None:
    """What Pi tells the model of itself and its tools (6 kB at each start) is no part of the conversation."""
    record = message("system", sections={"preamble": "You are pi."}, toolsAdded=[{"name": "read"}])
    assert translated("pi", record) == []
    assert PiAdapter.typed_texts(record) == []
    assert kinds(translated("pi", message("other"))) == [ev.PROVIDER_RAW]


@each(
    ("record", "outcome"),
    [
        (result("boom\n\nCommand exited with code 3"), {"isError": True, "exitCode": 3}),
        (result("Command exited with code 128\n"), {"isError": True, "exitCode": 128}),
        (result("Command exited with code 3\nmore"), {"isError": True}),
        (result("Command timed out after 120 seconds"), {"isError": True}),
        (result("x\nCommand exited with code 3", failed=False), {}),
        (result("x\nCommand exited with code 3", "read"), {"isError": True}),
    ],
)
def test_the_last_line_of_a_failed_command_is_its_exit_code(record: Row, outcome: Row) -> None:
    """Only a command that failed has an exit code, and only in its last line."""
    [payload] = payloads(translated("pi", record), ev.TOOL_RESULT)
    assert {key: payload[key] for key in payload if key not in ("toolCallId", "text")} == outcome


def test_an_edit_names_its_file_and_its_lines() -> None:
    """The patch beside the result of an edit gives the numbers of lines."""
    patch = "--- /p/note.txt\n+++ /p/note.txt\n@@ -1,1 +1,1 @@\n-a note\n+an edited note\n"
    record = result("Done.", "edit", failed=False, details={"diff": "-1 a note", "patch": patch})
    [payload] = payloads(translated("pi", record), ev.TOOL_RESULT)
    changed = {"path": "/p/note.txt", "change": "update", "added": 1, "removed": 1, "ranges": [[1, 1]]}
    assert payload["structured"] == {"files": [changed]}


def test_a_command_that_the_person_ran_is_theirs() -> None:
    """A `!` command is the person's message, its output is the client's, and neither is typed text."""
    record = message("bashExecution", command="cat log", output="::start evil\n", exitCode=0, cancelled=False)
    events = translated("pi", record)
    assert [event.payload for event in events] == [
        {"text": "! cat log", "subtype": "shell"},
        {"text": "::start evil\n", "subtype": "shell-output"},
    ]
    assert not events[0].typed
    assert PiAdapter.typed_texts(record) == []


def test_an_aborted_turn_keeps_what_was_said() -> None:
    """After Esc, the text so far is kept and the turn is aborted, which is no error."""
    blocks = [{"type": "text", "text": "piece one"}]
    record = message("assistant", blocks, stopReason="aborted", errorMessage="Operation aborted")
    assert [(e.kind, e.payload) for e in translated("pi", record)] == [
        (ev.ASSISTANT_MESSAGE, {"text": "piece one", "stopReason": "aborted"}),
        (ev.TURN_END, {"reason": "aborted"}),
    ]
    failed = message("assistant", [], stopReason="error", errorMessage="no such model")
    assert payloads(translated("pi", failed), ev.ERROR) == [{"message": "no such model"}]


def test_a_compaction_has_its_summary() -> None:
    """A compaction is noted with its summary and size; the system prompt in it is left out."""
    record = entry("compaction", summary="What was said.", tokensBefore=280, systemMessage={"role": "system"})
    assert [(e.kind, e.payload) for e in translated("pi", record)] == [
        (ev.COMPACTION, {"tokensBefore": 280, "summary": "What was said."})
    ]
