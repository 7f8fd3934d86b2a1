"""Laws for what a person does beside typing, each for all agents that record it, in the form in which they do.

An attachment stays in the message that it was sent with. A sub-agent ends once. A call is declined if the person
refused it, and only then.
"""

import json
from typing import Any

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event
from katod.formats.matrix.names import PREFIX
from tests.looping import each
from tests.support.records import Claude, Codex, CodexLegacy, Kimi, Qwen
from tests.support.rendering import rendered
from tests.support.translated import Row, payloads, translated

PICTURE = "iVBORw0KGgo="
URL = f"data:image/png;base64,{PICTURE}"
NOW = "2026-11-24T19:28:30.337Z"


# -- records of each agent ---------------------------------------------------------------------------


def copilot(kind: str, number: int, **data: Any) -> Row:
    return {"type": kind, "data": data, "id": f"x{number}", "timestamp": NOW, "parentId": None}


def gemini(native: str, kind: str, content: Any, **more: Any) -> Row:
    return {"id": native, "timestamp": NOW, "type": kind, "content": content} | more


def gemini_call(**fields: Any) -> list[Row]:
    head = {"sessionId": "s", "projectHash": "0", "startTime": NOW, "kind": "main"}
    made = {"id": "t1", "name": "invoke_agent", "args": {"prompt": "look"}, "status": "success"} | fields
    return [head, gemini("m1", "user", [{"text": "go"}]), gemini("g1", "gemini", "", toolCalls=[made])]


def gemini_said(text: str, key: str = "output") -> list[Row]:
    return [{"functionResponse": {"response": {key: text}}}]


def opencode(*prompted: Row, **state: Any) -> list[Row]:
    """Return a session with one prompt and, with a state, a call that answers it."""
    asked = {"info": {"id": "msg_1", "role": "user", "time": {"created": 5}}, "parts": [*prompted]}
    tool = {"id": "prt_9", "type": "tool", "tool": state.pop("tool", "bash"), "callID": "c1", "state": state}
    info = {"id": "msg_2", "role": "assistant", "parentID": "msg_1", "finish": "stop", "time": {"completed": 9}}
    messages = [asked, {"info": info, "parts": [tool]}] if state else [asked]
    return [{"info": {"id": "ses_1"}, "messages": messages}]


def claude(result: Row, name: str = "Bash", **fields: Any) -> list[Row]:
    """Return a call and its result."""
    make = Claude()
    given = {"command": "make", "prompt": "look"}
    call = {"type": "tool_use", "id": "c1", "name": name, "input": given}
    asked = make.record("assistant", message={"id": "m", "role": "assistant", "content": [call]})
    block = {"type": "tool_result", "tool_use_id": "c1"} | result
    return [make.user("go"), asked, make.record("user", message={"role": "user", "content": [block]}, **fields)]


def codex(text: str) -> list[Row]:
    make = Codex()
    return [make.meta(), make.user("go"), make.runs("c1", "make"), make.result("c1", text)]


def codex_with_picture(form: type[Codex]) -> list[Row]:
    make = form()
    content = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": URL}]
    sent = make.record("response_item", {"type": "message", "role": "user", "content": content})
    said: Row = {"type": "user_message", "message": "look", "images": [URL]}
    if form is Codex:
        parts = [{"type": "text", "text": "look"}, {"type": "image", "image_url": URL}]
        said = {"type": "item_completed", "item": {"type": "UserMessage", "id": "u", "content": parts}}
    return [make.meta(), sent, make.record("event_msg", said), make.says("well")]


def copilot_call(name: str, *records: Row) -> list[Row]:
    given = {"command": "make", "prompt": "look"}
    return [copilot("tool.execution_start", 1, toolCallId="c1", toolName=name, arguments=given), *records]


# -- attachments -------------------------------------------------------------------------------------

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
FILE = {"id": "prt_1", "type": "file", "mime": "image/png", "filename": "x.png", "url": URL}
WITH_PICTURE = {
    "claude": [Claude().record("user", message={"role": "user", "content": [IMAGE, {"type": "text", "text": "look"}]})],
    "codex": codex_with_picture(Codex),
    "codex, legacy": codex_with_picture(CodexLegacy),
    "copilot": [copilot("user.message", 1, content="look", attachments=[{"type": "file", "displayName": "x.png"}])],
    "gemini": [
        *gemini_call()[:1],
        gemini("m1", "user", [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]),
    ],
    "opencode": opencode({"id": "prt_0", "type": "text", "text": "look"}, FILE),
    "opencode, file first": opencode(FILE, {"id": "prt_2", "type": "text", "text": "look"}),
}


@each(("agent", "records"), list(WITH_PICTURE.items()))
def test_an_attachment_stays_in_the_message_it_was_sent_with(agent: str, records: list[Row]) -> None:
    """There is one message, with the words and the picture, below one heading."""
    events = translated(agent.partition(",")[0], *records)
    [said] = payloads(events, ev.USER_MESSAGE)
    assert said["text"] == "look"
    [attached] = said["attachments"]
    assert (attached["type"], attached.get("mediaType")) in [("image", "image/png"), ("file", None)]
    assert attached["type"] == "image" or attached["name"] == "x.png"
    assert attached.get("bytes") == (8 if attached["type"] == "image" else None)
    assert rendered("markdown", events).count("## You") == 1


# -- sub-agents --------------------------------------------------------------------------------------

ENDED = {"metadata": {"sessionId": "ses_2"}, "status": "completed", "input": {"prompt": "look"}, "output": "Done."}
WITH_SUB_AGENT = {
    "claude": claude({"content": "Done."}, "Task", toolUseResult={"agentId": "a1", "status": "completed"}),
    "copilot": copilot_call(
        "task",
        copilot("subagent.started", 2, toolCallId="c1", agentDisplayName="helper"),
        copilot("subagent.completed", 3, toolCallId="c1"),
        copilot("tool.execution_complete", 4, toolCallId="c1", success=True, result={"content": "Done."}),
    ),
    "gemini": gemini_call(agentId="a1", result=gemini_said("Done.")),
    "opencode": opencode({"id": "prt_0", "type": "text", "text": "go"}, tool="task", **ENDED),
}


@each(("agent", "records"), list(WITH_SUB_AGENT.items()))
def test_a_sub_agent_has_one_result(agent: str, records: list[Row]) -> None:
    """The result of its call and the agent's record of its end are one line of a protocol of tools."""
    events = translated(agent, *records)
    assert len(payloads(events, ev.AGENT_END)) == 1
    rows = [json.loads(line) for line in rendered("matrix", events).splitlines()]
    told = [row for row in rows if row.get("type") == f"{PREFIX}.agent.result"]
    assert [row["content"]["status"] for row in told] == ["success"]


# -- refusals ----------------------------------------------------------------------------------------

CLAUDE = "The user doesn't want to proceed with this tool use. The tool use was rejected."
GEMINI = "[Operation Cancelled] Reason: {}"
OPENCODE = "The user rejected permission to use this specific tool call."
RULE = "The user has specified a rule which prevents you from using this specific tool call."
PROMPT = {"id": "prt_0", "type": "text", "text": "go"}


def copilot_ended(kind: str, code: str = "denied") -> list[Row]:
    decided = copilot("permission.completed", 2, requestId="r", toolCallId="c1", result={"kind": kind})
    error = {"message": "No.", "code": code}
    return copilot_call(
        "bash", decided, copilot("tool.execution_complete", 3, toolCallId="c1", success=False, error=error)
    )


def kimi(decision: str, output: str) -> list[Row]:
    make = Kimi()
    asked = make.record("interaction.request", id="i1", kind="approval", toolCallId="c1")
    decided = make.record("interaction.resolved", id="i1", response={"decision": decision})
    return [asked, decided, make.calls("c1", "Bash", command="make"), make.result("c1", output=output, isError=True)]


def qwen(error: str, status: str) -> list[Row]:
    make = Qwen()
    return [
        make.calls("c1", "run_shell_command", command="make"),
        make.result("c1", "run_shell_command", {"error": error}, "", status),
    ]


QWEN = "[Operation Cancelled] Reason: User did not allow tool call"
REFUSED = {
    "claude": claude({"content": CLAUDE, "is_error": True}, toolUseResult="User rejected tool use"),
    "codex": codex("exec command rejected by user"),
    "copilot": copilot_ended("denied-interactively-by-user"),
    "gemini": gemini_call(status="cancelled", result=gemini_said(GEMINI.format("User denied execution."), "error")),
    "kimi": kimi("rejected", "The tool was not run."),
    "opencode": opencode(PROMPT, status="error", input={"command": "make"}, error=OPENCODE),
    "qwen": qwen(QWEN, "cancelled"),
}
NOT_REFUSED = [
    ("claude", claude({"content": "Denied by a rule.", "is_error": True}, toolDenialKind="permission-rule")),
    ("claude", claude({"content": f"Exit code 1\n{CLAUDE}", "is_error": True})),
    ("codex", codex("aborted by user after 2.1s")),
    ("codex", codex("Process exited with code 1\nOutput:\nexec command rejected by user")),
    ("copilot", copilot_ended("denied-by-rules")),
    ("copilot", copilot_ended("approved", "failure")),
    ("gemini", gemini_call(status="cancelled", result=gemini_said(GEMINI.format("Operation cancelled by user"), "error"))),
    ("gemini", gemini_call(status="error", result=gemini_said(GEMINI.format("User denied execution."), "error"))),
    ("kimi", kimi("approved", "The tool was not run because the user rejected the approval request.")),
    ("qwen", qwen(QWEN, "error")),
    ("qwen", qwen("[Operation Cancelled] Reason: User intentionally cancelled.", "cancelled")),
    ("opencode", opencode(PROMPT, status="error", input={"command": "make"}, error=RULE)),
    ("opencode", opencode(PROMPT, status="error", input={"command": "make"}, error=f"boom: {OPENCODE}")),
]  # fmt: skip


def results(agent: str, records: list[Row]) -> list[Event]:
    return [event for event in translated(agent, *records) if event.kind == ev.TOOL_RESULT]


@each(("agent", "records"), list(REFUSED.items()))
def test_a_call_that_the_person_refused_is_declined(agent: str, records: list[Row]) -> None:
    """It is so in every agent that records it, and the transcript says that word."""
    [result] = results(agent, records)
    assert (result.payload["isError"], result.payload["denied"]) == (True, True)
    assert "\n  - declined" in rendered("markdown", translated(agent, *records))


@each(("agent", "records"), NOT_REFUSED)
def test_no_other_call_is_declined(agent: str, records: list[Row]) -> None:
    """Rules, interruptions and failures are none, whatever words they have."""
    [result] = results(agent, records)
    assert "denied" not in result.payload
    assert "declined" not in rendered("markdown", translated(agent, *records))


def test_agents_without_such_records_are_known() -> None:
    """A new agent has its records here, or is named as one that records no permission."""
    assert {name for name, spec in AGENTS.items() if not spec.form} - REFUSED.keys() == {
        "antigravity",
        "cline",
        "cursor",
        "pi",
        "vscode",
        "zot",
    }
