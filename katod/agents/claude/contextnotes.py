"""Claude Code: what the client notes in attachments of the servers and memory files that it gave to the model."""

from hashlib import sha256
from typing import Any, Final

from katod import events as ev
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.fields import dict_of, list_of, text_of, texts_in
from katod.events import Event
from katod.model import Record

SERVERS: Final = "mcp_instructions_delta"
TOOLS: Final = "deferred_tools_delta"
_MOST_SERVERS: Final = 64
_MOST_TOOLS: Final = 200  # of one server
MEMORY: Final = "nested_memory"


def context_note(new: ClaudeBuilder, record: Record, row: dict[str, Any]) -> list[Event]:
    """Return which MCP servers are connected, with which tools, or which memory file was read; never its content."""
    make = {SERVERS: _servers, TOOLS: _tools, MEMORY: _memory}.get(text_of(row.get("type")))
    payload = make(row) if make else {}
    return [new.event(ev.PROVIDER_INFO, payload, record)] if payload else []


def _servers(row: dict[str, Any]) -> dict[str, Any]:
    names = [name for name in list_of(row.get("addedNames")) if isinstance(name, str) and name]
    return {"text": ", ".join(names), "subtype": "mcp-servers", "data": {"servers": names}} if names else {}


def _tools(row: dict[str, Any]) -> dict[str, Any]:
    """Return the tools of each server that the client lists by name, as it does with those that it loads later."""
    servers: dict[str, list[str]] = {}
    for name in list_of(row.get("addedNames")):
        first, _, rest = name.partition("__") if isinstance(name, str) else ("", "", "")
        server, _, short = rest.partition("__")
        if first == "mcp" and server and short and (server in servers or len(servers) < _MOST_SERVERS):
            servers.setdefault(server, []).append(short)
    found = {server: tools[:_MOST_TOOLS] for server, tools in servers.items()}
    return {"text": ", ".join(found), "subtype": "mcp-tools", "data": {"tools": found}} if found else {}


def _memory(row: dict[str, Any]) -> dict[str, Any]:
    path, inner = text_of(row.get("path")), dict_of(row.get("content"))
    if not path:
        return {}
    data: dict[str, Any] = {"path": path} | texts_in({"scope": inner.get("type")})
    if content := text_of(inner.get("content")):
        whole = content.encode("utf-8", "replace")
        data |= {"bytes": len(whole), "sha256": sha256(whole).hexdigest()}
    return {"text": path, "subtype": "memory-read", "data": data}
