"""Claude Code: known records that are not part of the conversation. Unknown records are kept raw."""

from typing import Final

RECORDS: Final = frozenset({
    "agent-color", "agent-setting", "api-request", "api-request-blob", "api-request-resumed",
    "api-request-shape", "artifact-autoreact-ledger", "artifact-comment-monitor", "atis-latch",
    "attribution-snapshot", "bridge-session", "content-replacement", "continued-in",
    "data-flow-incomplete", "data-flow-records", "derived-from", "dev-mods", "ended-by-model",
    "file-history-delta", "file-history-snapshot", "fork-context-ref", "frame-link",
    "history-suppression", "hybrid-organization", "isolation-latch", "last-prompt",
    "marble-origami-commit", "marble-origami-reset", "marble-origami-snapshot", "memory-mode", "mode",
    "observer-ref", "progress", "relocated", "repl-mode", "result", "resume-head-vouch",
    "session-owner", "speculation-accept", "started", "summary", "tools-used", "worktree-state",
})  # fmt: skip
ATTACHMENTS: Final = frozenset({
    "agent_listing_delta", "auto_mode", "auto_mode_exit", "batching_reminder_sent", "budget_usd",
    "command_permissions", "compact_file_reference", "date", "date_change", "deferred_tools_delta",
    "dynamic_skill", "edited_text_file", "environment", "file", "goal_status",
    "hook_additional_context", "hook_blocking_error", "hook_cancelled", "hook_non_blocking_error",
    "hook_success", "hook_system_message", "invoked_skills", "mcp_instructions_delta", "model",
    "nested_memory", "plan_mode", "plan_mode_exit", "plan_mode_reentry", "prompt_snapshot",
    "read_truncation_notice", "remote_session_change", "session_context", "silent_turn_reminder",
    "skill_listing", "task_reminder", "task_status", "todo_reminder", "total_tokens_reminder",
    "ultra_effort_enter", "ultra_effort_exit",
})  # fmt: skip
