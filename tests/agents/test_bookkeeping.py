"""What clients note for themselves is no part of a conversation; what is not known of them is kept as it is."""

from pathlib import Path
from typing import Final

import orjson

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.model import Identity, Record, SessionKey
from tests.looping import each
from tests.support.translated import translated

# By agent and the form of the record: the kinds of which nothing is told.
NOTES: Final = (
    ("claude", '{"type":"%s"}', """
        agent-color agent-setting api-request api-request-blob api-request-resumed api-request-shape
        artifact-autoreact-ledger artifact-comment-monitor atis-latch attribution-snapshot bridge-session
        content-replacement continued-in data-flow-incomplete data-flow-records derived-from dev-mods
        ended-by-model file-history-delta file-history-snapshot fork-context-ref frame-link
        history-suppression hybrid-organization isolation-latch last-prompt marble-origami-commit
        marble-origami-reset marble-origami-snapshot memory-mode mode observer-ref progress relocated
        repl-mode result resume-head-vouch session-owner speculation-accept started summary tools-used
        worktree-state
    """),
    ("claude", '{"type":"attachment","attachment":{"type":"%s"}}', """
        agent_listing_delta auto_mode auto_mode_exit batching_reminder_sent budget_usd command_permissions
        compact_file_reference date date_change deferred_tools_delta dynamic_skill edited_text_file
        environment file goal_status hook_additional_context hook_blocking_error hook_cancelled
        hook_non_blocking_error hook_success hook_system_message invoked_skills mcp_instructions_delta model
        nested_memory plan_mode plan_mode_exit plan_mode_reentry prompt_snapshot read_truncation_notice
        remote_session_change session_context silent_turn_reminder skill_listing task_reminder task_status
        todo_reminder total_tokens_reminder ultra_effort_enter ultra_effort_exit
    """),
    ("codex", '{"type":"%s","payload":{}}', """
        dynamic_tools_updated inter_agent_communication inter_agent_communication_metadata realtime_item
        record_state retained_context security_risk_score world_state
    """),
    ("codex", '{"type":"event_msg","payload":{"type":"%s"}}', """
        account/rateLimits/updated agent_message agent_reasoning agent_reasoning_raw_content
        codex/event/raw_item collab_agent_interaction_end collab_waiting_end context_compacted
        dynamic_tool_call_request dynamic_tool_call_response guardian_assessment image_generation_end
        sub_agent_activity thread_settings_applied turn.completed view_image_tool_call
    """),
    ("codex", '{"type":"response_item","payload":{"type":"%s"}}', """
        additional_tools compaction configuration_update context_compaction ghost_snapshot other
    """),
    ("codex", '{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"%s"}}}', """
        collabagenttoolcall contextcompaction extension functioncalloutput hookprompt imagegeneration
        imageview sleep subagentactivity websearch
    """),
    ("qwen", '{"type":"system","subtype":"%s"}', """
        at_command attribution_snapshot background_task_completed branch_checkpoint file_history_snapshot
        goal_state goal_turn_end omni_recall session_artifact_event session_artifact_snapshot
        session_recording_degraded session_sources_snapshot slash_command turn_result ui_telemetry
        user_text_elements
    """),
    ("kimi", '{"type":"%s"}', """
        agent.message.x agent.switched agent.turn.x context.undo file_history.x forked
        full_compaction.complete llm.x metadata permission.record_x plugin.x prompt.aborted prompt.completed
        runtime.x subagent.started token_counting.x tools.x turn.cancel turn.steer turn.step.x
    """),
    ("pi", '{"type":"%s"}', """
        custom label
    """),
    ("zot", '{"type":"%s"}', """
        done pre_compact response tool_progress tool_use_end user_prompt_submit
    """),
    ("copilot", '{"type":"%s","data":{}}', """
        external_tool.completed external_tool.requested hook.end hook.start session.mode_notice_delivered
        session.usage_checkpoint subagent.configured system.message
    """),
)  # fmt: skip


def kinds(agent: str, row: bytes) -> list[str]:
    """Return the kinds of the events that a session with one record has."""
    adapter = AGENTS[agent].adapter(Origin(Identity(SessionKey(agent, "s")), Path("/nowhere/s")), None)
    return [event.kind for event in (*adapter.feed(Record(0, orjson.loads(row))), *adapter.finish())]


@each(("agent", "form", "names"), NOTES)
def test_what_a_client_notes_for_itself_is_not_told(agent: str, form: str, names: str) -> None:
    """A record of another kind is kept as it is: it may be part of the conversation."""
    told = {name for name in names.split() if ev.PROVIDER_RAW in kinds(agent, (form % name).encode())}
    assert told == set()
    assert ev.PROVIDER_RAW in kinds(agent, (form % "never-seen").encode())


# By agent: a message with a part that no version of the agent that is known writes.
PARTS: Final = (
    ("claude", '{"type":"assistant","uuid":"u","message":{"content":[{"type":"text","text":"one"},%s]}}'),
    ("claude", '{"type":"user","uuid":"u","message":{"content":[{"type":"text","text":"one"},%s]}}'),
    ("cursor", '{"role":"assistant","message":{"content":[{"type":"text","text":"one"},%s]}}'),
    ("cursor", '{"role":"user","message":{"content":[{"type":"text","text":"<user_query>one</user_query>"},%s]}}'),
    ("pi", '{"type":"message","id":"m","message":{"role":"assistant","content":[{"type":"text","text":"one"},%s]}}'),
    ("qwen", '{"type":"assistant","uuid":"u","message":{"parts":[{"text":"one"},%s]}}'),
    ("zot", '{"type":"message","message":{"role":"assistant","content":[{"text":"one"},%s]}}'),
)


@each(("agent", "form"), PARTS)
def test_a_part_that_is_not_known_is_kept_beside_what_was_said(agent: str, form: str) -> None:
    """As it is, once; Claude Code's may be anything."""
    for part in ({"type": "never-seen", "mark": "x"}, *([7, "x"] if agent == "claude" else [])):
        found = translated(agent, orjson.loads(form % orjson.dumps(part).decode()))
        assert "one" in [event.payload.get("text") for event in found]
        assert [event.payload["raw"] for event in found if event.kind == ev.PROVIDER_RAW] == [part]
