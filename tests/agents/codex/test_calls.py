"""Codex: calls made from scripts, and the edits that the client records."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.agents.base import Origin
from katod.agents.codex import SPEC
from katod.agents.codex.tools import finding, responses
from katod.events import Event
from katod.model import Record
from tests.agents.codex.test_script import VALUES
from tests.examples import examples
from tests.looping import each
from tests.support.translated import payloads, translated

CHANGES = {"/a/b.ts": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-old\n+new\n"}}
PATCH = 'const patch = "*** Begin Patch\\n*** Update File: /a/b.ts\\n@@\\n-old\\n+new"; tools.apply_patch(patch)'


def script(text: str, call: str = "c1") -> dict[str, Any]:
    """Return the record of a script."""
    payload = {"type": "custom_tool_call", "name": "exec", "call_id": call, "input": text}
    return {"type": "response_item", "payload": payload}


def test_an_answer_names_its_question_and_what_of_it_was_typed() -> None:
    """What is none of the labels was typed; without labels, everything was chosen."""
    given = json.dumps({"answers": {"q": {"answers": ["a", "mine"]}, "r": {"answers": ["b"]}}})
    assert responses("c", given, {"c:q": ["a"]}) == [
        {"decisionId": "c:q", "selections": ["a"], "freeText": "mine"},
        {"decisionId": "c:r", "selections": ["b"]},
    ]


def test_an_answer_tells_what_was_chosen_of_what_the_question_offered() -> None:
    """It is remembered what that was, until the answer comes."""
    offered = {"questions": [{"id": "q", "question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}
    call = {"type": "function_call", "name": "request_user_input", "call_id": "c", "arguments": json.dumps(offered)}
    given = json.dumps({"answers": {"q": {"answers": ["a", "mine"]}}})
    answer = {"type": "function_call_output", "call_id": "c", "output": given}
    events = read(*({"type": "response_item", "payload": row} for row in (call, answer)))
    [said] = payloads(events, ev.DECISION_RESPONSE)
    assert (said["selections"], said["freeText"]) == (["a"], "mine")


def output(*texts: str, state: str = "completed", call: str = "c1") -> dict[str, Any]:
    """Return the record of a script's output."""
    head = f"Script {state}\nWall time 1.5 seconds\nOutput:\n"
    blocks = [{"type": "input_text", "text": text} for text in (head, *texts)]
    return {"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": call, "output": blocks}}


def applied(call: str = "exec-1", **fields: Any) -> dict[str, Any]:
    """Return the record of an applied patch."""
    row = {"type": "patch_apply_end", "call_id": call, "success": True, "stdout": "Success.", "changes": CHANGES}
    return {"type": "event_msg", "payload": row | fields}


def read(*records: dict[str, Any]) -> list[Event]:
    """Return the events of a rollout; the adapter starts again from its state after each record."""
    origin = Origin(SPEC.named(Path("/tmp/x.jsonl")), Path("/tmp/x.jsonl"))
    state: dict[str, Any] | None = None
    events: list[Event] = []
    for n, row in enumerate(records):
        adapter = SPEC.adapter(origin, state)
        events += adapter.feed(Record(n * 1000, row))
        state = adapter.state()
    return events


def test_a_command_in_a_script_is_a_shell_call() -> None:
    """A script that only runs a command is shown as that command; the script is kept beside it."""
    text = 'const r = await tools.exec_command({cmd:"make test","workdir":"/a"}); text(r.output)'
    [call] = read(script(text))
    assert call.payload == {
        "toolCallId": "c1", "name": "exec_command", "family": "execute", "description": "make test",
        "input": {"cmd": "make test", "workdir": "/a"}, "script": text,
    }  # fmt: skip


@each(
    ("text", "name", "family", "description"),
    [
        (PATCH, "apply_patch", "edit", "/a/b.ts"),
        ('tools.write_stdin({session_id:1,chars:"y\\n"})', "write_stdin", "execute", "y"),
        ('tools.web__run({search_query:[{q:"carts"}]})', "web__run", "fetch", "carts"),
        ('tools.update_plan({plan:[{step:"a"}]})', "update_plan", "think", "1 item"),
        ('tools.mcp__tracker__search({query:"cart"})', "mcp__tracker__search", "mcp", "cart"),
        ('tools.exec_command({cmd:"a"}); tools.exec_command({cmd:"b"})', "exec", "execute", "a; b"),
        ('tools.exec_command({cmd:"a"}); tools.apply_patch("*** Add File: c")', "exec", "execute", "a; c"),
        ("const x = 1;\ntools.exec_command({cmd: x})", "exec", "execute", "const x = 1; …"),
        ("tools.apply_patch(patch)", "exec", "edit", "tools.apply_patch(patch)"),
        ("text(1)", "exec", "execute", "text(1)"),
        ("", "exec", "execute", None),
    ],
)
def test_a_script_is_typed_by_what_it_calls(text: str, name: str, family: str, description: str | None) -> None:
    """One written-out call gives its name; several give what each is about, all others the first line of the script."""
    [call] = read(script(text))
    assert [call.payload.get(key) for key in ("name", "family", "description")] == [name, family, description]


def test_the_output_of_a_script_is_what_it_printed() -> None:
    """The client's own first block is status and duration, not text."""
    _, result = read(script("text(1)"), output("one", "two"))
    assert result.payload == {"toolCallId": "c1", "text": "one\ntwo", "durationMs": 1500}


@each("state", ["failed", "terminated"])
def test_a_failed_script_is_a_failure(state: str) -> None:
    """The result of a failed script is an error, and its text is the message."""
    _, result = read(script("text(1)"), output("Script error:\nno such tool", state=state))
    assert (result.payload["isError"], result.payload["text"]) == (True, "no such tool")


def test_an_exit_code_that_a_script_prints_counts() -> None:
    """A script that prints a whole result shows its exit code; output that merely mentions one does not."""
    printed = '{"chunk_id":"a1","wall_time_seconds":0.8,"exit_code":3,"output":"x"}'
    results = read(script("text(1)"), output(printed), script("text(1)"), output("Exit code: 3"))[1::2]
    assert [result.payload.get("exitCode") for result in results] == [3, None]
    assert [result.payload.get("isError") for result in results] == [True, None]


def test_a_patch_shows_its_files_and_lines() -> None:
    """The result of a patch says which files it changed, and how many lines it added and removed."""
    call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": "*** Begin Patch"}
    done = {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"}
    rows = [{"type": "response_item", "payload": row} for row in (call, done)]
    result = read(rows[0], applied("c1"), rows[1])[-1]
    row = {"path": "/a/b.ts", "change": "update", "added": 1, "removed": 1, "ranges": [[1, 1]]}
    assert result.payload["structured"]["files"] == [row]


def test_an_edit_that_a_script_computes_is_a_call_of_its_own() -> None:
    """A patch that is not written out in the script is shown when the client has applied it."""
    events = read(script("for (const p of ps) { tools.apply_patch(p); tools.a(p) }"), applied(), output())
    assert [event.kind for event in events] == [ev.TOOL_CALL, ev.TOOL_CALL, ev.TOOL_RESULT, ev.TOOL_RESULT]
    call, result = (event.payload for event in events[1:3])
    assert (call["toolCallId"], call["name"], call["family"]) == ("exec-1", "apply_patch", "edit")
    assert (call["description"], call["input"].count("\n+")) == ("/a/b.ts", 1)
    assert (result["toolCallId"], result["text"]) == ("exec-1", "Success.")
    assert result["structured"]["files"][0]["added"] == 1


def test_a_patch_in_a_script_is_shown_once() -> None:
    """A script that was shown as a patch gets the files of all its patches in its result."""
    call, result = read(script(PATCH), applied(), applied("exec-2"), output())
    assert call.payload["family"] == "edit"
    assert len(result.payload["structured"]["files"]) == 2


def test_a_patch_that_failed_is_a_failure() -> None:
    """A patch that the client could not apply is an error with its message."""
    result = read(script("tools.a(p)"), applied(success=False, stdout="", stderr="no match"))[-1]
    assert (result.payload["isError"], result.payload["text"]) == (True, "no match")


@examples(3, 1_000)
@given(st.sampled_from(["exec_command", "apply_patch", "update_plan", "mcp__a__b"]), VALUES, VALUES)
def test_no_script_or_patch_raises(name: str, value: Any, changes: Any) -> None:
    """Whatever a script passes on, and whatever a patch is said to have changed, it is translated."""
    text = f"tools.{name}({json.dumps(value)})"
    events = read(script(text), applied(changes=changes), applied(changes={"a": changes}), output())
    kinds = [event.kind for event in events]
    assert (kinds[0], kinds[-1]) == (ev.TOOL_CALL, ev.TOOL_RESULT)


def test_the_output_of_a_search_for_tools_is_their_names_if_it_has_no_other() -> None:
    """Codex records the tools that were found beside the output, or in place of it."""
    found = {"type": "tool_search_output", "call_id": "c1", "tools": [{"name": "mcp__a"}, {"name": "mcp__b"}]}
    said = [{"type": "input_text", "text": "two tools"}]
    for payload, text in ((found, "mcp__a\nmcp__b"), (found | {"output": said}, "two tools")):
        [result] = payloads(translated("codex", {"type": "response_item", "payload": payload}), ev.TOOL_RESULT)
        assert result["text"] == text


@each(("status", "kept"), [("failed", {"status": "failed"}), ("x" * 101, {"status": "x" * 100}), (7, {})])
def test_the_status_of_an_execution_is_kept_for_the_result(status: Any, kept: dict[str, Any]) -> None:
    """As far as it is short: it is remembered until the result arrives."""
    assert finding({"status": status}) == kept
