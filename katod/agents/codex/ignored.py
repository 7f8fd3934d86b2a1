"""Codex: known bookkeeping, and copies of the content of other records. Unknown records are kept raw."""

from typing import Final

_RECORDS: Final = (
    "dynamic_tools_updated", "inter_agent_communication", "inter_agent_communication_metadata",
    "realtime_item", "record_state", "retained_context", "security_risk_score", "world_state",
)  # fmt: skip
# `event_msg` types without content of their own.
_EVENTS: Final = (
    "account/rateLimits/updated", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
    "codex/event/raw_item", "collab_agent_interaction_end", "collab_waiting_end", "context_compacted",
    "dynamic_tool_call_request", "dynamic_tool_call_response", "guardian_assessment", "image_generation_end",
    "sub_agent_activity", "thread_settings_applied", "turn.completed", "view_image_tool_call",
)  # fmt: skip
_RESPONSES: Final = (
    "additional_tools", "compaction", "configuration_update", "context_compaction", "ghost_snapshot", "other",
)  # fmt: skip
RECORDS: Final = frozenset(
    {*_RECORDS, *(f"event_msg/{name}" for name in _EVENTS), *(f"response_item/{name}" for name in _RESPONSES)}
)
# Items of the paginated form that are better in `response_item` records or have no content; in lower case.
ITEMS: Final = frozenset({
    "collabagenttoolcall", "contextcompaction", "extension", "functioncalloutput", "hookprompt",
    "imagegeneration", "imageview", "sleep", "subagentactivity", "websearch",
})  # fmt: skip
