"""Antigravity: what was typed, calls and results without ids, what is beside a transcript."""

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.antigravity.adapter import AntigravityAdapter
from katod.agents.base import Origin
from katod.events import Event
from katod.model import Identity, Record, SessionKey, TypedText
from tests.looping import each
from tests.support.records import Antigravity
from tests.support.translated import Row, kinds, payloads, translated

MAKE = Antigravity()
ADDED = "<ADDITIONAL_METADATA>\nThe current local time is: now.\n</ADDITIONAL_METADATA>"
CHANGED = "<USER_SETTINGS_CHANGE>\nThe user changed setting `Model Selection` from None to Gemini 3.1 Pro (Low). No need to comment on it.\n</USER_SETTINGS_CHANGE>"  # fmt: skip
ID = "11111111-1111-4111-8111-111111111111"


def prompt(content: str, source: str = "USER_EXPLICIT") -> Row:
    return MAKE.step(source, "USER_INPUT", content)


def told(*records: Row, **where: Any) -> list[Event]:
    return [event for event in translated("antigravity", *records, **where) if event.kind != ev.SESSION_START]


@each(
    ("content", "words"),
    [
        (f"<USER_REQUEST>\ngo\n</USER_REQUEST>\n{ADDED}", "go"),
        (f"<USER_REQUEST>\na\n</USER_REQUEST>\nb\n</USER_REQUEST>\n{ADDED}\n{CHANGED}", "a\n</USER_REQUEST>\nb"),
        ("<USER_REQUEST>\ngo\n</USER_REQUEST>", "go"),
        (f"go\n{ADDED}", ""),
        ("<USER_REQUEST>\ngo", ""),
    ],
)
def test_what_was_typed(content: str, words: str) -> None:
    """It is between the tags, and ends at the last closing tag before what the client adds; without them, nobody knows."""
    assert AntigravityAdapter.typed_texts(prompt(content)) == ([TypedText(words)] if words else [])
    said = [event for event in told(prompt(content)) if event.kind == ev.USER_MESSAGE]
    assert [(event.payload["text"], event.typed) for event in said] == [(words or content, bool(words))]
    assert AntigravityAdapter.typed_texts(prompt(content, "SYSTEM")) == []


@each("kind", ["CHECKPOINT", "EPHEMERAL_MESSAGE", "CONVERSATION_HISTORY"])
def test_what_only_the_model_sees_is_left_out(kind: str) -> None:
    """A checkpoint quotes old prompts."""
    assert translated("antigravity", MAKE.step("SYSTEM", kind, "1. ::start evil")) == []


def test_another_model_is_a_setting_of_the_session() -> None:
    """The client says so behind a prompt; what is typed in the prompt does not count."""
    fake = CHANGED.replace("3.1 Pro", "fake")
    events = told(
        prompt(f"<USER_REQUEST>\n{fake}\n</USER_REQUEST>\n{ADDED}\n{CHANGED}"),
        MAKE.step("MODEL", "PLANNER_RESPONSE", "hi"),
    )
    assert events[-1].model == "Gemini 3.1 Pro (Low)"


def test_a_result_belongs_to_the_oldest_open_call_of_its_kind() -> None:
    """Results may come in another order than their calls, and before them."""
    calls = [{"name": name, "args": {}} for name in ("view_file", "grep_search", "mcp_tool", "view_file")]
    asked = MAKE.step("MODEL", "PLANNER_RESPONSE", tool_calls=calls)
    results = [MAKE.step("MODEL", kind, kind) for kind in ("GREP_SEARCH", "VIEW_FILE", "GENERIC", "VIEW_FILE")]
    given = [row["toolCallId"].partition(".")[2] for row in payloads(told(asked, *results), ev.TOOL_RESULT)]
    assert given == ["1", "0", "2", "3"]
    events = told(MAKE.step("MODEL", "RUN_COMMAND", "x"), MAKE.calls("run_command", CommandLine="make"))
    assert len({event.payload["toolCallId"] for event in events}) == 1


@each(
    ("kind", "content", "status", "expected"),
    [
        ("RUN_COMMAND", "Created At: a\nCompleted At: b\nThe command failed with exit code: 2\nStdout:", "DONE", {"isError": True, "exitCode": 2}),
        ("RUN_COMMAND", "Created At: a\nfine", "DONE", {"text": "fine"}),
        ("CODE_ACTION", "no such text", "ERROR", {"isError": True}),
        ("RUN_COMMAND", "It runs on.", "RUNNING", {"status": "launched"}),
    ],
)  # fmt: skip
def test_how_a_call_ended(kind: str, content: str, status: str, expected: Row) -> None:
    """A failed command is done for the client; its exit code is in the words."""
    [payload] = payloads(told(MAKE.step("MODEL", kind, content, status=status)), ev.TOOL_RESULT)
    assert {name: payload.get(name) for name in expected} == expected
    assert set(payload) <= {"toolCallId", "text", *expected}


def test_a_cut_transcript_has_its_arguments_twice_encoded() -> None:
    """One that was cut in the middle stays as it is."""
    given = {"CommandLine": '"make"', "WaitMsBeforeAsync": "500", "Cwd": '"/home/m'}
    [call] = payloads(told(MAKE.calls("run_command", **given), path=Path("/x/transcript.jsonl")), ev.TOOL_CALL)
    assert call["input"] == {"CommandLine": "make", "WaitMsBeforeAsync": 500, "Cwd": '"/home/m'}
    [call] = payloads(told(MAKE.calls("run_command", **given)), ev.TOOL_CALL)
    assert call["input"] == given


def conversation(brain: Path, name: str, *records: Row, file: str = "transcript_full.jsonl") -> Path:
    path = brain / name / ".system_generated/logs" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_late_output_of_a_command_follows_once(tmp_path: Path) -> None:
    """It is only in a file of its own: what that has at the next prompt."""
    path = conversation(tmp_path / "brain", ID)
    (path.parents[1] / "tasks").mkdir()
    running = MAKE.step("MODEL", "RUN_COMMAND", "It runs on.", status="RUNNING")
    (path.parents[1] / f"tasks/task-{running['step_index']}.log").write_text("done at last")
    asked = [prompt(f"<USER_REQUEST>\n{text}\n</USER_REQUEST>") for text in ("one", "two")]
    events = told(running, *asked, path=path)
    assert kinds(events) == [ev.TOOL_RESULT, ev.SYSTEM_MESSAGE, ev.USER_MESSAGE, ev.USER_MESSAGE]
    assert events[1].payload == {"text": "done at last", "subtype": "shell-output"}


def test_the_project_is_in_the_history_or_in_a_log(tmp_path: Path) -> None:
    """The first prompt's line lacks the conversation, so its words and its time count; nothing is guessed."""
    said = prompt("<USER_REQUEST>\ngo\n</USER_REQUEST>") | {"created_at": "2026-11-22T00:00:10Z"}
    path, at = conversation(tmp_path / "cli/brain", ID, said), 1795305610000

    def place() -> str:
        return str(payloads(translated("antigravity", said, path=path), ev.SESSION_START)[0].get("cwd", ""))

    def history(**row: Any) -> None:
        (tmp_path / "cli/history.jsonl").write_text(
            json.dumps({"display": "go", "timestamp": at, "workspace": "/p"} | row) + "\nbroken\n"
        )

    assert place() == ""
    history(conversationId=ID, display="x \ud83d", timestamp=0)
    assert place() == "/p"
    history()
    assert place() == "/p"
    for other in ({"display": "other"}, {"timestamp": at + 60_000}, {"conversationId": "other"}):
        history(**other)
        assert place() == ""
    (tmp_path / "cli/log").mkdir()
    (tmp_path / "cli/log/cli-1.log").write_text(f"Created conversation {ID}\nproject ID: p-1\n")
    (tmp_path / "config/projects").mkdir(parents=True)
    (tmp_path / "config/projects/p-1.json").write_text('{"folderUri": "file:///home/me/my%20app"}')
    assert place() == "/home/me/my app"
    (tmp_path / "config/projects/p-1.json").write_text('{"folders": [{}, {"folderUri": "file:///home/me/two"}]}')
    assert place() == "/home/me/two"
    (tmp_path / "config/projects/p-1.json").write_text("{}")
    assert place() == ""


@each("how", ["named", "prompted"])
def test_a_conversation_that_another_one_started_has_no_person(how: str, tmp_path_factory: Any) -> None:
    """Nothing in it says so: the other one names it, or gave its prompt to a sub-agent."""
    brain = tmp_path_factory.mktemp("b") / "cli/brain"
    words = "Look around, and report whatever you find in this folder.\n::start evil"
    given = json.dumps([{"Prompt": words}])
    named = MAKE.step("MODEL", "INVOKE_SUBAGENT", f'"conversationId":  "{ID}"')
    asked = MAKE.calls("invoke_subagent", Subagents=given)
    conversation(brain, "parent", named if how == "named" else asked)
    path = conversation(brain, ID)
    start, said = translated("antigravity", prompt(f"<USER_REQUEST>\n{words}\n</USER_REQUEST>"), path=path)
    assert start.payload == {"parent": "parent", "origin": "subagent"}
    assert (start.id[-6:], said.typed, said.payload["subtype"]) == (":start", False, ev.Between.TASK)
    origin = Origin(Identity(SessionKey("antigravity", ID)), path)
    again = AntigravityAdapter(origin, {"started": True, "parent": "parent"})  # after a restart
    assert again.feed(Record(0, prompt("more")))[0].session.parent == "parent"
    (brain / "parent/.system_generated/logs/transcript_full.jsonl").write_text("{}\n")
    assert translated("antigravity", prompt(f"<USER_REQUEST>\n{words}\n</USER_REQUEST>"), path=path)[1].typed


@each(("seconds", "is_searched"), [(-7200, False), (-3700, False), (-3500, True), (-1, True), (0, True), (3600, True)])
def test_a_conversation_that_ended_long_before_started_no_other_one(
    seconds: int, is_searched: bool, tmp_path_factory: Any
) -> None:
    """It is not read: there may be thousands. One that has not changed since may have: with its last step."""
    brain, said = tmp_path_factory.mktemp("b") / "cli/brain", prompt("<USER_REQUEST>\ngo\n</USER_REQUEST>")
    began = datetime.fromisoformat(said["created_at"]).timestamp()
    other = conversation(brain, "parent", MAKE.step("MODEL", "INVOKE_SUBAGENT", f'"conversationId": "{ID}"'))
    os.utime(other, (began + seconds,) * 2)
    assert translated("antigravity", said, path=conversation(brain, ID))[1].typed is not is_searched


@each("words", ["::start talk", "go on"])
def test_a_short_task_is_one_too(words: str, tmp_path_factory: Any) -> None:
    """If a call gave it shortly before; not if it was given long ago, or later."""
    said = prompt(f"<USER_REQUEST>\n{words}\n</USER_REQUEST>")
    for hours, typed in ((0, False), (-2, True), (1, True)):
        brain = tmp_path_factory.mktemp("b") / "cli/brain"
        asked = MAKE.calls("invoke_subagent", Subagents=json.dumps([{"Prompt": words}]))
        at = (datetime.fromisoformat(said["created_at"]) + timedelta(hours=hours)).isoformat()
        conversation(brain, "other", asked | {"created_at": at})
        assert translated("antigravity", said, path=conversation(brain, ID))[1].typed is typed


def test_a_large_conversation_is_searched_as_well(tmp_path_factory: Any) -> None:
    """However far behind the call is, and however many conversations there are."""
    brain, words = tmp_path_factory.mktemp("b") / "cli/brain", "::start talk"
    filler = MAKE.step("MODEL", "GENERIC", "x" * 1024 * 1024)
    for number in range(20):
        conversation(brain, f"aside{number}", filler)
    asked = MAKE.calls("invoke_subagent", Subagents=json.dumps([{"Prompt": words}]))
    conversation(brain, "parent", *[filler] * 9, asked)
    said = prompt(f"<USER_REQUEST>\n{words}\n</USER_REQUEST>") | {"created_at": asked["created_at"]}
    assert not translated("antigravity", said, path=conversation(brain, ID))[1].typed


@each("folder", ["", "a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e"])
def test_a_transcript_that_is_not_in_its_place_is_the_persons(folder: str) -> None:
    """However deep it is: nothing beside it is searched."""
    said = prompt("<USER_REQUEST>\ngo\n</USER_REQUEST>")
    for root in (Path("/"), Path("/nowhere"), Path()):
        events = translated("antigravity", said, path=root / folder / "transcript_full.jsonl")
        assert [event.typed for event in events if event.kind == ev.USER_MESSAGE] == [True]


def test_a_pipe_in_the_place_of_a_transcript_is_not_waited_for(tmp_path: Path) -> None:
    """It says nothing of who started another conversation."""
    logs = tmp_path / "cli/brain/other/.system_generated/logs"
    logs.mkdir(parents=True)
    os.mkfifo(logs / "transcript.jsonl")
    said = prompt("<USER_REQUEST>\ngo\n</USER_REQUEST>") | {"created_at": "2026-01-01T00:00:00Z"}
    assert translated("antigravity", said, path=conversation(tmp_path / "cli/brain", ID))[1].typed


def test_the_labels_of_the_client_are_no_output() -> None:
    """A program may print such a line itself: it has no tab before it."""
    said = "\n\t\t\t\tThe command completed successfully.\n\t\t\t\tOutput:\n\t\t\t\tone\nOutput:\ntwo\n\n"
    [row] = payloads(told(MAKE.calls("run_command"), MAKE.step("MODEL", "RUN_COMMAND", said)), ev.TOOL_RESULT)
    assert row["text"] == "one\nOutput:\ntwo"


def test_what_was_left_open_gets_no_later_result() -> None:
    """A call without a result is over with the next prompt."""
    run = MAKE.step("MODEL", "RUN_COMMAND", "fine")
    events = told(
        MAKE.calls("run_command", CommandLine="one"), prompt("<USER_REQUEST>\nagain\n</USER_REQUEST>"),
        MAKE.calls("run_command", CommandLine="two"), run,
    )  # fmt: skip
    calls, results = payloads(events, ev.TOOL_CALL), payloads(events, ev.TOOL_RESULT)
    assert [row["toolCallId"] for row in results] == [calls[1]["toolCallId"]]


def test_a_step_without_a_number_and_a_strange_project_break_nothing(tmp_path_factory: Any) -> None:
    """The prompts around them are those of the person."""
    brain = tmp_path_factory.mktemp("b") / "cli/brain"
    config = brain.parents[1] / "config/projects"
    config.mkdir(parents=True)
    (config / "p-1.json").write_text('{"folderUri": "file://[x"}')
    (brain.parent / "log").mkdir(parents=True)
    (brain.parent / "log/cli-1.log").write_text(f"Created conversation {ID}\nproject ID: p-1\n")
    strange = MAKE.step("MODEL", "RUN_COMMAND", "x") | {"status": "RUNNING", "step_index": [1]}
    said = prompt("<USER_REQUEST>\ngo\n</USER_REQUEST>")
    events = translated("antigravity", said, strange, said | {"step_index": 9}, path=conversation(brain, ID))
    assert [event.typed for event in events if event.kind == ev.USER_MESSAGE] == [True, True]


def test_a_prompt_that_was_typed_in_two_conversations_is_nobodys_task(tmp_path_factory: Any) -> None:
    """Although one of them has a sub-agent: that was given other words."""
    brain = tmp_path_factory.mktemp("b") / "cli/brain"
    words = "Look around, and report whatever you find in this folder."
    typed = prompt(f"<USER_REQUEST>\n{words}\n</USER_REQUEST>")
    asked = MAKE.calls("invoke_subagent", Subagents=json.dumps([{"Prompt": "Something else"}]))
    conversation(brain, "other", typed, asked, MAKE.step("MODEL", "INVOKE_SUBAGENT", '"conversationId": "child"'))
    assert translated("antigravity", typed, path=conversation(brain, ID))[1].typed


def test_the_whole_transcript_is_the_session(tmp_path: Path) -> None:
    """The cut one only where the other is missing, or has next to nothing."""
    steps = [prompt(f"<USER_REQUEST>\n{'x' * 500}\n</USER_REQUEST>") for _ in range(8)]
    cut, spec = conversation(tmp_path / "brain", ID, *steps, file="transcript.jsonl"), AGENTS["antigravity"]
    whole, found = cut.with_name("transcript_full.jsonl"), Identity(SessionKey("antigravity", ID))
    assert spec.identify(cut) == found
    conversation(tmp_path / "brain", ID, *steps)
    assert (spec.identify(whole), spec.identify(cut)) == (found, None)
    conversation(tmp_path / "brain", ID, steps[0])
    assert (spec.identify(whole), spec.identify(cut)) == (found, found)
    assert spec.identify(tmp_path / "brain" / ID / "chunks" / "transcript_full.jsonl") is None


@each("count", [1, 64, 65, 70])
def test_so_many_calls_may_be_open(count: int) -> None:
    """Of more, the oldest ones are forgotten: their results come to the next ones."""
    calls = [MAKE.calls("run_command", CommandLine=f"make {number}") for number in range(count)]
    events = told(*calls, MAKE.step("MODEL", "RUN_COMMAND", "fine"))
    made, [given] = payloads(events, ev.TOOL_CALL), payloads(events, ev.TOOL_RESULT)
    assert given["toolCallId"] == made[max(0, count - 64)]["toolCallId"]
