"""The fields of Codex: one record per line, each in an envelope that says when and of what type it is."""

import json
from typing import Any, Final

from tests.formats.native.finding import Field, Session
from tests.formats.native.sections import ADDED, BLOCKS, DROPPED, RECORDS, RENAMED, SAME, SOURCES, SPLIT, TOOLS
from tests.support.records import THREAD, Codex, CodexLegacy
from tests.support.records.base import Record

_MADE_BY: Final = "session.agent-meta.model-id, reasoning model-id, assistant model-id, tool-call model-id"
_QUESTIONS: Final = {"questions": [{
    "id": "store", "header": "needle-header", "question": "needle-question",
    "options": [{"label": "needle-label", "description": "d"}, {"label": "other", "description": "d"}],
}]}  # fmt: skip
_COUNTS: Final = {
    "input_tokens": 70001, "cached_input_tokens": 70002, "output_tokens": 70003, "reasoning_output_tokens": 70004,
    "total_tokens": 70005,
}  # fmt: skip
_GIT: Final = {
    "commit_hash": "0123456789abcdef", "branch": "needle-branch", "repository_url": "https://example.org/needle-remote.git",
}  # fmt: skip


class _Codex(CodexLegacy):
    """A thread with more of what rollouts consist of."""

    def response(self, kind: str, **fields: Any) -> Record:
        """Return an item of a response."""
        return self.record("response_item", {"type": kind, **fields})

    def note(self, kind: str, **fields: Any) -> Record:
        """Return a message of the client."""
        return self.record("event_msg", {"type": kind, **fields})


def _records(source: str = "cli", encrypted: str = "Z2VoZWlt") -> tuple[Any, ...]:
    new = _Codex(cwd="/home/me/needle-cwd")
    context = {
        "turn_id": "needle-turn", "cwd": "/home/me/needle-cwd", "approval_policy": "needle-approval",
        "sandbox_policy": {"type": "needle-sandbox"}, "model": "needle-model", "effort": "needle-effort",
    }  # fmt: skip
    call = new.response(
        "function_call", name="needle-tool", call_id="needle-call", arguments=json.dumps({"size": "needle-input"})
    )
    answers = json.dumps({"answers": {"store": {"answers": ["needle-label"]}}})
    return (
        new.meta(
            source=source, originator="needle-originator", cli_version="needle-version", model_provider="needle-provider",
            git=_GIT,
        ),
        new.note("task_started", turn_id="needle-turn"), new.record("turn_context", context),
        new.response("message", role="developer", content=[{"type": "input_text", "text": "needle-developer"}]),
        new.response("message", role="user", content=[{"type": "input_text", "text": "needle-sent"}]),
        new.note("user_message", message="needle-user"),
        new.response("reasoning", summary=[{"type": "summary_text", "text": "needle-thinking"}],
                     encrypted_content=encrypted),
        new.note("agent_reasoning", text="needle-repeated"),
        new.note("agent_message", message="needle-repeated", phase="commentary"),
        new.response("message", role="assistant", phase="commentary", id="needle-message",
                     content=[{"type": "output_text", "text": "needle-commentary"}]),
        call, new.response("function_call_output", call_id="needle-call", output="needle-output"),
        new.runs("e1", "needle-command"), new.result("e1", "x"),
        new.response("function_call", name="search", call_id="s1", arguments='{"query": "needle-search"}'),
        new.response("function_call_output", call_id="s1", output="x"),
        new.response("custom_tool_call", name="apply_patch", call_id="p1", input="needle-patch"),
        new.response("custom_tool_call_output", call_id="p1", output="x"),
        new.response("web_search_call", id="ws_1", action={"type": "search", "query": "needle-web"}),
        new.response("function_call", name="request_user_input", call_id="q1", arguments=json.dumps(_QUESTIONS)),
        new.response("function_call_output", call_id="q1", output=answers),
        new.record("request_user_input", {"call_id": "q2", "questions": [{"question": "needle-direct"}]}),
        new.response("message", role="assistant", phase="final_answer",
                     content=[{"type": "output_text", "text": "needle-final"}]),
        new.note("token_count", info={"last_token_usage": _COUNTS, "total_token_usage": _COUNTS,
                                      "model_context_window": 70006}, rate_limits={"limit_id": "needle-limit"}),
        new.note("task_complete", turn_id="needle-turn", last_agent_message="needle-repeated", duration_ms=70007),
        new.user("again") | {"timestamp": "2026-02-10T23:41:07.000Z"}, new.note("turn_aborted", turn_id="t2", reason="interrupted"),
    )  # fmt: skip


def _session(*records: Any) -> Session:
    return Session("codex", f"rollout-2026-02-10T23-36-18-{THREAD}.jsonl", records)


_PAGES: Final = Codex()
SESSIONS: Final = {
    "main": _session(*_records()),
    "plain": _session(*_records(encrypted="")),
    "source": _session(*_records(source="needle-source")),
    "paginated": _session(
        _PAGES.meta(), _PAGES.user("needle-typed"), _PAGES.thinks("needle-thought"), _PAGES.says("needle-said")
    ),
}
FIELDS: Final = {
    RECORDS: (
        Field("session_meta", "needle-version", "session.agent-meta.cli-version"),
        Field("turn_context", "needle-model", _MADE_BY),
        Field("event_msg", "needle-user", "user content"),
        Field("event_msg.payload.type: user_message", "needle-user", "user content",
              names=("user_message", "Codex event_msg.user_message")),
        Field("event_msg.payload.type: agent_message", "needle-repeated",
              note="repeats the `response_item` of the same text", names=("agent_message", "Codex event_msg.agent_message")),
        Field("event_msg.payload.type: task_started", "needle-turn", "x-katod.turn", names=("task_started",)),
        Field("event_msg.payload.type: task_complete", "done", "system-event turn.end data.reason",
              names=("task_complete",)),
        Field("event_msg.payload.type: turn_aborted", "aborted", "system-event turn.end data.reason", printed="*Interrupted*",
              names=("turn_aborted",)),
        Field("event_msg.payload.type: token_count", 70001, "assistant token-usage.input", printed="140,004 tokens"),
        Field("response_item", "needle-output", "tool-result output"),
        Field("request_user_input", "needle-direct", "system-event provider.raw data.raw"),
    ),
    BLOCKS: (
        Field("response_item.payload.type: message", "needle-final", "assistant content", names=("message",)),
        Field("response_item.payload.type: function_call", "needle-tool", "tool-call name",
              names=("function_call", "Codex response_item.function_call")),
        Field("response_item.payload.type: function_call_output", "needle-output", "tool-result output",
              names=("function_call_output", "Codex response_item.function_call_output")),
        Field("response_item.payload.type: reasoning", "needle-thinking", "reasoning content",
              names=("reasoning", "Codex response_item.reasoning")),
        Field("response_item.payload.type: custom_tool_call", "needle-patch", "tool-call input"),
        Field("response_item.payload.type: web_search_call", "needle-web", "tool-call input"),
        Field("item_completed.item.type: UserMessage", "needle-typed", "user content", session="paginated"),
        Field("item_completed.item.type: AgentMessage", "needle-said", "assistant content", session="paginated"),
        Field("item_completed.item.type: Reasoning", "needle-thought", "reasoning content", session="paginated"),
    ),
    TOOLS: (
        Field("exec_command", "needle-command", "tool-call input"),
        Field("search", "needle-search", "tool-call input"),
        Field("request_user_input, arguments", "needle-header",
              "tool-call input, system-event assistant.decision.prompt data.decisionKey",
              names=("Codex request_user_input prompt",)),
        Field("request_user_input, output.answers", "needle-label", "tool-call input, system-event"
              " assistant.decision.prompt data.options[].label, tool-result output, system-event"
              " user.decision.response data.selections[]", names=("Codex request_user_input answer",)),
    ),
    SOURCES: (
        Field("session_meta.payload.source: cli, vscode, exec", "needle-source", session="source",
              note="`originator` names the program", names=("cli", "vscode", "exec")),
        Field("session_meta.payload.originator", "needle-originator", "system-event session.start data.origin"),
    ),
    SAME: (Field("timestamp", "2026-02-10T23:41:07", "user timestamp", printed="23:41"),),
    RENAMED: (
        Field("payload.arguments", "needle-input", "tool-call input"),
        Field("payload.call_id", "needle-call", "tool-call call-id, tool-result call-id"),
        Field("payload.name", "needle-tool", "tool-call name"),
        Field("payload.output", "needle-output", "tool-result output"),
    ),
    SPLIT: (
        Field("payload", "needle-tool", "tool-call name", names=('{timestamp, type: "response_item", payload: {type: "function_call", ...}}', "Envelope unwrap")),
        Field('payload.type: "function_call"', "needle-tool", "tool-call name", names=('"function_call"',)),
        Field('payload.type: "function_call_output"', "needle-output", "tool-result output",
              names=('"function_call_output"',)),
        Field('payload.type: "custom_tool_call", payload.input', "needle-patch", "tool-call input"),
        Field('payload.type: "web_search_call", payload.action', "needle-web", "tool-call input"),
        Field('payload.type: "reasoning", payload.summary[].text', "needle-thinking", "reasoning content",
              names=('"reasoning"',)),
        Field('payload.type: "reasoning", payload.encrypted_content', record="reasoning encrypted",
              without="plain"),
        Field('payload.type: "message", payload.role: "user"', "needle-sent", names=('"message"+"user"',),
              note="repeats `event_msg.user_message`, which says what was typed"),
        Field('payload.type: "message", payload.role: "assistant"', "needle-final", "assistant content",
              names=('"message"+"assistant"', "payload.role", "Three-level type derivation for messages", "Type mapping", "Type value mapping")),
        Field('payload.type: "message", payload.role: "developer"', "needle-developer",
              note="what the client tells the model about itself"),
        Field("event_msg: agent_message, agent_reasoning, last_agent_message", "needle-repeated",
              note="everything is in a rollout twice, and read once",
              names=("event_msg", "Codex event_msg.task_complete")),
    ),
    DROPPED: (
        Field("type, payload.type", "response_item/message", "x-katod.source.providerEventType", names=("type", "payload.type")),
        Field("session_meta.payload.id", THREAD, "session.session-id", names=("session_meta",)),
        Field("session_meta.payload.cwd", "needle-cwd", "session.environment.working-dir"),
        Field("session_meta.payload.cli_version", "needle-version", "session.agent-meta.cli-version"),
        Field("session_meta.payload.model_provider", "needle-provider", "session.agent-meta.model-provider"),
        Field("session_meta.payload.git.branch", "needle-branch", "session.environment.vcs.branch, vcs.branch"),
        Field("session_meta.payload.git.commit_hash", "0123456789abcdef",
              "session.environment.vcs.revision, vcs.revision"),
        Field("session_meta.payload.git.repository_url", "example.org/needle-remote",
              "session.environment.vcs.repository, vcs.repository"),
        Field("turn_context.payload.turn_id", "needle-turn", "x-katod.turn", names=("turn_context",)),
        Field("turn_context.payload.approval_policy", "needle-approval", "system-event config.change data.after"),
        Field("turn_context.payload.sandbox_policy.type", "needle-sandbox", "system-event config.change data.after"),
        Field("turn_context.payload.effort", "needle-effort", "system-event config.change data.after"),
        Field("event_msg.payload.duration_ms", 70007, "system-event turn.end data.durationMs"),
        Field("event_msg.payload.info.last_token_usage.input_tokens", 70001, "assistant token-usage.input", printed="140,004 tokens"),
        Field("event_msg.payload.info.last_token_usage.cached_input_tokens", 70002, "assistant token-usage.cached"),
        Field("event_msg.payload.info.last_token_usage.output_tokens", 70003, "assistant token-usage.output", printed="140,004 tokens"),
        Field("event_msg.payload.info.last_token_usage.reasoning_output_tokens", 70004,
              "assistant token-usage.reasoning"),
        Field("event_msg.payload.info.last_token_usage.total_tokens", 70005, "assistant token-usage.total"),
        Field("event_msg.payload.info.model_context_window", 70006, "assistant token-usage.context-limit"),
        Field("event_msg.payload.rate_limits", "needle-limit", note="of the account, not of the conversation"),
        Field("response_item.payload.id", "needle-message", "assistant id"),
    ),
    ADDED: (
        Field("the name of the program", "codex-cli", "session.agent-meta.cli-name", names=('cli-name: "codex-cli"',)),
        Field("the model, from turn_context", "needle-model", _MADE_BY,
              names=("Model extracted from",)),
        Field("the envelope", "3.0.0-draft", "version", names=("Record wrapper",)),
    ),
}  # fmt: skip
