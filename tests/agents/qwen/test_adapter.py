"""Qwen Code: who typed a prompt, what hooks add, results, questions, forks and sub-agents."""

from typing import Any

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.qwen.adapter import QwenAdapter
from katod.model import Identity, SessionKey, TypedText
from tests.looping import each
from tests.support.records import Qwen
from tests.support.translated import Row, kinds, payloads, translated

MAKE = Qwen()
FILES = "--- Content from referenced files ---"
HOOK = "<qwen:user-prompt-submit-context>\n::start evil\n</qwen:user-prompt-submit-context>"


def prompt(*texts: str, **fields: Any) -> Row:
    return MAKE.record("user", "real_user", message={"parts": [{"text": text} for text in texts]}, **fields)


@each(
    ("record", "typed"),
    [
        (prompt("go"), ["go"]),
        (prompt("go", subtype="mid_turn_user_message", systemPayload={"displayText": "go"}), ["go"]),
        (prompt("go\nExpanded.", HOOK, systemPayload={"displayText": "go"}), ["go"]),
        (prompt("go", HOOK), ["go"]),
        (prompt(HOOK), []),
        (prompt("see @a", f"\n{FILES}", "\nContent from a:\n", "::stop\n", "\n--- End of content ---"), ["see @a"]),
        (prompt("see @s:u", "\n--- Content from MCP resource s:u [1a2b] ---\n", "::stop\n"), ["see @s:u"]),
        (prompt("--- Content from me", "and more"), ["--- Content from me\nand more"]),
        (prompt("go", provenance="system"), []),
        (prompt("go", subtype="cron"), []),
        (prompt("go", subtype="notification"), []),
        (prompt("go", subtype="realtime_message"), []),
        (prompt("go", isSidechain=True), []),
        (prompt("go", forkedFrom={"sessionId": "a", "messageUuid": "b"}), []),
        ({name: value for name, value in prompt("go").items() if name != "provenance"}, ["go"]),
    ],
)
def test_what_was_typed(record: Row, typed: list[str]) -> None:
    """Only a prompt of the person counts, without what hooks and expansions add to it."""
    assert QwenAdapter.typed_texts(record) == [TypedText(text) for text in typed]
    said = [event for event in translated("qwen", record) if event.typed]
    assert [event.payload["text"] for event in said] == typed


def test_what_a_hook_adds_is_the_clients() -> None:
    """It is a message of the system beside the prompt."""
    events = translated("qwen", prompt("go", HOOK))
    assert kinds(events) == [ev.SESSION_START, ev.USER_MESSAGE, ev.SYSTEM_MESSAGE]
    assert events[2].payload == {"text": HOOK, "subtype": "hook-context"}


def test_what_a_prompt_names_is_no_part_of_it() -> None:
    """The files are context, as the client adds them."""
    events = translated("qwen", prompt("see @a", f"\n{FILES}", "::stop\n"))
    assert [event.payload for event in events[1:]] == [
        {"text": "see @a"}, {"text": f"\n{FILES}\n::stop\n", "subtype": "context"},
    ]  # fmt: skip


def invoked(command: str, *, sent: bool = True) -> list[Row]:
    """Return the records of a command that was typed."""
    begun = MAKE.note("slash_command", phase="invocation", rawCommand=command, sentToModel=sent)
    ended = MAKE.note("slash_command", phase="result", rawCommand=command, outputHistoryItems=[])
    return [begun, ended | {"parentUuid": begun["uuid"]}]


@each("beside", [[], [MAKE.note("at_command", filesRead=["a"], userText="/greet joe")]])
def test_a_command_of_a_file_is_what_was_typed(beside: list[Row]) -> None:
    """Not the prompt that it becomes, which stands in a file of the project."""
    rows = [*invoked("/greet joe"), *beside]
    rows = [row | {"parentUuid": above["uuid"]} for row, above in zip(rows[1:], rows, strict=False)]
    rows = [invoked("/greet joe")[0] | {"uuid": rows[0]["parentUuid"]}, *rows]
    said = prompt("Greet joe.\n\n::start evil\n\n/greet joe", parentUuid=rows[-1]["uuid"])
    events = [event for event in translated("qwen", *rows, said) if event.kind != ev.SESSION_START]
    assert [(event.kind, event.payload["text"], event.typed) for event in events] == [
        (ev.USER_MESSAGE, "/greet joe", True), (ev.SYSTEM_MESSAGE, "Greet joe.\n\n::start evil\n\n/greet joe", False),
    ]  # fmt: skip


@each(("sent", "below"), [(False, True), (True, False)])
def test_a_prompt_that_no_command_became_is_as_it_was_typed(sent: bool, below: bool) -> None:
    """After a command that the client did itself, or one that it did not go on with."""
    rows = invoked("/stats", sent=sent)
    said = prompt("::start notes", parentUuid=rows[-1]["uuid"] if below else "0")
    events = [event for event in translated("qwen", *rows, said) if event.kind != ev.SESSION_START]
    assert [(event.payload["text"], event.typed) for event in events] == [("::start notes", True)]


@each("source", ["channel", "scheduled_task"])
def test_nobody_types_where_a_channel_or_a_timer_writes(source: str) -> None:
    """The prompts of such a session are shown, and none is a command."""
    events = translated("qwen", MAKE.note("session_source", sourceType=source), prompt("::start evil"))
    assert [(event.kind, event.typed) for event in events[1:]] == [(ev.USER_MESSAGE, False)]
    assert translated("qwen", MAKE.note("session_source", sourceType="default"), prompt("go"))[1].typed


def test_a_session_that_another_one_started_is_a_task() -> None:
    """Its parent is named, and its prompts are tasks."""
    event = translated("qwen", MAKE.note("parent_session", parentSessionId="p1"), prompt("::start evil"))[1]
    assert (event.session.parent, event.payload["subtype"], event.typed) == ("p1", ev.Between.TASK, False)


def shell(code: int, output: str, status: str = "success") -> Row:
    return MAKE.result("c1", "run_shell_command", {"output": "for the model"}, {"type": "shell_result", "exitCode": code, "output": output}, status)  # fmt: skip


@each(
    ("record", "expected"),
    [
        (shell(0, "fine"), {"text": "fine", "exitCode": 0}),
        (shell(3, "bad", "error"), {"text": "bad", "exitCode": 3, "isError": True}),
        (MAKE.result("c1", "read_file", {"output": "text"}), {"text": "text"}),
        (MAKE.result("c1", "edit", {"error": "no"}, "", "error"), {"text": "no", "isError": True}),
        (
            MAKE.result("c1", "edit", {"error": "[Operation Cancelled] Reason: User did not allow tool call"}, "", "cancelled"),
            {"text": "[Operation Cancelled] Reason: User did not allow tool call", "isError": True, "denied": True},
        ),
        (MAKE.result("c1", "edit", {"error": "stopped"}, "", "cancelled"), {"text": "stopped", "status": "interrupted"}),
        (MAKE.result("c1", "x", {"rows": [1]}), {"text": '{"rows":[1]}'}),
    ],
)  # fmt: skip
def test_how_a_call_ended(record: Row, expected: Row) -> None:
    """A shell's output is what it printed; a refusal, an interruption and a failure are told apart."""
    [payload] = payloads(translated("qwen", record), ev.TOOL_RESULT)
    assert payload == {"toolCallId": "c1"} | expected


def test_a_turn_ends_when_all_of_its_calls_were_refused_or_left() -> None:
    """The client sends nothing more to the model then; beside a call that was run, it does."""
    left, ran = ({"error": "User did not allow tool call"}, "", "cancelled"), ({"output": "text"},)
    calls = MAKE.calls("c1", "edit"), MAKE.calls("c2", "read_file")
    for first, second, ends in ((left, left, 1), (ran, left, 0), (left, ran, 0)):
        results = MAKE.result("c1", "edit", *first), MAKE.result("c2", "read_file", *second)
        assert len(payloads(translated("qwen", *calls, *results), ev.TURN_END)) == ends
    again = translated(
        "qwen", calls[0], MAKE.result("c1", "edit", *ran), calls[1], MAKE.result("c2", "read_file", *left)
    )
    assert payloads(again, ev.TURN_END) == [{"reason": "aborted"}]


def test_a_call_that_was_left_without_a_result_holds_no_later_turn_up() -> None:
    """Its client was killed; the next prompt begins anew."""
    left = {"error": "User did not allow tool call"}, "", "cancelled"
    events = translated(
        "qwen", MAKE.calls("c0", "edit"), MAKE.user("again"), MAKE.calls("c1", "edit"), MAKE.result("c1", "edit", *left)
    )
    assert payloads(events, ev.TURN_END) == [{"reason": "aborted"}]


def test_a_question_and_its_answer() -> None:
    """Labels are selections, other words are the person's own; a question that was left has no answer."""
    asked = MAKE.calls(
        "c1", "ask_user_question", questions=[{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]
    )
    for answer, chosen in (("A", {"selections": ["A"]}), ("A, B", {"selections": ["A", "B"]}), ("none", {"selections": [], "freeText": "none"})):  # fmt: skip
        shown = {"type": "ask_user_question_answers", "answers": [{"question": "Which?", "answer": answer}]}
        events = translated("qwen", asked, MAKE.result("c1", "ask_user_question", {"output": "x"}, shown))
        assert payloads(events, ev.DECISION_RESPONSE) == [{"decisionId": "c1:0"} | chosen]
    left = MAKE.result("c1", "ask_user_question", {"error": "User did not allow tool call"}, "", "cancelled")
    assert payloads(translated("qwen", asked, left), ev.DECISION_RESPONSE) == []


@each(("status", "verdict"), [("success", ["approved"]), ("cancelled", ["rejected"])])
def test_a_plan_is_approved_or_rejected(status: str, verdict: list[str]) -> None:
    """The plan itself is the question."""
    said = {"output": "User approved."} if status == "success" else {"error": "User did not allow tool call"}
    events = translated(
        "qwen", MAKE.calls("c1", "exit_plan_mode", plan="# Plan"), MAKE.result("c1", "exit_plan_mode", said, "", status)
    )
    assert payloads(events, ev.DECISION_PROMPT)[0]["prompt"] == "# Plan"
    assert payloads(events, ev.DECISION_RESPONSE) == [{"decisionId": "c1:plan", "selections": verdict}]


def test_two_records_of_one_answer_are_two_parts_of_it() -> None:
    """They have one id; the same record twice is one."""
    one = MAKE.says({"text": "thinking", "thought": True})
    two = MAKE.says({"text": "an answer"}) | {"uuid": one["uuid"]}
    ids = [event.id for event in translated("qwen", one, two)]
    assert len(ids) == len(set(ids))
    again = [event.id for event in translated("qwen", one, one)]
    assert len(set(again)) == len(again) // 2 + 1  # and the start of the session


def test_a_fork_names_its_parent() -> None:
    """The first record that it copied says from where."""
    [start] = payloads(translated("qwen", prompt("go", forkedFrom={"sessionId": "old"})), ev.SESSION_START)
    assert start["parent"] == "old"


def test_settings_change() -> None:
    """A folder, a branch and a title that change are events; the first branch is the session's own."""
    moved = prompt("there", cwd="/home/me/other", gitBranch="fix")
    events = translated("qwen", prompt("here"), MAKE.note("custom_title", customTitle="A title"), moved)
    changes = [(row["what"], row["after"]) for row in payloads(events, ev.CONFIG_CHANGE)]
    assert changes == [("title", "A title"), ("cwd", "/home/me/other"), ("branch", "fix")]


def test_a_compaction_is_told_once() -> None:
    """The command for it, and what it printed, say nothing more."""
    command = MAKE.note("slash_command", phase="invocation", rawCommand="/compress")
    done = MAKE.note("chat_compression", info={"originalTokenCount": 9, "newTokenCount": 3})
    assert payloads(translated("qwen", command, done), ev.COMPACTION) == [{"tokensBefore": 9, "tokensAfter": 3}]


def test_a_sub_agents_file_is_told_by_its_path(tmp_path: Any) -> None:
    """It is in a folder with the session's id."""
    spec, base = AGENTS["qwen"], tmp_path / "projects" / "-p"
    found = spec.identify(base / "subagents" / "s1" / "agent-general-call_1.jsonl")
    assert found == Identity(SessionKey("qwen", "s1", "general-call_1"))
    assert spec.identify(base / "chats" / "s1.jsonl") == Identity(SessionKey("qwen", "s1"))
    assert spec.identify(base / "memory" / "s1.jsonl") is None
    assert spec.identify(base / "chats" / "s1.runtime.json") is None
