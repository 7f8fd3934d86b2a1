"""Calls of tools and their results, and what follows from a result. Pure."""

import re
from typing import Any, Final

from katod import events as ev
from katod.agents.fields import dict_of, list_of, text_of
from katod.agents.toolcalls import words_of_refusal
from katod.formats.matrix import files, git
from katod.formats.matrix.lines import Draft, Picture, timestamp_of, transaction_of
from katod.formats.matrix.session import EventContext, Session, Turns, described, pictures, size
from katod.formats.matrix.shown import shows, summary
from katod.formats.matrix.values import Content, Path, given_input, integer
from katod.model import LONGEST_NAME

_MOST_OPEN: Final = 256
_MOST_SERVERS: Final = 64
_MOST_PICTURES: Final = 16
_SPAWNING: Final = frozenset({"task", "agent", "spawn_agent", "invoke_agent"})
_LAUNCHING: Final = "spawn_agent"  # its result says that the sub-agent started, not what it did
_RESOURCE: Final = "ReadMcpResourceTool"
_UNNAMED: Final = re.compile(r"[^A-Za-z0-9_-]")
_BUILTIN: Final = "builtin"
_TIMED_OUT: Final = "timeout"
_ANSWERED: Final = "answered"  # in place of a request's transaction
SERVERS: Final = "mcp-servers"
TOOLS: Final = "mcp-tools"
_APPROVED: Final = frozenset({"approved", "allowed", "granted"})
_DENIED: Final = ("denied", "rejected")
_SAID: Final = {"mcp": "mcp.tool.call", "agent": "agent.spawn", "tool": "tool.call"}

Row = dict[str, Any]


class MatrixCalls:
    """What a result needs of its call, and an answer of its request, until it comes; of too many, the oldest go."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self.rows: dict[str, Row] = state.get("rows", {})
        self.requests: dict[str, str] = state.get("requests", {})

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""
        row = {"rows": self.rows, "requests": self.requests}
        return {name: value for name, value in row.items() if value}

    def add(self, call: str, row: Row) -> None:
        """Remember a call; one without an id, or with an implausibly long one, is not."""
        if 0 < len(call) <= LONGEST_NAME:
            self.rows.pop(call, None)
            self.rows[call] = row
            if len(self.rows) > _MOST_OPEN:
                del self.rows[next(iter(self.rows))]

    def take(self, call: str) -> Row | None:
        """Return the state of a call, and forget it."""
        return self.rows.pop(call, None)

    def get(self, call: str) -> Row:
        """Return the state of a call, empty if it is not open."""
        return self.rows.get(call, {})

    def spawning(self) -> list[Row]:
        """Return the open calls that start a sub-agent of which the id is not known yet."""
        return [row for row in self.rows.values() if row["kind"] == "agent" and "child" not in row]


def called(context: EventContext, calls: MatrixCalls, session: Session, turns: Turns) -> list[Draft]:
    """Return a call: of a tool, of a tool of an MCP server, or of a sub-agent."""
    name, server = context.text("name"), context.text("server")
    kind = "mcp" if server else "agent" if name.lower() in _SPAWNING else "tool"
    txn = transaction_of(context.event) if shows(context, _SAID[kind]) else ""
    row: Row = {"txn": txn, "kind": kind, "name": _short_name(name, server)[:LONGEST_NAME]}
    row |= _remembered(context, server)
    calls.add(context.text("toolCallId"), row)
    line = summary(context, session)
    about = _call_ids(context, turns) | {"tool_name": row["name"]} | ({"katod_summary": line} if line else {})
    given, at = given_input(context.payload.get("input"))
    reply = _said_in(context, turns)
    if kind == "agent":
        return [_spawned(context, reply, line)]
    if kind == "tool":
        return [Draft("tool.call", about | {"tool_source": _BUILTIN} | given, reply=reply, at=at)]
    call = Draft("mcp.tool.call", about | {"mcp_server": server} | given, reply=reply, at=at)
    return [*_connected(context, session, server), call]


def _short_name(name: str, server: str) -> str:
    return name.removeprefix(f"mcp__{server}__") if server else name


def _remembered(context: EventContext, server: str) -> Row:
    payload = {"name": context.text("name")} | context.payload
    given = dict_of(payload.get("input"))
    command = next((text for key in ("command", "cmd") if (text := text_of(given.get(key)))), "")
    known: Row = {
        "server": server[:LONGEST_NAME], "time": timestamp_of(context.event).get("timestamp"),
        "shown": git.shown_by(command) if payload.get("family") == "execute" else "",
        "edits": files.edits_in(payload), "reads": files.path_read(payload),
        "launches": payload["name"].lower() == _LAUNCHING,
    }  # fmt: skip
    if payload["name"] == _RESOURCE:
        known["resource"] = [text_of(given.get(key))[:LONGEST_NAME] for key in ("server", "uri")]
    return {name: value for name, value in known.items() if value}


def _said_in(context: EventContext, turns: Turns) -> str:
    """Return what a call answers: the response, if that is of the same message, else the prompt."""
    if not context.is_own:
        return ""
    same = turns.response and context.event.source.get("messageId", "") == turns.message
    return turns.response if same else turns.prompt


def _call_ids(context: EventContext, turns: Turns | None = None) -> Content:
    call = context.text("toolCallId")
    return context.ids(turns if turns and context.is_own else None) | ({"tool_use_id": call} if call else {})


def _connected(context: EventContext, session: Session, server: str, tools: Any = None) -> list[Draft]:
    """Return that a server is connected, unless it is known; a call shows it if nothing else did."""
    known = _UNNAMED.sub("_", server)[:LONGEST_NAME]  # as in the names of its tools
    servers = session.settings.servers
    if known in servers or len(servers) >= _MOST_SERVERS:
        return []
    servers.append(known)
    derived = context.event.kind == ev.TOOL_CALL
    names = [name for name in list_of(tools) if isinstance(name, str)]
    about = context.ids() | {"server_name": server} | ({"tools_available": names} if names else {})
    return [Draft("mcp.server.connected", about, f"server.{known}", derived=derived)]


def connected(context: EventContext, session: Session) -> list[Draft]:
    """Return the servers that the client says are connected, with their tools if it names them."""
    data = dict_of(context.payload.get("data"))
    names = [name for name in list_of(data.get("servers")) if isinstance(name, str)]
    tools = dict_of(data.get("tools"))
    return [draft for name in [*names, *tools] for draft in _connected(context, session, name, tools.get(name))]


def _spawned(context: EventContext, reply: str, line: str) -> Draft:
    given = dict_of(context.payload.get("input"))
    task = next((text for key in ("prompt", "message", "description", "task") if (text := text_of(given.get(key)))), "")
    about = {"parent_session_id": context.session_id, "task": task, "model": text_of(given.get("model"))}
    about |= {"katod_summary": line, "katod_tool_use_id": context.text("toolCallId")}
    about |= {"katod_subagent": context.ids().get("katod_subagent", "")}
    content = {name: text for name, text in about.items() if text}
    return Draft("agent.spawn", content, reply=reply, at=("task",))


# -- results -------------------------------------------------------------------------------------------


def answered(context: EventContext, call: Row | None, requests: dict[str, str]) -> list[Draft]:
    """Return the result of a call that was no sub-agent's, or that only started one, and what follows from it."""
    about = _about(context, call)
    reply = call["txn"] if call else ""
    if context.payload.get("denied"):
        return _refused(context, about, reply, requests)
    if context.payload.get("status") == _TIMED_OUT:
        return [_failed(context, about, reply, _TIMED_OUT)]
    return [_result(context, about, call, reply), *_effects(context, call or {}, reply)]


def _about(context: EventContext, call: Row | None) -> Content:
    """Return the ids of a result, the tool, and how long it took."""
    about = _call_ids(context)
    if call is None:
        return about | duration(context, None)
    if call["name"]:
        about["tool_name"] = call["name"]
    return about | {"tool_source": call.get("server", _BUILTIN)} | duration(context, call.get("time"))


def duration(context: EventContext, began: int | None) -> Content:
    """Return how long a call took: as recorded, else from the times of call and result."""
    if (taken := integer(context.payload.get("durationMs"))) is not None:
        return {"duration_ms": taken}
    ended = timestamp_of(context.event).get("timestamp")
    if began is None or ended is None or ended < began:
        return {}
    return {"duration_ms": ended - began, "katod_derived_fields": ["duration_ms"]}


def _result(context: EventContext, about: Content, call: Row | None, reply: str) -> Draft:
    about = about | {"is_error": bool(context.payload.get("isError"))}
    status = context.text("status")
    about |= {"katod_status": status} if status else {}
    shown, kept = _pictures(context)
    if call and call["kind"] == "mcp":
        output = {"mcp_server": call["server"], "output": {"text": context.text("text")}}
        about = {name: value for name, value in about.items() if name != "tool_source"}
        return Draft("mcp.tool.result", about | output | shown, reply=reply, at=("output", "text"), pictures=kept)
    content = about | _exit_code(context) | {"output": context.text("text")} | shown
    return Draft("tool.result", content, reply=reply, at=("output",), pictures=kept)


def _exit_code(context: EventContext) -> Content:
    code = integer(context.payload.get("exitCode"))
    return {} if code is None else {"exit_code": code}


def _pictures(context: EventContext) -> tuple[Content, tuple[Picture, ...]]:
    """Return what a result shows besides text, and its data."""
    rows = context.payload.get("attachments")
    shown = [row for row in rows if isinstance(row, dict)][:_MOST_PICTURES] if isinstance(rows, list) else []
    paths: list[Path] = [("katod_images", number, "sha256") for number in range(len(shown))]
    kept = [picture for row, at in zip(shown, paths, strict=True) for picture in pictures(context, row, at)]
    return ({"katod_images": [described(row) | size(context, row) for row in shown]} if shown else {}), tuple(kept)


def _refused(context: EventContext, about: Content, reply: str, requests: dict[str, str]) -> list[Draft]:
    """Return a refused call: what the user decided, unless that was said, and that the call failed."""
    failed = _failed(context, about, reply, "permission_denied")
    request = requests.pop(context.text("toolCallId"), reply)
    if request == _ANSWERED:
        return [failed]
    note = words_of_refusal(context.text("text"))
    content = (
        _call_ids(context) | {"decision": "denied"} | ({"note": note} if note else {}) | timestamp_of(context.event)
    )
    return [Draft("approval.response", content, "approval", request, ("note",)), failed]


def _failed(context: EventContext, about: Content, reply: str, kind: str) -> Draft:
    content = about | {"error_type": kind, "error_message": context.text("text")} | _exit_code(context)
    return Draft("tool.error", content, reply=reply, at=("error_message",))


def _effects(context: EventContext, call: Row, reply: str) -> list[Draft]:
    """Return what a successful call did to files and to the repository; each answers the call."""
    if not ev.went_well(context.payload):
        return []
    ids, cwd = context.ids(), context.metadata.cwd
    drafts = files.changed(context.payload, call.get("edits", []), cwd, context.text("toolCallId"), ids)
    drafts += files.read(call.get("reads", ""), cwd, ids)
    recorded = git.recorded(dict_of(context.payload.get("structured")), ids)
    shown = git.seen(call.get("shown", ""), context.text("text"), ids) if call.get("shown") else []
    said = {draft.name for draft in shown}
    drafts += shown + [draft for draft in recorded if draft.name not in said]
    if "resource" in call:
        server, uri = call["resource"]
        about = {name: text for name, text in (("mcp_server", server), ("resource_uri", uri)) if text}
        drafts.append(Draft("mcp.resource.read", ids | about, "resource"))
    return [draft._replace(reply=reply) for draft in drafts]


# -- approvals, where the agent records them -----------------------------------------------------------


def asked(context: EventContext, calls: MatrixCalls) -> list[Draft]:
    """Return a request for an approval."""
    data = dict_of(context.payload.get("data"))
    call = text_of(data.get("toolCallId"))
    row = calls.get(call)
    if len(calls.requests) >= _MOST_OPEN:
        calls.requests.pop(next(iter(calls.requests)))
    if 0 < len(call) <= LONGEST_NAME:
        calls.requests[call] = transaction_of(context.event) if shows(context, "approval.request") else ""
    about = {"tool_use_id": call, "tool_name": row.get("name", ""), "description": text_of(data.get("intention"))}
    about |= {"tool_source": row.get("server") or _BUILTIN if row else ""}
    content = context.ids() | {name: text for name, text in about.items() if text}
    return [Draft("approval.request", content, reply=row.get("txn", ""))]


def decided(context: EventContext, requests: dict[str, str]) -> list[Draft]:
    """Return the answer to a request, as far as it is one."""
    data = dict_of(context.payload.get("data"))
    call, said = text_of(data.get("toolCallId")), text_of(data.get("kind"))
    decision = "approved" if said in _APPROVED else "denied" if said.startswith(_DENIED) else ""
    request = requests.get(call, "")
    if not decision or request == _ANSWERED:
        return []
    if call in requests:
        requests[call] = _ANSWERED
    note = text_of(data.get("note"))
    content = (
        context.ids() | ({"tool_use_id": call} if call else {}) | {"decision": decision} | timestamp_of(context.event)
    )
    return [Draft("approval.response", content | ({"note": note} if note else {}), reply=request, at=("note",))]
