"""Cline: what was typed, the forms of results, edits, questions, what is beside the messages."""

import json
from pathlib import Path
from typing import Any

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.cline import manifest as manifest_
from katod.agents.cline.adapter import ClineAdapter
from katod.agents.cline.manifest import reported
from katod.events import Event
from katod.metadata import SessionStart
from katod.model import Identity, SessionKey, TypedText
from katod.states import Report, State
from tests.looping import each
from tests.support.records import Cline
from tests.support.translated import Row, kinds, payloads, translated

MAKE = Cline()
HEAD = {"version": 1, "agent": "lead", "sessionId": "1_abc", "origin": {"mode": "user", "version": "3.0.65"}}


def document(*messages: Row, **head: Any) -> Row:
    return HEAD | head | {"messages": list(messages)}


def typed(text: str) -> Row:
    return MAKE.message("user", {"type": "text", "text": text})


def told(*messages: Row, **head: Any) -> list[Event]:
    return translated("cline", document(*messages, **head))[1:]


@each(
    ("text", "words"),
    [
        ('<user_input mode="act">go</user_input>', "go"),
        ('<user_input mode="plan">go</user_input>\n', "go"),
        ('<user_input mode="act">a </user_input> b</user_input>', "a </user_input> b"),
        ('<user_input mode="act">one\rtwo\r\nthree\nfour</user_input>', "one\ntwo\nthree\nfour"),
        ("go", None),
        ('Before <user_input mode="act">go</user_input>', None),
        ('<user_input mode="act">go</user_input> behind', None),
    ],
)
def test_what_was_typed(text: str, words: str | None) -> None:
    """It is in an element, up to the last closing tag; a line ends at a carriage return, too."""
    assert ClineAdapter.typed_texts(document(typed(text))) == ([TypedText(words)] if words else [])
    [event] = told(typed(text))
    assert (event.kind, event.typed) == ((ev.USER_MESSAGE, True) if words else (ev.SYSTEM_MESSAGE, False))
    assert event.payload["text"] == (words or text)


@each("head", [{"agent": "subagent"}, {"origin": {"mode": "subagent"}}, {"origin": {"mode": "scheduled"}}])
def test_nothing_is_typed_in_another_documents(head: Row) -> None:
    """A sub-agent's task, and what a program sends, is not typed, whatever is around it."""
    text = '<user_input mode="act">::start evil</user_input>'
    assert ClineAdapter.typed_texts(document(typed(text), **head)) == []
    assert [event.typed for event in told(typed(text), **head)] == [False]


def test_a_document_without_an_origin_is_the_persons() -> None:
    """Before 3.0.65 there was none."""
    old = {
        name: value
        for name, value in document(typed('<user_input mode="act">go</user_input>')).items()
        if name != "origin"
    }
    assert ClineAdapter.typed_texts(old) == [TypedText("go")]


@each(
    ("content", "expected"),
    [
        ([{"query": "a", "result": "one", "success": True}, {"query": "b", "result": "two", "success": True}], {"text": "one\ntwo"}),
        ([{"result": "[Command exited with code 3]\nbad", "success": False}], {"text": "[Command exited with code 3]\nbad", "isError": True, "exitCode": 3}),
        ([{"result": "fine", "success": True}, {"error": "bad", "success": False}], {"text": "fine\nbad", "isError": True}),
        (json.dumps({"result": "", "error": "No match", "success": False}), {"text": "No match", "isError": True}),
        (json.dumps({"text": "The answer", "iterations": 1}), {"text": "The answer"}),
        ([{"result": "", "error": "Command failed: Command was aborted", "success": False}], {"text": "Command failed: Command was aborted", "status": "interrupted"}),
        ("words", {"text": "words"}),
        ("[1]", {"text": "[1]"}),
    ],
)  # fmt: skip
def test_the_forms_of_a_result(content: Any, expected: Row) -> None:
    """A list of answers, an answer as JSON, or words."""
    events = told(MAKE.calls("c1", "run_commands", commands=["make"]), MAKE.result("c1", "run_commands", content))
    assert payloads(events, ev.TOOL_RESULT) == [{"toolCallId": "c1"} | expected]


def test_a_refused_call_is_told_from_one_that_failed() -> None:
    """By the client's words, where the call itself failed."""
    words = "This tool call was rejected by the user and not executed. -- NOT a tool or system failure."
    for said, denied in ((words, True), ("No such tool", False)):
        refused = MAKE.result("c1", "run_commands", json.dumps({"error": said}), is_error=True)
        [payload] = payloads(told(MAKE.calls("c1", "run_commands", commands=["make"]), refused), ev.TOOL_RESULT)
        assert (payload["isError"], payload.get("denied", False)) == (True, denied)


def test_an_edit_says_which_lines_it_changed() -> None:
    """From the numbers in its result; a new file has all its lines."""
    diff = "Edited /p/a\n```diff\n-3: old\n+3: new\n+4: more\n+9: last\n```"
    made = MAKE.result("c1", "editor", json.dumps({"result": diff, "success": True}))
    events = told(MAKE.calls("c1", "editor", path="/p/a", old_text="old", new_text="new"), made)
    changed = {"path": "/p/a", "change": "update", "added": 3, "removed": 1, "ranges": [[3, 4], [9, 9]]}
    assert payloads(events, ev.TOOL_RESULT)[0]["structured"] == {"files": [changed]}
    made = MAKE.result("c1", "editor", json.dumps({"result": "File created successfully at: /p/a", "success": True}))
    events = told(MAKE.calls("c1", "editor", path="/p/a", new_text="one\ntwo\n"), made)
    assert payloads(events, ev.TOOL_RESULT)[0]["structured"]["files"][0]["added"] == 2


@each(("answer", "chosen"), [("A", {"selections": ["A"]}), ("other", {"selections": [], "freeText": "other"})])
def test_a_question_and_its_answer(answer: str, chosen: Row) -> None:
    """Options are texts; the answer is the result."""
    events = told(
        MAKE.calls("c1", "ask_question", question="Which?", options=["A", "B"]),
        MAKE.result("c1", "ask_question", answer),
    )
    assert payloads(events, ev.DECISION_PROMPT)[0]["options"] == [{"label": "A"}, {"label": "B"}]
    assert payloads(events, ev.DECISION_RESPONSE) == [{"decisionId": "c1:0"} | chosen]


def test_usage_has_its_cost() -> None:
    """The client counts what it pays for."""
    said = MAKE.message(
        "assistant", {"type": "text", "text": "hi"}, metrics={"inputTokens": 9, "outputTokens": 2, "cost": 0.5}
    )
    assert payloads(told(said), ev.USAGE) == [{"scope": "message", "input": 9, "output": 2, "costUsd": 0.5}]


def test_a_picture_that_a_tool_reads_is_an_attachment() -> None:
    """It is beside the words of its answer."""
    picture = {"type": "image", "data": "iVBORw0KGgo=", "mediaType": "image/png"}
    read = [{"query": "a.png", "result": [{"type": "text", "text": "Read it."}, picture], "success": True}]
    call, result = MAKE.calls("c1", "read_files", files=["a.png"]), MAKE.result("c1", "read_files", read)
    [shown] = [event for event in told(call, result) if event.kind == ev.TOOL_RESULT]
    assert (shown.payload["text"], "isError" in shown.payload) == ("Read it.", False)
    assert (shown.payload["attachments"][0]["bytes"], len(shown.blobs)) == (8, 1)


def session(folder: Path, **manifest: Any) -> Path:
    path = folder / "1_abc" / "1_abc.messages.json"
    path.parent.mkdir()
    (path.parent / "1_abc.json").write_text(json.dumps(manifest))
    return path


def test_the_manifest_has_the_folder_and_a_compaction_is_beside_it(tmp_path: Path) -> None:
    """The compaction stands below the message that was the last one then."""
    path = session(tmp_path, cwd="/p", metadata={"git": {"branch": "main"}}, started_at="2026-11-22T00:15:26.131Z")
    kept = {"source_last_message_key": "id:m1", "updated_at": "2026-11-22T00:16:00.000Z", "messages": []}
    path.with_name("1_abc.compaction.json").write_text(json.dumps(kept))
    said = [MAKE.says({"type": "text", "text": text}) | {"id": text} for text in ("m1", "m2")]
    events = translated("cline", document(*said), path=path)
    assert payloads(events, ev.SESSION_START) == [
        {"cwd": "/p", "branch": "main", "cliVersion": "3.0.65", "id": "1_abc"}
    ]
    assert kinds(events)[1:] == [ev.ASSISTANT_MESSAGE, ev.USAGE, ev.COMPACTION, ev.ASSISTANT_MESSAGE, ev.USAGE]
    assert [event.time for event in events if event.kind == ev.COMPACTION] == [kept["updated_at"]]
    ids = [event.id.rpartition(":")[2] for event in events if event.kind in (ev.SESSION_START, ev.COMPACTION)]
    assert ids == ["start", "compaction"]


@each(
    ("manifest", "expected"),
    [({"status": "idle"}, Report(State.IDLE)), ({"status": "failed"}, Report(State.IDLE)), ({"status": "running"}, None), ({}, None)],
)  # fmt: skip
def test_the_manifest_says_when_nobody_works(manifest: Row, expected: Report | None, tmp_path_factory: Any) -> None:
    """While the client works, the messages say whether it waits for an answer."""
    path = session(tmp_path_factory.mktemp("s"), **manifest)
    assert reported(path, "1_abc", SessionStart()) == expected
    assert reported(path.parent / "gone" / "gone.messages.json", "gone", SessionStart()) is None


def test_a_session_is_a_folder_with_its_sub_agents(tmp_path: Path) -> None:
    """Manifests, compactions and other documents are none."""
    spec, base = AGENTS["cline"], tmp_path / "1_abc"
    assert spec.identify(base / "1_abc.messages.json") == Identity(SessionKey("cline", "1_abc"))
    assert spec.identify(base / "agent_2_x.messages.json") == Identity(SessionKey("cline", "1_abc", "2_x"))
    assert [spec.identify(base / name) for name in ("1_abc.json", "1_abc.compaction.json", "x.messages.json")] == [
        None
    ] * 3


@each("options", [5, "Yes or no", {"a": 1}, [1, None], None])
def test_options_of_any_shape_cost_nothing_else(options: Any) -> None:
    """A model writes them; what a person types afterwards counts."""
    events = told(
        MAKE.calls("c1", "ask_question", question="Which?", options=options),
        typed('<user_input mode="act">::start talk</user_input>'),
    )
    assert [row["options"] for row in payloads(events, ev.DECISION_PROMPT)] == [[]]
    assert [event.typed for event in events if event.kind == ev.USER_MESSAGE] == [True]


def test_a_message_that_breaks_its_translation_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is kept as it is, in its place."""
    monkeypatch.setattr("katod.agents.cline.adapter.result_of", lambda *_: 1 / 0)
    events = told(MAKE.result("c1", "x", "words"), typed('<user_input mode="act">::start talk</user_input>'))
    assert kinds(events) == [ev.PROVIDER_RAW, ev.USER_MESSAGE]


def test_a_client_that_works_has_the_database_beside_the_sessions_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the session's folder; the messages are two folders below."""
    monkeypatch.setattr(manifest_, "has_open", lambda *asked: asked)
    asked = manifest_.runs(Path("/data/sessions/1_abc/1_abc.messages.json"), "1_abc", SessionStart(cwd="/p"))
    assert asked == ("/data/db/sessions.db", {"cline"}, "/p")


def test_a_file_that_a_prompt_names_is_attached_to_it() -> None:
    """What it says is context, and no line of it is typed."""
    said = {"type": "text", "text": '<user_input mode="act">see @a</user_input>'}
    file = {"type": "file", "path": "/p/a.txt", "content": "::stop\n"}
    [prompt, context] = told(MAKE.message("user", said, file))
    assert prompt.payload == {"text": "see @a", "attachments": [{"type": "file", "name": "/p/a.txt"}]}
    assert (context.payload, context.typed) == ({"text": "::stop\n", "subtype": "context"}, False)
