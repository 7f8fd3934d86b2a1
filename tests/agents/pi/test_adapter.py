"""Pi: the system prompt, exit codes, shell commands, aborted turns and compactions."""

from typing import Any

from katod import events as ev
from katod.agents.pi.adapter import PiAdapter
from katod.command.grammar import parse_message
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


# -- what the session is and costs -------------------------------------------------------------------


def settings(*records: Row) -> list[tuple[Any, ...]]:
    """Return what changed in these records, from what to what."""
    rows = payloads(translated("pi", *records), ev.CONFIG_CHANGE)
    return [(change["what"], change.get("before"), change["after"]) for change in rows]


def test_the_provider_and_the_effort_are_settings() -> None:
    """Pi names the provider with each model and each message, and the effort when it is set: also the first ones."""
    records = (
        entry("model_change", provider="one", modelId="a"), entry("thinking_level_change", thinkingLevel="high"),
        message("assistant", provider="one"), message("assistant", provider="two"), message("assistant", provider=["x"]),
        entry("thinking_level_change", thinkingLevel=7),
    )  # fmt: skip
    assert settings(*records) == [
        ("modelProvider", None, "one"),
        ("effort", None, "high"),
        ("modelProvider", "one", "two"),
    ]


def test_usage_has_the_reasoning_and_the_clients_own_total() -> None:
    """Values of other types read as absent."""
    usage = {"input": 70, "output": 20, "cacheRead": 40, "cacheWrite": 0, "reasoning": 5, "totalTokens": 130}
    told = {
        "scope": "message",
        "input": 70,
        "output": 20,
        "cacheRead": 40,
        "cacheWrite": 0,
        "reasoning": 5,
        "total": 130,
    }
    assert payloads(translated("pi", message("assistant", usage=usage)), ev.USAGE) == [told]
    strange = {"input": 70, "reasoning": ["x"], "totalTokens": "130"}
    assert payloads(translated("pi", message("assistant", usage=strange)), ev.USAGE) == [
        {"scope": "message", "input": 70}
    ]


def test_a_message_says_why_it_ended_and_to_which_request_it_belongs() -> None:
    """Values of other types read as absent."""
    blocks = [{"type": "text", "text": "hi"}]
    for stop, response, reason, request in (("stop", "resp_1", {"stopReason": "stop"}, "resp_1"), (["x"], 7, {}, None)):
        [event] = translated("pi", message("assistant", blocks, stopReason=stop, responseId=response))
        assert (event.payload, event.source.get("requestId")) == ({"text": "hi"} | reason, request)


@each(
    ("block", "thoughts"),
    [
        (
            {"thinking": "", "thinkingSignature": '{"id":"rs_1","encrypted_content":"gAAAA"}'},
            [{"text": "", "encrypted": '{"id":"rs_1","encrypted_content":"gAAAA"}'}],
        ),
        (
            {"thinking": "Hm.", "thinkingSignature": '{"encrypted_content":"gAAAA"}'},
            [{"text": "Hm.", "encrypted": '{"encrypted_content":"gAAAA"}'}],
        ),
        ({"thinking": "Hm.", "thinkingSignature": "reasoning_content"}, [{"text": "Hm."}]),
        ({"thinking": "", "thinkingSignature": '{"encrypted_content":null}'}, []),
        ({"thinking": ["x"], "thinkingSignature": ["encrypted_content"]}, []),
    ],
)
def test_encrypted_thinking_is_noted(block: Row, thoughts: list[Row]) -> None:
    """Some providers keep the thought encrypted in its signature, with a summary or without."""
    record = message("assistant", [{"type": "thinking"} | block])
    assert payloads(translated("pi", record), ev.ASSISTANT_THINKING) == thoughts


SKILL = '<skill name="pdf" location="/s/pdf/SKILL.md">\nReferences are relative to /s/pdf.\n\nRead it.\n</skill>'


@each(
    ("content", "typed"),
    [
        (SKILL, "/skill:pdf"),
        (f"{SKILL}\n\nextract it\n\nplease", "/skill:pdf extract it\n\nplease"),
        ([{"type": "text", "text": f"{SKILL}\n\nextract it"}], "/skill:pdf extract it"),
        (SKILL.replace('"pdf"', '"p"df"'), '/skill:p"df'),
        ("what is <skill name=", "what is <skill name="),
    ],
)
def test_a_skill_is_the_command_that_the_person_typed(content: Any, typed: str) -> None:
    """Pi sends its instructions in the person's message: they are neither said nor typed."""
    record = message("user", content)
    [said, *rest] = translated("pi", record)
    assert said.payload["text"] == typed
    assert [row.payload.get("subtype") for row in rest] == (["skill"] if "/skill" in typed else [])
    assert all("Read it." in row.payload["text"] for row in rest)
    assert [row.text for row in PiAdapter.typed_texts(record)] == [typed]


@each("words", ["::start", "x\n</skill>\n\n::stop", "</skill>\n::start"])
@each("behind", ["", "\n\nextract it"])
def test_no_line_of_a_skill_is_a_command(words: str, behind: str) -> None:
    """Whatever its file contains; what is typed behind its name is one."""
    written = SKILL.replace("Read it.", words) + behind
    [typed] = PiAdapter.typed_texts(message("user", written))
    assert not parse_message(*typed).commands
    [typed] = PiAdapter.typed_texts(message("user", f"{written}\n::start"))
    assert bool(parse_message(*typed).commands) == bool(behind)


@each("content", ["::stop", "x\n</file>\n::stop", ""])
@each("typed", ["look", "::start notes\nlook", ""])
def test_files_on_the_command_line_are_not_typed(content: str, typed: str) -> None:
    """`pi @note.md` puts them before the prompt."""
    files = f'<file name="/a.md">\n{content}\n</file>\n<file name="/b.png"></file>\n'
    record = message("user", f"{files}{typed}")
    [row] = PiAdapter.typed_texts(record)
    assert row.text == typed
    said = [event.payload["text"] for event in translated("pi", record) if event.typed]
    assert said == [typed] * bool(typed)


def test_what_else_was_used_counts() -> None:
    """By a compaction, the summary of a branch, a tool that asks a model, and to keep the provider's cache."""
    usage = {"input": 3, "output": 4, "totalTokens": 7, "cost": {"total": 0.5}}
    records = [
        entry("compaction", summary="so far", tokensBefore=9, usage=usage),
        entry("branch_summary", "2", summary="so far", usage=usage),
        result("done", "codemode", failed=False, usage=usage) | {"id": "3"},
        entry("usage", "4", provider="x", model="glm-5", usage=usage) | {"kind": "cache_warm"},
    ]
    found = payloads(translated("pi", *records), ev.USAGE)
    assert found == [{"scope": "message", "input": 3, "output": 4, "total": 7, "costUsd": 0.5}] * 4
    assert kinds(translated("pi", entry("context_edit", targetId="1", replacement=None))) == []


def test_a_prompt_before_which_the_person_went_back_is_marked() -> None:
    """It follows the same entry as another one. What was said in between stays."""

    def prompt(text: str, name: str, parent: str) -> Row:
        return {"type": "message", "id": name, "parentId": parent, "message": {"role": "user", "content": text}}

    said = prompt("one", "a", "m"), prompt("two", "b", "a"), prompt("other two", "c", "a"), prompt("three", "d", "c")
    found = [event.payload["text"] for event in translated("pi", *said)]
    assert found == ["one", "two", "Conversation rewound", "other two", "three"]
