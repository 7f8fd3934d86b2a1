"""Calls of tools and their results, and what follows from a result. Pure."""

import re
from typing import Any, Final

from katod import events as ev
from katod.agents.fields import dict_of, list_of, text_of
from katod.agents.toolcalls import words_of_refusal
from katod.formats.matrix import files, git
from katod.formats.matrix.lines import Draft, Picture, timestamp_of, transaction_of
from katod.formats.matrix.session import Session, Told, Turns, described, pictures, size
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
        """Return what is remembered as JSON."""
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
        """Return what is known of a call, and forget it."""
        return self.rows.pop(call, None)

    def get(self, call: str) -> Row:
        """Return what is known of an open call, empty if it is not open."""
        return self.rows.get(call, {})

    def spawning(self) -> list[Row]:
        """Return the open calls that start a sub-agent of which the id is not known yet."""
        return [row for row in self.rows.values() if row["kind"] == "agent" and "child" not in row]


def called(told: Told, calls: MatrixCalls, session: Session, turns: Turns) -> list[Draft]:
    """Return a call: of a tool, of a tool of an MCP server, or of a sub-agent."""
    name, server = told.text("name"), told.text("server")
    kind = "mcp" if server else "agent" if name.lower() in _SPAWNING else "tool"
    txn = transaction_of(told.event) if shows(told, _SAID[kind]) else ""
    row: Row = {"txn": txn, "kind": kind, "name": _short_name(name, server)[:LONGEST_NAME]}
    row |= _remembered(told, server)
    calls.add(told.text("toolCallId"), row)
    line = summary(told, session)
    about = _call_ids(told, turns) | {"tool_name": row["name"]} | ({"katod_summary": line} if line else {})
    given, at = given_input(told.payload.get("input"))
    reply = _said_in(told, turns)
    if kind == "agent":
        return [_spawned(told, reply, line)]
    if kind == "tool":
        return [Draft("tool.call", about | {"tool_source": _BUILTIN} | given, reply=reply, at=at)]
    call = Draft("mcp.tool.call", about | {"mcp_server": server} | given, reply=reply, at=at)
    return [*_connected(told, session, server), call]


def _short_name(name: str, server: str) -> str:
    return name.removeprefix(f"mcp__{server}__") if server else name


def _remembered(told: Told, server: str) -> Row:
    payload = {"name": told.text("name")} | told.payload
    given = dict_of(payload.get("input"))
    command = next((text for key in ("command", "cmd") if (text := text_of(given.get(key)))), "")
    known: Row = {
        "server": server[:LONGEST_NAME], "time": timestamp_of(told.event).get("timestamp"),
        "shown": git.shown_by(command) if payload.get("family") == "execute" else "",
        "edits": files.edits_in(payload), "reads": files.path_read(payload),
        "launches": payload["name"].lower() == _LAUNCHING,
    }  # fmt: skip
    if payload["name"] == _RESOURCE:
        known["resource"] = [text_of(given.get(key))[:LONGEST_NAME] for key in ("server", "uri")]
    return {name: value for name, value in known.items() if value}


def _said_in(told: Told, turns: Turns) -> str:
    """Return what a call answers: the response, if that is of the same message, else the prompt."""
    if not told.is_own:
        return ""
    same = turns.response and told.event.source.get("messageId", "") == turns.message
    return turns.response if same else turns.prompt


def _call_ids(told: Told, turns: Turns | None = None) -> Content:
    call = told.text("toolCallId")
    return told.ids(turns if turns and told.is_own else None) | ({"tool_use_id": call} if call else {})


def _connected(told: Told, session: Session, server: str, tools: Any = None) -> list[Draft]:
    """Return that a server is connected, unless it is known; a call shows it if nothing else did."""
    known = _UNNAMED.sub("_", server)[:LONGEST_NAME]  # as in the names of its tools
    if known in session.servers or len(session.servers) >= _MOST_SERVERS:
        return []
    session.servers.append(known)
    derived = told.event.kind == ev.TOOL_CALL
    names = [name for name in list_of(tools) if isinstance(name, str)]
    about = told.ids() | {"server_name": server} | ({"tools_available": names} if names else {})
    return [Draft("mcp.server.connected", about, f"server.{known}", derived=derived)]


def connected(told: Told, session: Session) -> list[Draft]:
    """Return the servers that the client says are connected, with their tools if it names them."""
    data = dict_of(told.payload.get("data"))
    names = [name for name in list_of(data.get("servers")) if isinstance(name, str)]
    tools = dict_of(data.get("tools"))
    return [draft for name in [*names, *tools] for draft in _connected(told, session, name, tools.get(name))]


def _spawned(told: Told, reply: str, line: str) -> Draft:
    given = dict_of(told.payload.get("input"))
    task = next((text for key in ("prompt", "message", "description", "task") if (text := text_of(given.get(key)))), "")
    about = {"parent_session_id": told.session_id, "task": task, "model": text_of(given.get("model"))}
    about |= {"katod_summary": line, "katod_tool_use_id": told.text("toolCallId")}
    about |= {"katod_subagent": told.ids().get("katod_subagent", "")}
    content = {name: text for name, text in about.items() if text}
    return Draft("agent.spawn", content, reply=reply, at=("task",))


# -- results -------------------------------------------------------------------------------------------


def answered(told: Told, call: Row | None, requests: dict[str, str]) -> list[Draft]:
    """Return the result of a call that was no sub-agent's, or that only started one, and what follows from it."""
    about = _about(told, call)
    reply = call["txn"] if call else ""
    if told.payload.get("denied"):
        return _refused(told, about, reply, requests)
    if told.payload.get("status") == _TIMED_OUT:
        return [_failed(told, about, reply, _TIMED_OUT)]
    return [_result(told, about, call, reply), *_effects(told, call or {}, reply)]


def _about(told: Told, call: Row | None) -> Content:
    """Return the ids of a result, the tool, and how long it took."""
    about = _call_ids(told)
    if call is None:
        return about | duration(told, None)
    if call["name"]:
        about["tool_name"] = call["name"]
    return about | {"tool_source": call.get("server", _BUILTIN)} | duration(told, call.get("time"))


def duration(told: Told, began: int | None) -> Content:
    """Return how long a call took: as recorded, else from the times of call and result."""
    if (taken := integer(told.payload.get("durationMs"))) is not None:
        return {"duration_ms": taken}
    ended = timestamp_of(told.event).get("timestamp")
    if began is None or ended is None or ended < began:
        return {}
    return {"duration_ms": ended - began, "katod_derived_fields": ["duration_ms"]}


def _result(told: Told, about: Content, call: Row | None, reply: str) -> Draft:
    about = about | {"is_error": bool(told.payload.get("isError"))}
    status = told.text("status")
    about |= {"katod_status": status} if status else {}
    shown, kept = _pictures(told)
    if call and call["kind"] == "mcp":
        output = {"mcp_server": call["server"], "output": {"text": told.text("text")}}
        about = {name: value for name, value in about.items() if name != "tool_source"}
        return Draft("mcp.tool.result", about | output | shown, reply=reply, at=("output", "text"), pictures=kept)
    content = about | _exit_code(told) | {"output": told.text("text")} | shown
    return Draft("tool.result", content, reply=reply, at=("output",), pictures=kept)


def _exit_code(told: Told) -> Content:
    code = integer(told.payload.get("exitCode"))
    return {} if code is None else {"exit_code": code}


def _pictures(told: Told) -> tuple[Content, tuple[Picture, ...]]:
    """Return what a result shows besides text, and its data."""
    rows = told.payload.get("attachments")
    shown = [row for row in rows if isinstance(row, dict)][:_MOST_PICTURES] if isinstance(rows, list) else []
    paths: list[Path] = [("katod_images", number, "sha256") for number in range(len(shown))]
    kept = [picture for row, at in zip(shown, paths, strict=True) for picture in pictures(told, row, at)]
    return ({"katod_images": [described(row) | size(told, row) for row in shown]} if shown else {}), tuple(kept)


def _refused(told: Told, about: Content, reply: str, requests: dict[str, str]) -> list[Draft]:
    """Return a refused call: what the person decided, unless that was said, and that the call failed."""
    failed = _failed(told, about, reply, "permission_denied")
    request = requests.pop(told.text("toolCallId"), reply)
    if request == _ANSWERED:
        return [failed]
    note = words_of_refusal(told.text("text"))
    content = _call_ids(told) | {"decision": "denied"} | ({"note": note} if note else {}) | timestamp_of(told.event)
    return [Draft("approval.response", content, "approval", request, ("note",)), failed]


def _failed(told: Told, about: Content, reply: str, kind: str) -> Draft:
    content = about | {"error_type": kind, "error_message": told.text("text")} | _exit_code(told)
    return Draft("tool.error", content, reply=reply, at=("error_message",))


def _effects(told: Told, call: Row, reply: str) -> list[Draft]:
    """Return what a successful call did to files and to the repository; each answers the call."""
    if not ev.went_well(told.payload):
        return []
    ids, cwd = told.ids(), told.metadata.cwd
    drafts = files.changed(told.payload, call.get("edits", []), cwd, told.text("toolCallId"), ids)
    drafts += files.read(call.get("reads", ""), cwd, ids)
    recorded = git.recorded(dict_of(told.payload.get("structured")), ids)
    shown = git.seen(call.get("shown", ""), told.text("text"), ids) if call.get("shown") else []
    said = {draft.name for draft in shown}
    drafts += shown + [draft for draft in recorded if draft.name not in said]
    if "resource" in call:
        server, uri = call["resource"]
        about = {name: text for name, text in (("mcp_server", server), ("resource_uri", uri)) if text}
        drafts.append(Draft("mcp.resource.read", ids | about, "resource"))
    return [draft._replace(reply=reply) for draft in drafts]


# -- approvals, where the agent records them -----------------------------------------------------------


def asked(told: Told, calls: MatrixCalls) -> list[Draft]:
    """Return a request for an approval."""
    data = dict_of(told.payload.get("data"))
    call = text_of(data.get("toolCallId"))
    row = calls.get(call)
    if len(calls.requests) >= _MOST_OPEN:
        calls.requests.pop(next(iter(calls.requests)))
    if 0 < len(call) <= LONGEST_NAME:
        calls.requests[call] = transaction_of(told.event) if shows(told, "approval.request") else ""
    about = {"tool_use_id": call, "tool_name": row.get("name", ""), "description": text_of(data.get("intention"))}
    about |= {"tool_source": row.get("server") or _BUILTIN if row else ""}
    content = told.ids() | {name: text for name, text in about.items() if text}
    return [Draft("approval.request", content, reply=row.get("txn", ""))]


def decided(told: Told, requests: dict[str, str]) -> list[Draft]:
    """Return the answer to a request, as far as it is one."""
    data = dict_of(told.payload.get("data"))
    call, said = text_of(data.get("toolCallId")), text_of(data.get("kind"))
    decision = "approved" if said in _APPROVED else "denied" if said.startswith(_DENIED) else ""
    request = requests.get(call, "")
    if not decision or request == _ANSWERED:
        return []
    if call in requests:
        requests[call] = _ANSWERED
    note = text_of(data.get("note"))
    content = told.ids() | ({"tool_use_id": call} if call else {}) | {"decision": decision} | timestamp_of(told.event)
    return [Draft("approval.response", content | ({"note": note} if note else {}), reply=request, at=("note",))]
