"""Which lines of a session are shown, by the options of its recording. Pure."""

from typing import Final

from katod import events as ev
from katod.agents.tooltable import is_silent, tool
from katod.formats.matrix.lines import Draft
from katod.formats.matrix.names import NEEDS
from katod.formats.matrix.places import below_home
from katod.formats.matrix.session import EventContext, Session
from katod.formats.transcript import todos
from katod.formats.transcript.calls import edit_size
from katod.formats.transcript.toolview import View

# What is left of a line about tools with `tools = "summary"`: what a transcript says of the call in its line, and what
# came of it, but neither what the tool was given nor what it returned.
_KEPT: Final = frozenset({
    "session_id", "prompt_id", "timestamp", "tool_use_id", "katod_tool_use_id", "tool_name", "tool_source",
    "mcp_server", "server_name", "tools_available", "resource_uri", "katod_summary", "is_error", "katod_status",
    "status", "exit_code", "input_tokens", "output_tokens",
    "duration_ms", "katod_derived_fields", "error_type", "decision", "note", "path", "file_path", "scope",
    "change_type", "lines_added", "lines_removed", "commit_hash", "message", "branch", "insertions", "deletions",
    "katod_kind", "action", "branch_name", "from_branch", "parent_session_id", "child_session_id",
})  # fmt: skip
_PATHS: Final = ("path", "file_path")
_REPORT: Final = frozenset({"result"})
_SUMMARY: Final = "summary_text"  # of a compaction: it retells what tools returned


def shows(context: EventContext, name: str) -> bool:
    """Return whether lines of this name are shown; those of a sub-agent in its parent's file need all of the tools."""
    tools, needs = context.options.tools, NEEDS[name]
    if not context.is_own and tools != "full":
        return False
    if needs == "thinking":
        return context.options.thinking
    return not needs or tools == "full" or (needs == "tools" and tools == "summary")


def as_shown(drafts: list[Draft], context: EventContext) -> list[Draft]:
    """Return what is shown of what could be said of an event."""
    found = [draft for draft in drafts if shows(context, draft.name)]
    return found if context.options.tools == "full" else [_without_details(draft, context) for draft in found]


def _without_details(draft: Draft, context: EventContext) -> Draft:
    if draft.name == "context.summarized":
        content = {name: value for name, value in draft.content.items() if name != _SUMMARY}
        return draft._replace(content=content, at=(), waits=None)
    if NEEDS[draft.name] != "tools":
        return draft
    has_report = context.event.kind == ev.AGENT_END and context.options.subagent_reports
    kept = _KEPT | _REPORT if has_report else _KEPT
    content = {name: value for name, value in draft.content.items() if name in kept}
    content |= {name: below_home(content[name]) for name in _PATHS if name in content}
    return draft._replace(content=content, at=draft.at if draft.at and draft.at[0] in content else (), pictures=())


def summary(context: EventContext, session: Session) -> str:
    """Return what the line of a call says in a transcript, empty if it has none or if all of the call is shown."""
    payload = {"name": context.text("name"), "family": context.text("family")} | context.payload
    is_quiet = is_silent(payload["name"], context.event.session.agent, payload.get("server"))
    if context.options.tools != "summary" or is_quiet:
        return ""
    if (known := tool(payload["name"])).items:
        items = todos.items_of(payload.get("input"), known)
        line = todos.changes(session.settings.list_todos(items), items)
    else:
        line = View(str, context.metadata.cwd).about(payload, *edit_size(payload))
    return " ".join(span.text for span in line)
