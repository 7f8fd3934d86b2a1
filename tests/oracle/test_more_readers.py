"""The rules of the other agents' readers, each tested with a small session."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import copilot, cursor, export, gemini, opencode, pi, zot
from tests.oracle.common import Sets

Rows = list[dict[str, Any]]
READERS = [gemini.read, opencode.read, cursor.read, zot.read, copilot.read, pi.read]


def written(folder: Path, rows: Rows) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def shown(sets: Sets, name: str) -> list[tuple[str, str]]:
    """Return the ids and texts in one multiset, with duplicates."""
    return sorted((key[0], sets.shown[key[-1]]) for key in getattr(sets, name).elements())


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


CALL: dict[str, Any] = {"id": "t1", "name": "ls", "args": {"d": "."}, "status": "success"}
OUTPUT = [{"functionResponse": {"id": "t1", "response": {"output": "a.txt"}}}]
CHECKPOINT = {"$set": {"messages": [{"id": "u0", "type": "user", "content": [{"text": "old"}]}]}}


def test_gemini_counts_a_message_at_first_sight(tmp_path: Path) -> None:
    """A message repeated with its calls counts once; a later checkpoint and an echo of results do not count."""
    rows: Rows = [
        {"sessionId": "s", "kind": "main"},
        {"id": "u1", "type": "user", "content": [{"text": "<session_context>x"}, {"text": "go"}]},
        {"id": "g1", "type": "gemini", "content": "I look."},
        {"id": "g1", "type": "gemini", "content": "I look.", "toolCalls": [CALL | {"result": OUTPUT}]},
        {"id": "u2", "type": "user", "content": OUTPUT},
        CHECKPOINT,
    ]
    sets = gemini.read(written(tmp_path, rows))
    assert shown(sets, "users") == [("u1", "go")]
    assert shown(sets, "assistants") == [("g1", "I look.")]
    assert shown(sets, "calls") == [("t1", '{"d":"."}')]
    assert shown(sets, "results") == [("t1", "a.txt")]
    assert sets.left_out() == {"$set/messages": 1, "gemini/repeated": 1, "user/functionResponse": 1}


def test_gemini_reads_the_checkpoint_that_a_file_begins_with(tmp_path: Path) -> None:
    """A checkpoint at the start of a file replaces the missing lines."""
    assert shown(gemini.read(written(tmp_path, [CHECKPOINT, CHECKPOINT])), "users") == [("u0", "old")]


def test_gemini_documents_and_what_was_typed(tmp_path: Path) -> None:
    """The older format is one document; `displayContent` is what the person typed."""
    row = {"id": "u1", "type": "user", "content": "see a.txt: …", "displayContent": "see @a.txt"}
    assert shown(gemini.read(written(tmp_path, [{"messages": [row]}])), "users") == [("u1", "see @a.txt")]


def part(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": f"p{kind}", "messageID": "m", "type": kind, **more}


def said(tmp_path: Path, role: str, *parts: dict[str, Any], **more: Any) -> Sets:
    message = {"info": {"id": "m", "role": role, **more}, "parts": list(parts)}
    return opencode.read(written(tmp_path, [{"info": {}, "messages": [message]}]))


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("go", "go"),
        ('"go on"', "go on"),
        ('"go on"\n', "go on"),
        ('"say \\"hi\\" to C:\\new"', 'say "hi" to C:\\new'),
        ('"go"', '"go"'),
        ('"a b" and "c d"', '"a b" and "c d"'),
    ],
)
def test_opencode_quotes_an_argument_with_blanks(tmp_path: Path, stored: str, typed: str) -> None:
    """Only quotes added by `opencode run`, and the backslashes that escape quotes in them, are removed."""
    assert shown(said(tmp_path, "user", part("text", text=stored)), "users") == [("ptext", typed)]


def test_opencode_texts_that_nobody_said(tmp_path: Path) -> None:
    """Marked texts are the client's, and a summary is not a message of the assistant."""
    for mark in ("synthetic", "ignored"):
        assert not said(tmp_path, "user", part("text", text="x", **{mark: True})).users
    assert not said(tmp_path, "assistant", part("text", text="x"), summary=True).assistants


@pytest.mark.parametrize(
    ("state", "calls", "results"),
    [
        ({"status": "pending", "input": {}}, 0, []),
        ({"status": "running", "input": {"n": 1}}, 1, []),
        ({"status": "completed", "input": {"n": 1}, "output": "ok"}, 1, [("c", "ok")]),
        ({"status": "error", "input": {"n": 1}, "error": "no"}, 1, [("c", "no")]),
    ],
)
def test_opencode_tools(tmp_path: Path, state: dict[str, Any], calls: int, results: list[tuple[str, str]]) -> None:
    """A call counts once it runs, a result once it has ended."""
    sets = said(tmp_path, "assistant", part("tool", callID="c", tool="bash", state=state))
    assert sets.calls.total() == calls
    assert shown(sets, "results") == results


def test_opencode_storage_files_one_after_another(tmp_path: Path) -> None:
    """Parts may come before their message, and only line breaks separate the files."""
    path = tmp_path / "all.jsonl"
    files: list[Any] = [
        part("text", text="go"),
        {"id": "p", "worktree": "/"},
        {"id": "m", "role": "user"},
        [],
        {"secret": "x"},
    ]
    path.write_text("\n".join(json.dumps(file, indent=2) for file in files), "utf-8")
    sets = opencode.read(path)
    assert shown(sets, "users") == [("ptext", "go")]
    assert sets.left_out() == {"project": 1, "share": 1, "user/message": 1}


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("<user_query>\n  go\n</user_query>", "  go"),
        ("<timestamp>now</timestamp>\n<user_query>\ngo\n</user_query>", "go"),
        ("Push this branch.\n<timestamp>now</timestamp>\n<user_query>\ngo\n</user_query>", "go"),
        ("go", "go"),
        ("<available_subagent_types>\nx</available_subagent_types>", None),
    ],
)
def test_cursor_wraps_what_was_typed(tmp_path: Path, stored: str, typed: str | None) -> None:
    """Only the query is the person's, not the text around it."""
    row = {"role": "user", "message": {"content": [text(stored)]}}
    sets = cursor.read(written(tmp_path, [row]))
    assert shown(sets, "users") == ([("0", typed)] if typed else [])


def test_cursor_calls_have_no_ids(tmp_path: Path) -> None:
    """Calls compare by name and input; a dynamic tool has its own name."""
    blocks = [
        {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}},
        {"type": "tool_use", "name": "CallDynamicTool", "input": {"toolName": "Task", "arguments": {}}},
    ]
    sets = cursor.read(written(tmp_path, [{"role": "assistant", "message": {"content": blocks}}]))
    assert sorted(key[:2] for key in sets.calls) == [("", "Shell"), ("", "Task")]
    assert not sets.results


def test_zot_streams_say_things_once(tmp_path: Path) -> None:
    """A streamed text or call counts only if no later row repeats it."""
    call = {"type": "tool_call", "id": "a", "name": "bash", "args": {"n": 1}}
    rows: Rows = [
        {"type": "text_delta", "delta": "He"},
        {"type": "text_delta", "delta": "llo"},
        {"type": "tool_use_start", "id": "a", "name": "bash"},
        call,
        {"type": "assistant_message", "content": [text("Hello"), call]},
        {"type": "tool_use_start", "id": "b", "name": "read"},
        {"type": "tool_use_args", "id": "b", "delta": '{"p": "x"}'},
        {"type": "tool_result", "id": "b", "content": [text("one"), text("two")]},
        {"type": "text_delta", "delta": "By"},
        {"type": "text_delta", "delta": "e"},
        {"type": "done"},
    ]
    sets = zot.read(written(tmp_path, rows))
    assert sorted(words for _, words in shown(sets, "assistants")) == ["Bye", "Hello"]
    assert shown(sets, "calls") == [("a", '{"n":1}'), ("b", '{"p":"x"}')]
    assert shown(sets, "results") == [("b", "one\ntwo")]


def test_zot_session_files_know_blocks_by_their_keys(tmp_path: Path) -> None:
    """Blocks of session files are identified by their keys, and call ids may repeat."""
    call = {"id": "c", "name": "bash", "arguments": {}}
    result = {"call_id": "c", "content": [{"text": "out"}]}
    said = [{"summary": "s"}, {"text": "ok"}, call, call]
    rows = [
        {"type": "message", "message": {"role": "user", "content": [{"text": "go"}]}},
        {"type": "message", "message": {"role": "assistant", "content": said}},
        {"type": "message", "message": {"role": "tool", "content": [result]}},
    ]
    sets = zot.read(written(tmp_path, rows))
    assert [words for _, words in shown(sets, "users") + shown(sets, "assistants")] == ["go", "ok"]
    assert shown(sets, "calls") == [("c", "{}"), ("c", "{}")]
    assert shown(sets, "results") == [("c", "out")]
    assert sets.other == {"other:assistant/reasoning": 1}


def test_copilot_events(tmp_path: Path) -> None:
    """`content` is what was typed, unless it names a source; a requested and started call counts once."""
    request = {"toolCallId": "t", "name": "apply_patch", "arguments": "*** Begin"}
    rows = [
        {"type": "user.message", "id": "1", "data": {"content": "go", "transformedContent": "<now>go"}},
        {"type": "user.message", "id": "2", "data": {"content": "x", "source": "skill-x"}},
        {"type": "assistant.message", "id": "3", "data": {"content": "ok", "toolRequests": [request]}},
        {"type": "tool.execution_start", "id": "4", "data": {"toolCallId": "t", "toolName": "apply_patch"}},
        {"type": "tool.execution_complete", "id": "5", "data": {"toolCallId": "t", "error": {"message": "no"}}},
        {"type": "hook.start", "id": "6", "data": {}},
    ]
    sets = copilot.read(written(tmp_path, rows))
    assert shown(sets, "users") == [("1", "go")]
    assert shown(sets, "assistants") == [("3", "ok")]
    assert shown(sets, "calls") == [("t", '"*** Begin"')]
    assert shown(sets, "results") == [("t", "no")]
    assert sets.left_out() == {"call/repeated": 1, "hook.start": 1}


@pytest.mark.parametrize("agent", ["gemini", "opencode", "cursor", "zot", "copilot"])
def test_exported_parts_of_one_message_join(agent: str) -> None:
    """The parts of a split message are joined by their native id, whatever their event ids."""
    source = {"providerEventId": "u1", "offset": 7}
    common = {"session": {"agent": agent}, "source": source}
    rows = [
        {"id": "x.0", "kind": "user.message", "payload": {"text": "before"}, **common},
        {"id": "x.1", "kind": "user.kato-command", "payload": {"line": "::start"}, **common},
    ]
    sets = export.read("\n".join(json.dumps(row) for row in rows))
    assert shown(sets, "users") == [("7" if agent in ("cursor", "zot") else "u1", "before\n::start")]


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_session_holds_no_conversation(tmp_path: Path, read: Callable[[Path], Sets]) -> None:
    """Unknown records and damaged lines are counted, but never as conversation."""
    path = tmp_path / "flat.jsonl"
    path.write_bytes(b'{"some": "thing"}\n\n[1]\n{"type": "user", "mess\n\xff')
    sets = read(path)
    assert not any((sets.users, sets.assistants, sets.calls, sets.results))
    assert sets.other["invalid-json"]
    assert sets.other.total() >= 3


def test_pi_reads_all_branches_and_leaves_the_system_prompt_out(tmp_path: Path) -> None:
    """Every entry counts, whatever its parent; a `!` command is the person's, the system prompt is nobody's."""

    def entry(native: str, role: str, content: Any = "", **more: Any) -> dict[str, Any]:
        return {"type": "message", "id": native, "message": {"role": role, "content": content} | more}

    call = {"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": "ls"}}
    rows: Rows = [
        {"type": "session", "id": "s"},
        entry("e1", "system", sections={"preamble": "You are pi."}),
        entry("e2", "user", [text("one"), {"type": "image", "data": "x"}]),
        entry("e3", "assistant", [{"type": "thinking", "thinking": "hm"}, text("two"), text(" "), call]),
        entry("e4", "toolResult", [text("a.txt")], toolCallId="t1"),
        entry("e5", "bashExecution", command="ls", output="a.txt"),
    ]
    sets = pi.read(written(tmp_path, rows))
    assert shown(sets, "users") == [("e2", "one"), ("e5", "! ls")]
    assert shown(sets, "assistants") == [("e3", "two")]
    assert shown(sets, "calls") == [("t1", '{"command":"ls"}')]
    assert shown(sets, "results") == [("t1", "a.txt")]
    assert sets.left_out() == {"assistant/empty-text": 1, "message/system": 1}


RAN = "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\na.txt\n```"


def test_gemini_results_without_wrapper_and_commands_of_the_person(tmp_path: Path) -> None:
    """A result counts without the client's wrapper and process group; the report of a `!` command is the command."""
    output = "<untrusted_context>\nOutput: a.txt\nProcess Group PGID: 118\n</untrusted_context>"
    result = [{"functionResponse": {"id": "t1", "response": {"output": output}}}]
    shell = CALL | {"name": "run_shell_command", "result": result}
    rows: Rows = [
        {"id": "g1", "type": "gemini", "content": "", "toolCalls": [shell, CALL | {"id": "t2", "result": result}]},
        {"id": "u1", "type": "user", "content": [{"text": RAN}]},
    ]
    sets = gemini.read(written(tmp_path, rows))
    lines = "Output: a.txt\nProcess Group PGID: 118"
    assert shown(sets, "results") == [("t1", "Output: a.txt"), ("t2", lines)]
    assert shown(sets, "users") == [("u1", "! ls")]


def test_copilot_commands_of_the_person(tmp_path: Path) -> None:
    """A `!` command is the person's message, and its output is no result of a call."""
    rows: Rows = [
        {"type": "tool.user_requested", "id": "e1", "data": {"toolCallId": "t1", "arguments": {"command": "ls"}}},
        {
            "type": "tool.execution_complete",
            "id": "e2",
            "data": {"toolCallId": "t1", "isUserRequested": True, "result": {"content": "a.txt"}},
        },
        {"type": "system.message", "id": "e3", "data": {"content": "You are."}},
    ]
    sets = copilot.read(written(tmp_path, rows))
    assert shown(sets, "users") == [("e1", "! ls")]
    assert shown(sets, "results") == []
    assert sets.left_out() == {"system.message": 1}
