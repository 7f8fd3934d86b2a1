"""Codex: known bookkeeping and the doubles of what other records say. What is not known is kept raw."""

from typing import Final

RECORDS: Final = frozenset({
    "dynamic_tools_updated", "inter_agent_communication", "inter_agent_communication_metadata",
    "realtime_item", "retained_context", "security_risk_score", "world_state",
})  # fmt: skip

# `event_msg` types that say nothing of their own (format notes, B.5).
EVENTS: Final = frozenset({
    "account/rateLimits/updated", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
    "codex/event/raw_item", "collab_agent_interaction_end", "collab_waiting_end", "context_compacted",
    "guardian_assessment", "image_generation_end", "sub_agent_activity", "thread_settings_applied",
    "turn.completed",
})  # fmt: skip
# The same in the paginated form: items that `response_item` records say better, or that say nothing.
ITEMS: Final = frozenset({
    "collabagenttoolcall", "contextcompaction", "extension", "functioncalloutput", "hookprompt",
    "imagegeneration", "imageview", "sleep", "subagentactivity", "websearch",
})  # fmt: skip
RESPONSES: Final = frozenset({
    "additional_tools", "compaction", "configuration_update", "context_compaction", "ghost_snapshot", "other",
})  # fmt: skip
