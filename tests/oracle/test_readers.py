"""The oracle itself: what it reads from small sessions, and that it detects every kind of loss in an export."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import claude, codex, export
from tests.oracle.common import Sets
from tests.oracle.test_oracle import differences

Rows = list[dict[str, Any]]


def written(folder: Path, rows: Rows) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def user(uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid, "message": {"role": "user", "content": content}, **more}


def assistant(uuid: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "uuid": uuid, "message": {"content": list(blocks)}, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def event(kind: str, ident: str, payload: dict[str, Any], **source: Any) -> dict[str, Any]:
    agent = ident.partition(":")[0]
    return {
        "schema": "katod.event/1",
        "id": ident,
        "kind": kind,
        "session": {"agent": agent, "id": "s"},
        "source": source,
        "payload": payload,
    }


def exported(rows: Rows) -> Sets:
    return export.read("".join(json.dumps(row) + "\n" for row in rows))


SESSION: Rows = [
    user("u1", "before\n\n::start notes\n\nafter"),
    assistant(
        "a1",
        {"type": "thinking", "thinking": "hm"},
        text("\n\nI look."),
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a", "n": 1}},
    ),
    user("u2", [{"type": "tool_result", "tool_use_id": "t1", "content": [text("one"), text("two")]}]),
    assistant("a2", text("Done.")),
    assistant("a2", text("Done.")),
]
EXPORT: Rows = [
    event("user.message", "claude:s:u1:0.0", {"text": "before"}, providerEventId="u1"),
    event("user.kato-command", "claude:s:u1:0.1", {"line": "::start notes"}, providerEventId="u1"),
    event("user.message", "claude:s:u1:0.2", {"text": "after"}, providerEventId="u1"),
    event("assistant.thinking", "claude:s:a1:0", {"text": "hm"}, providerEventId="a1"),
    event("assistant.message", "claude:s:a1:1", {"text": "\n\nI look."}, providerEventId="a1"),
    event(
        "assistant.tool.call",
        "claude:s:a1:2",
        {"toolCallId": "t1", "name": "Read", "input": {"n": 1, "path": "a"}},
        providerEventId="a1",
    ),
    event(
        "assistant.tool.result",
        "claude:s:u2:0",
        {"toolCallId": "t1", "text": "one\ntwo"},
        providerEventId="u2",
    ),
    event("assistant.message", "claude:s:a2:0", {"text": "Done."}, providerEventId="a2"),
]


def test_a_faithful_export_has_no_differences(tmp_path: Path) -> None:
    """The parts of a split message are joined, and a repeated record counts once."""
    native = claude.read(written(tmp_path, SESSION))
    assert differences(native, exported(EXPORT)) == []
    assert native.other == {"other:assistant/thinking": 1, "assistant/repeated": 1}


@pytest.mark.parametrize("number", [0, 1, 2, 4, 5, 6, 7])
def test_a_lost_or_doubled_event_is_seen(tmp_path: Path, number: int) -> None:
    """Every missing or duplicate conversational event is detected."""
    native = claude.read(written(tmp_path, SESSION))
    assert differences(native, exported(EXPORT[:number] + EXPORT[number + 1 :]))
    assert differences(native, exported([*EXPORT, EXPORT[number]]))


def test_a_changed_word_or_id_is_seen(tmp_path: Path) -> None:
    """Texts, inputs and ids are compared, not only counted."""
    native = claude.read(written(tmp_path, SESSION))
    plain = json.dumps(EXPORT)
    for old, new in [("after", "aftr"), ("I look.", "I look. "), ('"n": 1', '"n": 2'), ("two", "2")]:
        assert differences(native, exported(json.loads(plain.replace(old, new)))), (old, new)
    for old, new in [('"t1"', '"t2"'), ('"Read"', '"Write"'), ('Id": "a2"', 'Id": "a3"')]:
        assert differences(native, exported(json.loads(plain.replace(old, new)))), (old, new)


def test_a_difference_is_readable(tmp_path: Path) -> None:
    """A difference shows the multiset, the ids, and the beginning of the text."""
    found = "\n".join(differences(claude.read(written(tmp_path, SESSION)), exported(EXPORT[:-1])))
    assert found.startswith("assistants: missing 1\n")
    assert "'a2'" in found
    assert "Done." in found


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (user("u", "hello"), "hello"),
        (user("u", "hello", isSidechain=True), "hello"),
        (user("u", "<context>\nfix it"), "<context>\nfix it"),
        (user("u", [text("<ide_selection>x</ide_selection>"), text("do it")]), "do it"),
        (user("u", "<command-name>/go</command-name>\n<command-args> a b </command-args>"), "/go a b"),
        (user("u", "<command-message>go is…</command-message>\n<command-name>/go</command-name>"), "/go"),
        (user("u", "<bash-input> ls -l</bash-input>"), "! ls -l"),
        (user("u", "hello", isMeta=True), None),
        (user("u", "hello", isCompactSummary=True), None),
        (user("u", [text("[Request interrupted by user for tool use]")]), None),
        (user("u", "<task-notification>\nx</task-notification>"), None),
        (user("u", "Caveat: The messages below were…"), None),
        (user("u", "  \n"), None),
        ({"type": "attachment", "uuid": "u", "attachment": {"type": "date_change"}}, None),
    ],
)
def test_whose_words_a_claude_record_holds(tmp_path: Path, row: dict[str, Any], said: str | None) -> None:
    """Only what the person wrote is a user text, as the person typed it."""
    expected = Sets()
    if said is not None:
        expected.user("u", said)
    assert claude.read(written(tmp_path, [row])).users == expected.users


@pytest.mark.parametrize(
    ("mode", "prompt", "counts"),
    [("prompt", "go", 1), (None, "go", 1), (None, "<x>", 0), ("task-notification", "go", 0)],
)
def test_queued_commands(tmp_path: Path, mode: str | None, prompt: str, counts: int) -> None:
    """A queued command is the person's if its mode says so or, in old versions, if it looks typed."""
    row = {"type": "queued_command", "prompt": prompt} | ({"commandMode": mode} if mode else {})
    path = written(tmp_path, [{"type": "attachment", "uuid": "q", "attachment": row}])
    assert claude.read(path).users.total() == counts


def queued(operation: str, content: str | None = None) -> dict[str, Any]:
    return {"type": "queue-operation", "operation": operation} | ({"content": content} if content else {})


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([queued("enqueue", "go"), queued("dequeue"), user("u", "go")], 1),
        ([queued("enqueue", "go"), queued("remove"), assistant("a", text("x"))], 1),
        ([queued("enqueue", "go"), queued("remove"), user("u", "go")], 1),
        ([queued("enqueue", "go"), queued("popAll")], 0),
        ([queued("enqueue", "<task-notification>x"), queued("remove"), assistant("a")], 0),
        ([queued("enqueue", '{"task_id": "1"}'), queued("remove"), assistant("a")], 0),
        ([queued("remove")], 0),
        ([queued("enqueue", "go")], 1),
    ],
)
def test_queue_operations(tmp_path: Path, rows: Rows, said: int) -> None:
    """A message typed while the agent worked counts once, wherever the file keeps it."""
    assert claude.read(written(tmp_path, rows)).users.total() == said


def test_assistant_texts_that_nobody_said(tmp_path: Path) -> None:
    """Empty texts are left out, and texts written by the client are other events."""
    synthetic = assistant("b", text("No response requested."))
    synthetic["message"]["model"] = "<synthetic>"
    rows = [
        assistant("a", text("(no content)")),
        synthetic,
        assistant("c", text("x"), isApiErrorMessage=True),
    ]
    sets = claude.read(written(tmp_path, rows))
    assert not sets.assistants
    assert sets.left_out() == {"assistant/empty-text": 1}


def test_a_spilled_result_is_read_from_its_file(tmp_path: Path) -> None:
    """A result is read from its file if that exists; otherwise only the preview counts."""
    preview = "<persisted-output>\nFull output saved to: /home/me/s/tool-results/b1.txt\n\nPreview"
    block = {"type": "tool_result", "tool_use_id": "t", "content": preview}
    path = written(tmp_path, [user("u", [block])])
    expected = Sets()
    expected.result("t", preview)
    assert claude.read(path).results == expected.results
    (tmp_path / "session" / "tool-results").mkdir(parents=True)
    (tmp_path / "session" / "tool-results" / "b1.txt").write_text("all of it", "utf-8")
    expected = Sets()
    expected.result("t", "all of it")
    assert claude.read(path).results == expected.results


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **more}}


def message(role: str, words: str) -> dict[str, Any]:
    return item("message", role=role, content=[{"type": "output_text", "text": words}])


def happened(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **more}}


def completed(kind: str, words: str) -> dict[str, Any]:
    return happened("item_completed", item={"type": kind, "content": [{"type": "Text", "text": words}]})


def started(mode: str | None) -> dict[str, Any]:
    return {"type": "session_meta", "payload": {"id": "s"} | ({"history_mode": mode} if mode else {})}


BOTH_FORMS: Rows = [
    message("developer", "rules"),
    message("user", "<environment_context>"),
    happened("user_message", message="legacy"),
    completed("UserMessage", "paginated"),
    completed("AgentMessage", "paginated"),
    happened("agent_message", message="legacy"),
    message("assistant", "legacy"),
]


@pytest.mark.parametrize(("mode", "said"), [(None, "legacy"), ("default", "legacy"), ("paginated", "paginated")])
def test_the_first_session_meta_decides_which_form_of_codex_counts(tmp_path: Path, mode: str | None, said: str) -> None:
    """Each message is read in one form only, even if another form repeats it."""
    sets = codex.read(written(tmp_path, [started(mode), *BOTH_FORMS, started("paginated")]))
    assert [sets.shown[key] for _, key in sets.users] == [said]
    assert [sets.shown[key] for _, key in sets.assistants] == [said]
    assert sum(sets.left_out().values()) == 5


def test_an_editor_preamble_is_not_the_person(tmp_path: Path) -> None:
    """Only the text after the last request heading was typed."""
    wrapped = "# Context from my IDE setup:\n## My request for Codex:\nold\n## My request for Codex:\n\nfix it\n"
    sets = codex.read(written(tmp_path, [happened("user_message", message=wrapped)]))
    assert [sets.shown[key] for _, key in sets.users] == ["fix it"]


CALLS: Rows = [
    item("function_call", call_id="c1", name="exec", arguments='{"cmd": "ls"}'),
    item("function_call_output", call_id="c1", output='{"output": "a\\n", "metadata": {"exit_code": 0}}'),
    item("custom_tool_call", call_id="c2", name="apply_patch", input="*** Begin"),
    item("custom_tool_call_output", call_id="c2", output=[text("x"), text("y")]),
    item("web_search_call", action={"type": "search", "query": "q"}),
]
CALL_EVENTS: Rows = [
    event(
        "assistant.tool.call",
        "codex:s:r@0:0",
        {"toolCallId": "c1", "name": "exec", "input": {"cmd": "ls"}},
        providerEventType="response_item/function_call",
    ),
    event(
        "assistant.tool.result",
        "codex:s:r@1:0",
        {"toolCallId": "c1", "text": "a\n", "exitCode": 0},
        providerEventType="response_item/function_call_output",
    ),
    event(
        "assistant.tool.call",
        "codex:s:r@2:0",
        {"toolCallId": "c2", "name": "apply_patch", "input": {"input": "*** Begin"}},
        providerEventType="response_item/custom_tool_call",
    ),
    event(
        "assistant.tool.result",
        "codex:s:r@3:0",
        {"toolCallId": "c2", "text": "x\ny"},
        providerEventType="response_item/custom_tool_call_output",
    ),
    event(
        "assistant.tool.call",
        "codex:s:r@4:0",
        {"toolCallId": "ws", "name": "web_search", "input": {"query": "q", "type": "search"}},
        providerEventType="response_item/web_search_call",
    ),
]


def test_codex_calls_compare_by_what_they_say(tmp_path: Path) -> None:
    """Arguments compare as JSON text or object, output plain or wrapped, free input bare or in an object."""
    native = codex.read(written(tmp_path, CALLS))
    assert differences(native, exported(CALL_EVENTS)) == []
    for number in range(len(CALL_EVENTS)):
        assert differences(native, exported(CALL_EVENTS[:number] + CALL_EVENTS[number + 1 :]))


def test_codex_texts_are_known_by_where_they_stand(tmp_path: Path) -> None:
    """The byte offsets of their lines distinguish equal texts, in either mode."""
    rows = [started("paginated"), completed("UserMessage", "go"), completed("AgentMessage", "Größe")]
    offsets = [len("".join(json.dumps(row) + "\n" for row in rows[:n]).encode()) for n in range(3)]
    native = codex.read(written(tmp_path, rows))
    events = [
        event("user.message", "codex:s:r@1:0", {"text": "go"}, offset=offsets[1]),
        event("assistant.message", "codex:s:r@2:0", {"text": "Größe"}, offset=offsets[2]),
    ]
    assert differences(native, exported(events)) == []
    assert len(differences(native, exported([events[1], events[0] | {"source": {"offset": 0}}]))) == 4


@pytest.mark.parametrize("read", [claude.read, codex.read])
def test_what_is_no_session_holds_no_conversation(tmp_path: Path, read: Callable[[Path], Sets]) -> None:
    """Unknown records and damaged lines are counted, but never as conversation."""
    path = tmp_path / "flat.jsonl"
    path.write_bytes(b'{"role": "user", "content": "hi"}\n\n[1]\n{"type": "user", "mess\n\xff')
    sets = read(path)
    assert not any((sets.users, sets.assistants, sets.calls, sets.results))
    assert sets.other == Counter({"other:untyped": 1, "other:not-an-object": 1, "invalid-json": 2})
