"""The rules of the readers for agents of 2026, each tested with a small session."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import antigravity, cline, kimi, qwen, vscode
from tests.oracle.common import INVALID
from tests.oracle.test_more_readers import Rows, shown, written


def turn(uuid: str, *parts: dict[str, Any], kind: str = "user", **more: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": uuid, "message": {"parts": list(parts)}, **more}


def test_qwen_reads_what_was_typed_and_not_what_a_hook_added(tmp_path: Path) -> None:
    """`displayText` is what was typed; without it, the parts that no hook added. Prompts while busy count."""
    hook = {"text": "<qwen:user-prompt-submit-context>\nx\n</qwen:user-prompt-submit-context>"}
    rows: Rows = [
        turn("u1", {"text": "the contents of @a.py"}, hook, systemPayload={"displayText": "look at @a.py"}),
        turn("u2", {"text": "go on"}, hook, subtype="mid_turn_user_message"),
        turn("u3", {"text": "done"}, subtype="notification"),
        {"type": "system", "subtype": "ui_telemetry"},
    ]
    sets = qwen.read(written(tmp_path, rows))
    assert shown(sets, "users") == [("u1", "look at @a.py"), ("u2", "go on")]
    assert sets.other == {"other:user/notification": 1, "system/ui_telemetry": 1}


def test_qwen_reads_of_a_shell_what_it_printed(tmp_path: Path) -> None:
    """The result of a shell is its output, that of any other tool is what the model received, also an error."""
    call = {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "ls"}}}
    results = [
        ({"id": "c1", "response": {"output": "Command: ls\nOutput: a"}}, {"type": "shell_result", "output": "a"}),
        ({"id": "c2", "response": {"error": "no such file"}}, "shown otherwise"),
    ]
    rows: Rows = [
        turn("a1", {"text": "hm", "thought": True}, {"text": "I look."}, call, kind="assistant", usageMetadata={}),
        *(
            turn("r", {"functionResponse": response}, kind="tool_result", toolCallResult={"resultDisplay": display})
            for response, display in results
        ),
    ]
    sets = qwen.read(written(tmp_path, rows))
    assert shown(sets, "assistants") == [("a1", "I look.")]
    assert shown(sets, "calls") == [("c1", '{"command":"ls"}')]
    assert shown(sets, "results") == [("c1", "a"), ("c2", "no such file")]


def test_cline_reads_between_the_first_and_the_last_tag(tmp_path: Path) -> None:
    """A prompt may contain a closing tag; a sub-agent's task has none. Line ends of a paste are lines."""
    texts = ['<user_input mode="act">a</user_input> b\rc</user_input>', "a task"]
    messages = [
        {"id": str(at), "role": "user", "content": [{"type": "text", "text": text}]} for at, text in enumerate(texts)
    ]
    path = tmp_path / "x.messages.json"
    path.write_text(json.dumps({"messages": messages}))
    assert shown(cline.read(path), "users") == [("0", "a</user_input> b\nc"), ("1", "a task")]
    path.write_text("{")
    assert cline.read(path).other == {INVALID: 1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([{"query": "ls", "result": "a"}, {"query": "x", "result": "", "error": "no"}], "a\nno"),
        ('{"query": "edit", "result": "Edited"}', "Edited"),
        ('{"text": "Two files."}', "Two files."),
        ("SQLite", "SQLite"),
        ('["a"]', '["a"]'),
    ],
)
def test_cline_results_are_words(content: Any, words: str) -> None:
    """Results are lists, JSON text or words."""
    assert cline.result_text(content) == words


def loop(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "context.append_loop_event", "event": {"type": kind, **more}}


def test_kimi_reads_each_prompt_once(tmp_path: Path) -> None:
    """Prompts and steered ones count; their repetitions in the context, hooks and cron jobs do not."""
    words = [{"type": "text", "text": "go"}]
    context = {"type": "context.append_message", "message": {"role": "user", "content": words}}
    rows: Rows = [
        {"type": "metadata", "protocol_version": "1.5"},
        {"type": "turn.prompt", "input": words, "origin": {"kind": "user"}, "promptId": "p1"},
        context,
        {"type": "prompt.steered", "content": words, "messageId": "m1"},
        {"type": "turn.steer", "input": words, "messageId": "m1"},
        {"type": "turn.prompt", "input": words, "origin": {"kind": "cron_job"}},
        loop("content.part", uuid="a1", part={"type": "text", "text": "I look."}),
        loop("tool.call", toolCallId="c1", name="Bash", args={"command": "ls"}),
        loop("tool.result", toolCallId="c1", result={"output": "a"}),
    ]
    sets = kimi.read(written(tmp_path, rows))
    assert shown(sets, "users") == [("m1", "go"), ("p1", "go")]
    assert [shown(sets, name) for name in ("assistants", "calls", "results")] == [
        [("a1", "I look.")], [("c1", '{"command":"ls"}')], [("c1", "a")],
    ]  # fmt: skip
    assert sets.other["other:turn.prompt/cron_job"] == 1
    old = kimi.read(written(tmp_path, [{"type": "metadata", "protocol_version": "1.1"}, context]))
    assert shown(old, "users") == [("", "go")]


def test_antigravity_reads_prompts_without_what_surrounds_them(tmp_path: Path) -> None:
    """What the client adds to a prompt and to a result is no part of it; checkpoints, which quote prompts, do not count."""
    content = "<USER_REQUEST>\na </USER_REQUEST> b\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx\n</ADDITIONAL_METADATA>"
    rows: Rows = [
        {"step_index": 0, "source": "USER_EXPLICIT", "type": "USER_INPUT", "content": content},
        {"step_index": 1, "source": "SYSTEM", "type": "CHECKPOINT", "content": content},
        {
            "step_index": 2,
            "source": "MODEL",
            "type": "PLANNER_RESPONSE",
            "tool_calls": [{"name": "ls", "args": {"d": '"/tmp"'}}],
        },
        {"step_index": 3, "source": "MODEL", "type": "RUN_COMMAND", "content": "Created At: x\nCompleted At: y\na"},
    ]
    for name, path in (("transcript.jsonl", '{"d":"/tmp"}'), ("transcript_full.jsonl", '{"d":"\\"/tmp\\""}')):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        sets = antigravity.read(tmp_path / name)
        assert shown(sets, "users") == [("0", "a </USER_REQUEST> b")]
        assert shown(sets, "calls") == [("", path)]
        assert shown(sets, "results") == [("", "a")]
        assert sets.other == {"CHECKPOINT": 1}


def test_vscode_follows_the_journal(tmp_path: Path) -> None:
    """Lines set, append after a cut, and delete; a draft is no prompt, and the client's own prompts do not count."""
    first = {"requestId": "r1", "message": {"text": "go"}, "response": [{"value": "I "}]}
    call = {"id": "c1__vscode-7", "name": "read_file", "arguments": '{"filePath": "a"}'}
    rounds = {
        "toolCallRounds": [{"response": "I look.", "toolCalls": [call]}],
        "toolCallResults": {"c1__vscode-7": {"content": [{"value": "1: a"}]}},
    }
    rows: Rows = [
        {"kind": 0, "v": {"requests": [], "inputState": {"inputText": "::stop"}}},
        {"kind": 2, "k": ["requests"], "v": [first, {"requestId": "r2", "message": {"text": "undone"}}]},
        {"kind": 2, "k": ["requests"], "v": [{"requestId": "r3", "message": {"text": "x"}, "isSystemInitiated": True}], "i": 1},
        {"kind": 3, "k": ["inputState", "inputText"]},
    ]  # fmt: skip
    assert shown(vscode.read(written(tmp_path, rows)), "assistants") == [("r1", "I ")]
    rows.append({"kind": 1, "k": ["requests", 0, "result"], "v": {"metadata": rounds}})
    sets = vscode.read(written(tmp_path, rows))
    assert [shown(sets, name) for name in ("users", "assistants", "calls", "results")] == [
        [("r1", "go")], [("r1", "I look.")], [("c1", '{"filePath":"a"}')], [("c1", "1: a")],
    ]  # fmt: skip
    assert sets.other == {"other:request/of-the-client": 1}


def test_vscode_reads_names_and_trees() -> None:
    """A name in the middle of an answer belongs to it; a result may be a tree of texts, some of which begin a line."""
    file = {"kind": "inlineReference", "inlineReference": {"path": "/a/b.py"}}
    assert vscode.shown([{"value": "See "}, file, {"value": "."}, {"kind": "undoStop", "value": "x"}]) == "See `b.py`."
    leaves = [{"text": "one", "lineBreakBefore": True}, {"children": [{"text": "two", "lineBreakBefore": True}]}]
    assert vscode._words({"value": {"node": {"children": leaves}}}) == "one\ntwo"
