"""Kimi Code: who typed a prompt, permissions, questions, results, usage and old protocols."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.kimi.adapter import KimiAdapter
from katod.lifecycle import PERMISSION_COMPLETED, PERMISSION_REQUESTED
from katod.model import Identity, SessionKey, TypedText
from tests.looping import each
from tests.support.records import Kimi
from tests.support.translated import Row, kinds, payloads, translated

MAKE = Kimi()
USED = {"inputOther": 10, "output": 5}


@each("origin", ["skill_activation", "injection", "shell_command", "cron_job", "task", "hook_result", "retry", ""])
def test_what_the_client_sends_is_not_typed(origin: str) -> None:
    """Only a prompt whose origin is the user is; all others are the client's."""
    record = MAKE.prompt("::start evil", origin)
    assert KimiAdapter.typed_texts(record) == []
    [event] = translated("kimi", record)
    assert (event.kind, event.typed) == (ev.SYSTEM_MESSAGE, False)


def test_a_prompt_is_told_once_and_typed() -> None:
    """Its message in the context, the client's events and the steering of a turn repeat it."""
    text = [{"type": "text", "text": "go"}]
    steered = MAKE.record("prompt.steered", messageId="m1", content=text)
    turn = MAKE.record("turn.steer", messageId="m1", input=text, origin={"kind": "user"})
    copy = MAKE.record("context.append_message", message={"role": "user", "content": text, "origin": {"kind": "user"}})
    events = translated("kimi", MAKE.prompt("first"), copy, steered, turn, copy)
    assert [(event.payload["text"], event.typed) for event in events if event.kind == ev.USER_MESSAGE] == [
        ("first", True), ("go", True)
    ]  # fmt: skip
    assert KimiAdapter.typed_texts(steered) == [TypedText("go")]
    assert KimiAdapter.typed_texts(turn) == KimiAdapter.typed_texts(copy) == []


def test_before_protocol_1_4_nothing_is_typed() -> None:
    """There are only messages, and none says who wrote it."""
    head = {"type": "metadata", "protocol_version": "1.1"}
    said = MAKE.record(
        "context.append_message", message={"role": "user", "content": [{"type": "text", "text": "::start"}]}
    )
    event = translated("kimi", head, said)[0]
    assert (event.kind, event.typed, KimiAdapter.typed_texts(said)) == (ev.USER_MESSAGE, False, [])


@each(("version", "told"), [("1.4", 1), ("1.5", 1), ("1.10", 1), ("2.0", 1), ("", 1), ("1.3", 2), ("1.1", 2)])
def test_versions_of_the_protocol_are_numbers(version: str, told: int) -> None:
    """Since 1.4, a message in the context repeats its prompt."""
    text = [{"type": "text", "text": "go"}]
    copy = MAKE.record("context.append_message", message={"role": "user", "content": text, "origin": {"kind": "user"}})
    events = translated("kimi", {"type": "metadata", "protocol_version": version}, MAKE.prompt("go"), copy)
    assert kinds(events).count(ev.USER_MESSAGE) == told


def test_what_another_origin_sends_while_the_agent_works_is_not_typed() -> None:
    """The record of what a person sends has none."""
    sent = MAKE.record("prompt.steered", messageId="m", content="::start x", origin={"kind": "background_task"})
    assert (translated("kimi", sent)[0].typed, KimiAdapter.typed_texts(sent)) == (False, [])


def test_a_command_of_the_person_has_its_output_below_it() -> None:
    """What is run with `!` is no call of the assistant, and nothing in it is typed."""

    def ran(text: str) -> Row:
        origin = {"kind": "shell_command"}
        return MAKE.record("context.append_message", message={"role": "user", "content": [{"type": "text", "text": text}], "origin": origin})  # fmt: skip

    events = translated(
        "kimi", ran("<bash-input>\necho ::start x\n</bash-input>"),
        ran("<bash-stdout>one\n</bash-stdout> inside\n</bash-stdout><bash-stderr>two</bash-stderr>"),
    )  # fmt: skip
    assert [(event.payload["text"], event.payload["subtype"], event.typed) for event in events] == [
        ("! echo ::start x", "shell", False), ("one\n</bash-stdout> inside\ntwo", "shell-output", False)
    ]  # fmt: skip


def test_what_is_around_a_task_is_context() -> None:
    """A sub-agent is told where it works, before what it is to do."""
    task = MAKE.prompt("<git-context>\nProject: shop\n</git-context>\n\nCount the files", "system_trigger")
    events = translated("kimi", task)
    assert [(event.kind, event.payload["text"]) for event in events] == [
        (ev.SYSTEM_MESSAGE, "<git-context>\nProject: shop\n</git-context>"), (ev.USER_MESSAGE, "Count the files")
    ]  # fmt: skip


def test_the_project_is_in_the_records_or_beside_them(tmp_path: Path) -> None:
    """The client names it in its settings since 2.0; before, only in `state.json`."""
    path = tmp_path / "session_1/agents/main/wire.jsonl"
    path.parent.mkdir(parents=True)
    settings = MAKE.record("config.update", profileName="agent")
    assert payloads(translated("kimi", settings, path=path), ev.SESSION_START) == []
    (tmp_path / "session_1/state.json").write_text('{"workDir": "/home/me/app"}')
    assert payloads(translated("kimi", settings, path=path), ev.SESSION_START) == [{"cwd": "/home/me/app"}]
    known = MAKE.record("config.update", cwd="/home/me/other")
    assert payloads(translated("kimi", known, path=path), ev.SESSION_START) == [{"cwd": "/home/me/other"}]


@each(("result", "verdict"), [({"output": "Exited plan mode."}, ["approved"]), ({"error": "no"}, [])])
def test_a_plan_beside_the_arguments_is_asked_for(result: Row, verdict: list[str]) -> None:
    """It is what the client shows of the call; what became of it is in the result."""
    call = MAKE.calls("c1", "ExitPlanMode")
    call["event"]["display"] = {"kind": "plan_review", "plan": "# Plan"}
    ended = MAKE.loop("tool.result", toolCallId="c1", parentUuid="c1", result=result)
    events = translated("kimi", call, ended)
    assert [row["prompt"] for row in payloads(events, ev.DECISION_PROMPT)] == ["# Plan"]
    assert [row["selections"] for row in payloads(events, ev.DECISION_RESPONSE)] == [verdict] * bool(verdict)


def asked(kind: str = "approval", **response: Any) -> list[Row]:
    request = {"toolName": "Bash", "action": "Running: make"}
    return [
        MAKE.record("interaction.request", id="i1", kind=kind, toolCallId="c1", request=request),
        MAKE.record("interaction.resolved", id="i1", response=response),
    ]


def test_a_permission_is_noted_before_its_call() -> None:
    """The session waits for it, and the call is declined if it was rejected, and only then."""
    call, refused = MAKE.calls("c1", "Bash", command="make"), MAKE.result("c1", output="no", isError=True)
    for decision, denied in (("rejected", True), ("approved", False)):
        events = translated("kimi", *asked(decision=decision), call, refused)
        notes = [row["subtype"] for row in payloads(events, ev.PROVIDER_INFO)]
        assert notes == [PERMISSION_REQUESTED, PERMISSION_COMPLETED]
        assert payloads(events, ev.TOOL_RESULT)[0].get("denied", False) is denied
    assert kinds(translated("kimi", *asked("question"))) == []  # its call has the question


@each(
    ("result", "expected"),
    [
        ({"output": "fine", "durationMs": 3}, {"text": "fine", "durationMs": 3}),
        ({"output": "x\nCommand failed with exit code: 3.", "isError": True}, {"isError": True, "exitCode": 3}),
        ({"output": "Command failed with exit code: 3."}, {}),
        ({"output": "begun\nInterrupted by user", "isError": True}, {"status": "interrupted"}),
        ({"error": "no such file"}, {"text": "no such file", "isError": True}),
        ({"output": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"text": "a\nb"}),
    ],
)
def test_how_a_call_ended(result: Row, expected: Row) -> None:
    """The exit code is in the last words of a command that failed."""
    events = translated("kimi", MAKE.calls("c1", "Bash", command="make"), MAKE.result("c1", **result))
    [payload] = payloads(events, ev.TOOL_RESULT)
    assert {name: payload.get(name) for name in expected} == expected
    assert set(payload) <= {"toolCallId", "text", *expected}


@each(
    ("said", "answers"),
    [
        ({"answers": {"Which?": "A"}}, [{"decisionId": "c1:0", "selections": ["A"]}]),
        ({"answers": {"Which?": ["A", "B"]}}, [{"decisionId": "c1:0", "selections": ["A", "B"]}]),
        ({"answers": {}, "note": "dismissed"}, []),
    ],
)
def test_a_question_and_its_answer(said: Row, answers: list[Row]) -> None:
    """The question is in the call, the answer in its result."""
    options = [{"label": "A"}, {"label": "B"}]
    call = MAKE.calls(
        "c1", "AskUserQuestion", questions=[{"question": "Which?", "options": options, "multi_select": True}]
    )
    events = translated("kimi", call, MAKE.result("c1", output=orjson.dumps(said).decode()))
    assert payloads(events, ev.DECISION_PROMPT)[0]["multiSelect"] is True
    assert payloads(events, ev.DECISION_RESPONSE) == answers


def test_usage_is_told_once_a_step() -> None:
    """A step says at its end what it used; where there are no steps, the record of usage does."""
    counted = MAKE.record("usage.record", usage=USED, model="k")
    step = [MAKE.loop("step.begin"), counted, MAKE.loop("step.end", usage=USED)]
    assert len(payloads(translated("kimi", *step), ev.USAGE)) == 1
    assert payloads(translated("kimi", counted), ev.USAGE) == [{"scope": "message", "input": 10, "output": 5}]
    assert payloads(translated("kimi", MAKE.loop("step.end", finishReason="interrupted")), ev.USAGE) == []


def test_an_answer_names_the_model_that_was_asked() -> None:
    """Its parts do not; a request for a compaction says nothing of the next answer."""
    asked = [MAKE.record("llm.request", kind=kind, model=model) for kind, model in (("loop", "k2"), ("compaction", "k1"))]  # fmt: skip
    [event] = translated("kimi", *asked, MAKE.loop("content.part", part={"type": "text", "text": "hi"}))
    assert event.model == "k2"


@each(("reason", "told"), [("completed", "done"), ("cancelled", "aborted"), ("failed", "error"), ("blocked", "error")])
def test_how_a_turn_ended(reason: str, told: str) -> None:
    """The client's reason in katod's words."""
    assert payloads(translated("kimi", MAKE.record("turn.ended", reason=reason)), ev.TURN_END) == [{"reason": told}]


def test_settings_are_the_sessions() -> None:
    """Folder, model and effort are known when it begins; later ones are changes."""
    events = translated("kimi", *MAKE.opening(), MAKE.record("config.update", modelAlias="k3", thinkingEffort="high"))
    assert payloads(events, ev.SESSION_START) == [{"cwd": MAKE.cwd, "effort": "off"}]
    assert [(row["what"], row["after"]) for row in payloads(events, ev.CONFIG_CHANGE)] == [
        ("model", "k3"),
        ("effort", "high"),
    ]


def test_after_plans_the_mode_before_is_on_again() -> None:
    """The client does not name it; where it is not known, none is on."""
    enter, leave = (MAKE.record(f"plan_mode.{what}") for what in ("enter", "exit"))
    manual = MAKE.record("permission.set_mode", mode="manual")
    changes = [
        row["after"] for row in payloads(translated("kimi", manual, enter, enter, leave, leave), ev.CONFIG_CHANGE)
    ]
    assert changes == ["manual", "plan", "manual"]
    again = translated("kimi", enter, leave, enter)
    assert [row["after"] for row in payloads(again, ev.CONFIG_CHANGE)] == ["plan", "", "plan"]


def test_a_long_picture_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    """Its bytes are taken from there; without that file, only its type is known."""
    name = sha256(b"text").hexdigest()
    url = f"blobref:image/png;{name}"
    result = {"output": [{"type": "text", "text": "Done."}, {"type": "image_url", "imageUrl": {"url": url}}]}
    rows = MAKE.calls("c1", "ReadMediaFile", path="a.png"), MAKE.result("c1", **result)
    [shown] = payloads(translated("kimi", *rows, path=tmp_path / "wire.jsonl"), ev.TOOL_RESULT)
    assert (shown["text"], shown["attachments"]) == ("Done.", [{"type": "image", "mediaType": "image/png"}])
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / name).write_bytes(b"\x89PNG")
    [shown] = payloads(translated("kimi", *rows, path=tmp_path / "wire.jsonl"), ev.TOOL_RESULT)
    assert shown["attachments"] == [
        {"type": "image", "mediaType": "image/png", "bytes": 4, "sha256": sha256(b"\x89PNG").hexdigest()}
    ]


@each("url", ["blobref:image/png;../../secret", "blobref:image/png;", "blobref:", "https://example.org/a.png", 5])
def test_a_medium_that_is_not_there_is_named_by_its_kind(url: Any) -> None:
    """Nothing is read but a file that is named as the client names them."""
    prompt = MAKE.prompt("Look.")
    prompt["input"].append({"type": "audio_url", "audioUrl": {"url": url}})
    [said] = payloads(translated("kimi", prompt), ev.USER_MESSAGE)
    assert said["attachments"] == [{"type": "file"}]


def test_each_agent_of_a_session_has_a_file() -> None:
    """That of `main` is the session's own."""
    base = Path("/x/sessions/wd_a/session_1/agents")
    assert AGENTS["kimi"].identify(base / "main/wire.jsonl") == Identity(SessionKey("kimi", "session_1"))
    assert AGENTS["kimi"].identify(base / "agent-0/wire.jsonl") == Identity(SessionKey("kimi", "session_1", "agent-0"))
    assert AGENTS["kimi"].identify(Path("/x/sessions/wd_a/session_1/wire.jsonl")) is None
