"""The fields of Claude Code: one record per line, with what the session has in common in each of them."""

from typing import Any, Final

from tests.formats.native.finding import Field, Session
from tests.formats.native.sections import ADDED, BLOCKS, DROPPED, RECORDS, RENAMED, SAME, SPLIT, TOOLS
from tests.support.records import SESSION, Claude
from tests.support.records.base import Record

_MADE_BY: Final = "session.agent-meta.model-id, reasoning model-id, assistant model-id, tool-call model-id"
_MODEL: Final = "claude-needle-model"

_QUESTION: Final = {
    "question": "needle-question", "header": "needle-header", "multiSelect": False,
    "options": [{"label": "needle-label", "description": "needle-described"}, {"label": "other"}],
}  # fmt: skip


class _Claude(Claude):
    """A session in which whatever all records share can be found again."""

    def record(self, kind: str, **fields: Any) -> Record:
        """Return a record with the common envelope."""
        return super().record(kind, gitBranch="needle-branch", version="needle-version", **fields)

    def says(self, *blocks: Any, **fields: Any) -> Record:
        """Return a message of the only model."""
        return super().says(*blocks, **fields | {"message": {"model": _MODEL} | fields.get("message", {})})


def _records(answer: Record | None = None, message: Record | None = None, **user: Any) -> tuple[Any, ...]:
    """Return a session with each field; the arguments change the record and the message of the answer, and a prompt."""
    answer, message = answer or {}, message or {}
    new = _Claude(cwd="/home/me/needle-cwd")
    used = {"input_tokens": 70001, "output_tokens": 70002, "cache_read_input_tokens": 70003}
    used |= {"cache_creation_input_tokens": 70004}
    opening = new.user("needle-user", uuid="needle-parent")
    answer = new.says(
        {"type": "thinking", "thinking": "needle-thinking"},
        {"type": "text", "text": "needle-text"},
        {"type": "tool_use", "id": "needle-call", "name": "needle-tool", "input": {"size": "needle-input"}},
        message={"id": "needle-message", "stop_reason": "needle-stop", "usage": used} | message,
        **{"parentUuid": "needle-parent"} | answer, uuid="needle-uuid", timestamp="2026-02-10T23:41:07.000Z", requestId="needle-request",
    )  # fmt: skip
    result = new.result("needle-call", "needle-result")
    asks = new.calls("q1", "AskUserQuestion", questions=[_QUESTION])
    told = 'Your questions have been answered: "needle-question"="needle-label".'
    answers = new.result("q1", told, toolUseResult={"answers": {"needle-question": "needle-label"}})
    return (
        opening, answer, result, new.user("again") | {"userType": "needle-user-type"} | user, asks, answers,
        new.calls("r1", "Read", file_path="/home/me/needle-read"), new.result("r1", "x"),
        new.calls("g1", "Grep", pattern="needle-grep"), new.result("g1", "x"),
        new.record("system", content="needle-system", subtype="informational"),
        new.record("system", content="needle-bridge", subtype="bridge_status"),
        {"type": "queue-operation", "operation": "enqueue", "content": "needle-queued", "sessionId": SESSION,
         "timestamp": "2026-02-10T23:50:00.000Z"},
        {"type": "queue-operation", "operation": "dequeue", "sessionId": SESSION,
         "timestamp": "2026-02-10T23:50:01.000Z"},
        new.record("progress", data={"message": "needle-progress"}),
        {"type": "file-history-snapshot", "messageId": "needle-snapshot", "snapshot": {}},
        new.says("Done."),
    )  # fmt: skip


def _result(**block: Any) -> tuple[Any, ...]:
    new = Claude()
    made = new.result("t1", "failed")
    made["message"]["content"][0] |= block
    return new.user("go"), new.runs("t1", "make"), made


def _session(*records: Any) -> Session:
    return Session("claude", f"{SESSION}.jsonl", records)


SESSIONS: Final = {
    "main": _session(*_records()),
    "orphan": _session(*_records(answer={"parentUuid": None})),
    "no role": _session(*_records(message={"role": None})),
    "mode": _session(*_records(permissionMode="needle-permission")),
    "sidechain": _session(*_records(isSidechain=True, agentId="needle-agent")),
    "succeeded": _session(*_result(is_error=False)),
    "failed": _session(*_result(is_error=True)),
}
FIELDS: Final = {
    RECORDS: (
        Field('type: "system"', "needle-system", "system-event system.message data.text", names=("system",)),
        Field('type: "system", subtype: "bridge_status"', "needle-bridge", "system-event provider.info data.text",
              names=("Claude system",)),
        Field('type: "progress"', "needle-progress", note="display of a running tool, whose result follows",
              names=("progress",)),
        Field('type: "queue-operation"', "needle-queued", "user content", names=("queue-operation",)),
        Field('type: "file-history-snapshot"', "needle-snapshot", note="the client's own backups of files",
              names=("file-history-snapshot",)),
    ),
    BLOCKS: (
        Field('message.content[].type: "text"', "needle-text", "assistant content",
              names=("text", "Claude assistant + text")),
        Field('message.content[].type: "thinking"', "needle-thinking", "reasoning content",
              names=('"thinking"', "Claude assistant + thinking")),
        Field('message.content[].type: "tool_use"', "needle-tool", "tool-call name",
              names=("tool_use", '"tool_use"', "Claude assistant + tool_use")),
        Field('message.content[].type: "tool_result"', "needle-result", "tool-result output",
              names=("tool_result", '"tool_result"', "Claude user + tool_result")),
    ),
    TOOLS: (
        Field("Read", "needle-read", "tool-call input"),
        Field("Grep", "needle-grep", "tool-call input"),
        Field("AskUserQuestion", "needle-header", "tool-call input, system-event assistant.decision.prompt data.decisionKey",
              names=("AskUserQuestion", "Claude AskUserQuestion prompt")),
        Field("toolUseResult.answers", "needle-label", "tool-call input, system-event assistant.decision.prompt"
              " data.options[].label, tool-result output, system-event user.decision.response data.selections[]",
              names=("Claude toolUseResult.answers",)),
    ),
    SAME: (
        Field('type: "user"', "needle-user", "user content", names=('type: "user"', "user", "Claude user + text")),
        Field('type: "assistant"', "needle-text", "assistant content", names=('type: "assistant"', "assistant")),
        Field("timestamp", "2026-02-10T23:41:07", "reasoning timestamp, assistant timestamp, tool-call timestamp",
              printed="23:41"),
    ),
    RENAMED: (
        Field("uuid", "needle-uuid", "reasoning id"),
        Field("message.content", "needle-user", "user content"),
        Field("message.model", _MODEL, _MADE_BY),
    ),
    SPLIT: (
        Field("message.content[]", "2026-02-10T23:41:07", "reasoning timestamp, assistant timestamp, tool-call timestamp", printed="23:41",
              names=('message.content: [{type: "tool_use", ...}, {type: "text", ...}, {type: "thinking", ...}]',)),
        Field("message.content[].tool_use.id", "needle-call", "tool-call call-id, tool-result call-id", names=("id",)),
        Field("message.content[].tool_use.name", "needle-tool", "tool-call name"),
        Field("message.content[].tool_use.input", "needle-input", "tool-call input"),
        Field("message.content[].tool_result.tool_use_id", "needle-call", "tool-call call-id, tool-result call-id",
              names=("tool_use_id",)),
        Field("message.content[].tool_result.content", "needle-result", "tool-result output", names=("content",)),
        Field("message.content[].tool_result.is_error", record="tool-result is-error, tool-result status",
              session="failed", without="succeeded", names=("is_error",)),
        Field("message.content[].thinking.thinking", "needle-thinking", "reasoning content", names=("thinking",)),
    ),
    DROPPED: (
        Field("parentUuid", record="reasoning parent-id, assistant parent-id, tool-call parent-id", without="orphan"),
        Field("isSidechain, agentId", "needle-agent", "x-katod.subagent", names=("isSidechain",), session="sidechain"),
        Field("userType", "needle-user-type", note="the same in all sessions: `external`"),
        Field("cwd", "needle-cwd", "session.environment.working-dir"),
        Field("sessionId", SESSION, "session.session-id"),
        Field("version", "needle-version", "session.agent-meta.cli-version"),
        Field("gitBranch", "needle-branch", "session.environment.vcs.branch, vcs.branch"),
        Field("permissionMode", "needle-permission", "system-event config.change data.after", session="mode"),
        Field("requestId", "needle-request", "x-katod.source.requestId"),
        Field("message.id", "needle-message", "x-katod.source.messageId"),
        Field("message.role", without="no role", note="the `type` of the record says the same"),
        Field("message.usage.input_tokens", 70001, "assistant token-usage.input", printed="140,003 tokens", total=210008, names=("message.usage",)),
        Field("message.usage.output_tokens", 70002, "assistant token-usage.output", printed="140,003 tokens"),
        Field("message.usage.cache_read_input_tokens", 70003, "assistant token-usage.cached"),
        Field("message.usage.cache_creation_input_tokens", 70004, "assistant token-usage.cache-write"),
        Field("message.stop_reason", "needle-stop", "assistant x-katod.stopReason"),
    ),
    ADDED: (
        Field("the provider, by the model's name", "anthropic", "session.agent-meta.model-provider",
              names=("Provider inferred from model prefix",)),
        Field("the name of the program", "claude-code", "session.agent-meta.cli-name", names=('cli-name: "claude-code"',)),
        Field("the envelope", "3.0.0-draft", "version", names=("Record wrapper",)),
    ),
}  # fmt: skip
