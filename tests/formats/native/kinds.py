"""The kinds of events, each as some agent records it, and what holds events together."""

from typing import Any, Final

from tests.formats.native import claude, codex, cursor
from tests.formats.native.finding import Field, Session
from tests.formats.native.sections import KINDS, LINKS
from tests.support.records import SESSION, THREAD, Claude, CodexLegacy

_OPTIONS: Final = [{"label": "a"}, {"label": "b"}]


def _answered(answer: str, **question: Any) -> Session:
    new, asked = Claude(), {"question": "Which?", "header": "Which", "options": _OPTIONS} | question
    answers = new.result(
        "q1", f'Your questions have been answered: "Which?"="{answer}".', toolUseResult={"answers": {"Which?": answer}}
    )
    return Session(
        "claude", f"{SESSION}.jsonl", (new.user("go"), new.calls("q1", "AskUserQuestion", questions=[asked]), answers)
    )


def _events() -> Session:
    """Return a session with the kinds that are rare."""
    new = Claude()
    plan = new.calls("p1", "ExitPlanMode", plan="needle-plan")
    launched = {"status": "async_launched", "agentId": "needle-launched", "description": "needle-task"}
    ended = {"status": "completed", "agentId": "needle-ended"}
    return Session("claude", f"{SESSION}.jsonl", (
        new.typed("::start needle-name\nneedle-below"), new.record("never-seen", note="needle-unknown"),
        new.calls("p0", "ExitPlanMode", plan="x"), new.result("p0", "User has approved your plan."),
        plan, new.result("p1", "The user doesn't want to proceed with this tool use. The tool use was rejected.", error=True),
        new.calls("a1", "Agent", prompt="x"), new.result("a1", "x", toolUseResult=launched),
        new.calls("a2", "Agent", prompt="x"), new.result("a2", "x", toolUseResult=ended),
        new.record("system", subtype="compact_boundary", compactMetadata={"trigger": "needle-trigger"}),
    ))  # fmt: skip


def _phase() -> Session:
    new = CodexLegacy()
    said = {"type": "message", "role": "assistant", "phase": "final_answer"}
    answer = new.record("response_item", said | {"content": [{"type": "output_text", "text": "Done."}]})
    return Session("codex", f"rollout-2026-02-10T23-36-18-{THREAD}.jsonl", (new.meta(), new.user("go"), answer))


SESSIONS: Final = {
    "claude": claude.SESSIONS["main"],
    "codex": codex.SESSIONS["main"],
    "phase": _phase(),
    "cursor": cursor.SESSIONS["main"],
    "main": _events(),
    "one": _answered("a"),
    "several": _answered("a", multiSelect=True),
    "own words": _answered("needle-words"),
}
FIELDS: Final = {
    KINDS: (
        Field("user.message", "needle-user", "user content", session="claude", names=("user.message", "message.user")),
        Field("user.kato-command", "needle-name", "system-event user.kato-command data.argument, system-event"
              " user.kato-command data.line"),
        Field("user.decision.response", "approved", "tool-result output, system-event user.decision.response data.selections[]",
              names=("user.decision.response", "status=accepted, decidedBy=user")),
        Field("assistant.message", "needle-text", "assistant content", session="claude", names=("message.assistant",)),
        Field("assistant.thinking", "needle-thinking", "reasoning content", session="claude", names=("thinking",)),
        Field("assistant.tool.call", "needle-tool", "tool-call name", session="claude", names=("tool.call",)),
        Field("assistant.tool.result", "needle-result", "tool-result output", session="claude", names=("tool.result",)),
        Field("assistant.decision.prompt", "needle-question", "tool-call input, system-event assistant.decision.prompt data.prompt", session="codex",
              names=("assistant.decision.prompt", "status=proposed, decidedBy=assistant")),
        Field("system.message", "needle-system", "system-event system.message data.text", session="claude",
              names=("message.system",)),
        Field("provider.info", "needle-bridge", "system-event provider.info data.text", session="claude"),
        Field("provider.raw", "needle-unknown", "system-event provider.raw data.raw",
              names=("Unknown/ignored provider types are not yet emitted as",)),
        Field("session.start", "needle-version", "session.agent-meta.cli-version", session="claude"),
        Field("session.end", note="any session can be resumed, and no agent says that one will not"),
        Field("turn.start", "turn.start", "system-event turn.start event-type", session="codex"),
        Field("turn.end", "aborted", "system-event turn.end data.reason", session="codex", printed="*Interrupted*"),
        Field("usage", 70002, "assistant token-usage.output", session="claude", printed="140,003 tokens"),
        Field("context.compaction", "needle-trigger", "system-event context.compaction data.trigger", printed="*Context compacted*"),
        Field("config.change", "needle-effort", "system-event config.change data.after", session="codex"),
        Field("error", "needle-error", "system-event error data.message", session="cursor"),
        Field("agent.start", "needle-task", "system-event agent.start data.task"),
        Field("agent.end", "needle-ended", "system-event agent.end data.subagent"),
    ),
    LINKS: (
        Field("toolCallId", "needle-call", "tool-call call-id, tool-result call-id", session="claude"),
        Field("decisionId", "q1:0", "system-event assistant.decision.prompt data.decisionId, system-event"
              " user.decision.response data.decisionId", session="one"),
        Field("decisionKey", "needle-header", "tool-call input, system-event assistant.decision.prompt data.decisionKey", session="codex"),
        Field("prompt", "needle-question", "tool-call input, system-event assistant.decision.prompt data.prompt", session="codex"),
        Field("options[]", "needle-described", "tool-call input, system-event assistant.decision.prompt data.options[].description", session="claude"),
        Field("multiSelect", record="tool-call input, system-event assistant.decision.prompt data.multiSelect", session="several", without="one"),
        Field("selections[]", "approved", "tool-result output, system-event user.decision.response data.selections[]"),
        Field("freeText", "needle-words", "tool-result output, system-event user.decision.response data.freeText", session="own words"),
        Field("selections[] of a refusal", "rejected", "tool-result output, system-event user.decision.response data.selections[]",
              names=("Other states (rejected, etc.)", "decision")),
        Field("phase", "final", "assistant x-katod.phase", session="phase", names=("phase=commentary/final/other",)),
    ),
}  # fmt: skip
