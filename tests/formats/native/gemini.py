"""The fields of Gemini CLI, before 0.39: one document with all messages."""

from typing import Any, Final

from tests.formats.native.finding import Field, Session
from tests.formats.native.sections import ADDED, BLOCKS, DROPPED, RECORDS, RENAMED, SAME, SPLIT, TOOLS
from tests.support.records import SESSION

_MADE_BY: Final = "session.agent-meta.model-id, reasoning model-id, assistant model-id, tool-call model-id"
_TIME: Final = "2026-02-10T22:36:18.000Z"
_TOKENS: Final = {"input": 70001, "output": 70002, "cached": 70003, "thoughts": 70004, "tool": 70005, "total": 70006}


def _message(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "timestamp": _TIME, "type": kind, "content": content} | more


def _call(call: str, name: str, output: str, **more: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": call, "name": name, "response": {"output": output}}}
    return {"id": call, "name": name, "result": [response], "status": "success", "timestamp": _TIME} | more


def _records(status: str = "success") -> tuple[Any, ...]:
    thought = {"subject": "needle-subject", "description": "needle-thinking", "timestamp": "2026-02-10T23:41:07.000Z"}
    call = _call(
        "needle-call", "needle-tool", "needle-output", args={"size": "needle-input"}, resultDisplay="needle-display",
        displayName="needle-title", description="needle-about", renderOutputAsMarkdown=True,
    )  # fmt: skip
    failed = _call("failed", "write_file", "x", args={}) | {"status": status}
    read = _call("r1", "read_file", "x", args={"file_path": "/home/me/needle-read"})
    ran = _call("e1", "run_shell_command", "x", args={"command": "needle-command"})
    messages = [
        _message(1, "user", "needle-user"),
        _message(2, "gemini", "needle-text", thoughts=[thought], tokens=_TOKENS, model="gemini-needle", toolCalls=[call])
        | {"id": "needle-id", "timestamp": "2026-02-10T23:41:07.000Z"},
        _message(3, "gemini", "", toolCalls=[failed, read, ran], model="gemini-needle"),
        _message(4, "info", "needle-info"), _message(5, "user", "Thanks."),
    ]  # fmt: skip
    head = {"sessionId": SESSION, "projectHash": "needle-hash", "startTime": "2026-02-10T22:00:00.000Z"}
    return (head | {"lastUpdated": "2026-02-10T23:59:59.000Z", "messages": messages},)


def _session(*records: Any) -> Session:
    path = f".gemini/tmp/app/chats/session-2026-02-10T22-36-{SESSION[:8]}.json"
    return Session("gemini", path, records, ((".gemini/tmp/app/.project_root", "/home/me/needle-cwd"),))


SESSIONS: Final = {"main": _session(*_records()), "failed": _session(*_records("error"))}
FIELDS: Final = {
    RECORDS: (
        Field('messages[].type: "user"', "needle-user", "user content", names=("user", "Gemini messages[].type=user")),
        Field('messages[].type: "gemini"', "needle-text", "assistant content",
              names=("gemini", "Gemini messages[].type=gemini text")),
        Field('messages[].type: "info"', "needle-info", "system-event system.message data.text", names=("info",)),
    ),
    BLOCKS: (
        Field("messages[].thoughts[]", "needle-thinking", "reasoning content", names=("Gemini thoughts",)),
        Field("messages[].toolCalls[]", "needle-tool", "tool-call name", names=("Gemini toolCalls[]",)),
        Field("messages[].toolCalls[].result", "needle-output", "tool-result output",
              names=("Gemini toolCalls[].result*",)),
    ),
    TOOLS: (
        Field("read_file", "needle-read", "tool-call input"),
        Field("run_shell_command", "needle-command", "tool-call input"),
    ),
    SAME: (
        Field('type: "user"', "needle-user", "user content"),
        Field("timestamp", "2026-02-10T23:41:07", "reasoning timestamp, assistant timestamp, tool-call timestamp", printed="23:41"),
        Field("id", "needle-id", "assistant id"),
        Field("content", "needle-text", "assistant content"),
    ),
    RENAMED: (
        Field('type: "gemini"', "needle-text", "assistant content"),
        Field("model", "gemini-needle", _MADE_BY),
    ),
    SPLIT: (
        Field("toolCalls[]", "needle-call", "tool-call call-id, tool-result call-id",
              names=("toolCalls[]", "Each toolCall produces two children", "Children extraction")),
        Field("toolCalls[].name", "needle-tool", "tool-call name", names=("name",)),
        Field("toolCalls[].args", "needle-input", "tool-call input", names=("args",)),
        Field("toolCalls[].id", "needle-call", "tool-call call-id, tool-result call-id"),
        Field("toolCalls[].result[].functionResponse.response.output", "needle-output", "tool-result output",
              names=("result",)),
        Field("toolCalls[].status", record="tool-result is-error, tool-result status", session="failed", without="main",
              names=("status",)),
        Field("thoughts[]", "needle-thinking", "reasoning content", names=("thoughts[]", "Each thought produces child")),
        Field("thoughts[].description", "needle-thinking", "reasoning content", names=("description",)),
        Field("thoughts[].subject", "needle-subject", "reasoning subject", names=("subject",)),
    ),
    DROPPED: (
        Field("sessionId", SESSION, "session.session-id"),
        Field("startTime", "2026-02-10T22:00:00", "session.session-start"),
        Field("projectHash", "needle-hash", note="the folder of the session names the project"),
        Field(".project_root", "needle-cwd", "session.environment.working-dir"),
        Field("lastUpdated", "2026-02-10T23:59:59", note="each message has a time"),
        Field("toolCalls[].resultDisplay", "needle-display",
              note="what the client shows of a result; it is read for what the result does not say"),
        Field("toolCalls[].displayName", "needle-title", note="a label for the tool's name", names=("displayName",)),
        Field("toolCalls[].description", "needle-about", note="the client's line about the arguments",
              names=("description",)),
        Field("toolCalls[].renderOutputAsMarkdown", None, note="how the client shows a result",
              names=("renderOutputAsMarkdown",)),
        Field("tokens.input", 70001, "assistant token-usage.input", printed="140,003 tokens", names=("tokens",)),
        Field("tokens.output", 70002, "assistant token-usage.output", printed="140,003 tokens", total=140006),
        Field("tokens.cached", 70003, "assistant token-usage.cached"),
        Field("tokens.thoughts", 70004, "assistant token-usage.reasoning"),
        Field("tokens.tool", 70005, note="part of the total, and of nothing else"),
        Field("tokens.total", 70006, "assistant token-usage.total"),
    ),
    ADDED: (
        Field("the provider, by the model's name", "google", "session.agent-meta.model-provider",
              names=('Provider inferred from "gemini" prefix',)),
        Field("the name of the program", "gemini-cli", "session.agent-meta.cli-name", names=('cli-name: "gemini-cli"',)),
        Field("the envelope", "3.0.0-draft", "version", names=("Record wrapper",)),
    ),
}  # fmt: skip
