"""CodingBridge: the messages of a server to its viewers, as in its OpenAPI description (version 0.4.10). Pure.

A null is invalid there, so what is absent is left out. Ids are UUIDs, which viewers may send back in capitals.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from katod.agents.spec import SPAWNED
from katod.formats.rows import timestamp
from katod.metadata import SessionMetadata
from katod.model import SessionKey

PROTOCOL: Final = "1.0"
UNKNOWN: Final = "unknown"  # a model that nobody names
UNDATED: Final = "1970-01-01T00:00:00Z"  # a time may not be absent
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
Fields = dict[str, Any]


# -- ids and times ----------------------------------------------------------------------------------


def event_uuid(event_id: str, part: str = "") -> str:
    """Return the id of what an event is sent as, or of a further part of that: always the same for the same event."""
    whole = uuid5(NAMESPACE_URL, f"katod:{event_id}")
    return str(uuid5(whole, part) if part else whole)


def session_uuid(key: SessionKey) -> str:
    """Return the id of a session: its own if that is a UUID, else one that is derived from its key."""
    own = not key.subagent and _UUID.fullmatch(key.id)
    if not own:
        return str(uuid5(NAMESPACE_URL, f"katod:{key}"))
    small = key.id.lower()
    return key.id if key.id == small else small  # the same object: a server keeps ten thousands of them


def keys_by_uuid(keys: Iterable[SessionKey]) -> dict[str, SessionKey]:
    """Return the way back from the ids of sessions to their keys; look up what `folded` makes of an id."""
    return {session_uuid(key): key for key in keys}


def folded(given: str) -> str:
    """Return an id that a viewer sent so that it can be compared: UUIDs in small letters, others as they are."""
    return given.lower() if _UUID.fullmatch(given) else given


def cursors_of(sent: Fields) -> tuple[str, ...]:
    """Return the folded ids by which a viewer may name a message of a stream; while a tool runs, it names the call."""
    message = sent["message"]
    return (sent["id"], folded(message["id"])) if message["type"] == "tool_use" else (sent["id"],)


def moment(time: str) -> str:
    """Return a time as a message has it: of RFC 3339, and a day of the calendar; empty for any other."""
    try:
        datetime.fromisoformat(time)
    except ValueError:
        return ""
    return timestamp(time)


# -- messages ---------------------------------------------------------------------------------------


def stream(name: str, time: str, message: Fields) -> Fields:
    """Return a message of a conversation in its envelope."""
    return {"type": "stream", "id": name, "timestamp": time or UNDATED, "message": message}


def connected(key: SessionKey, model: str, version: str) -> Fields:
    """Return the answer to `start`."""
    session = session_uuid(key)
    about = {"agentId": f"katod-{session}", "sessionId": session, "model": model or UNKNOWN}
    return {"type": "connected"} | about | {"version": version, "protocolVersion": PROTOCOL}


def history(sent: Sequence[Fields], *, has_more: bool) -> Fields:
    """Return what was sent before, without ids and times; the cursor is the oldest id."""
    streamed = [one for one in sent if one["type"] == "stream"]
    row = {"type": "history", "messages": [one["message"] for one in streamed], "hasMore": has_more}
    return row | ({"cursor": streamed[0]["id"]} if streamed else {})


def reconnect_complete(missed: int, since: str) -> Fields:
    """Return what follows the messages that a viewer missed since the one it named."""
    return {"type": "reconnect_complete", "missedCount": missed, "fromMessageId": since}


def cursor_invalid(cursor: str) -> Fields:
    """Return that an id is unknown: the viewer should load all again."""
    return {"type": "cursor_invalid", "lastMessageId": cursor, "recommendation": "full_resync"}


def cursor_evicted(cursor: str) -> Fields:
    """Return that an id is older than what is sent again: the viewer should page through the history."""
    return {"type": "cursor_evicted", "lastMessageId": cursor, "recommendation": "fetch_from_rest"}


def error(
    code: str, message: str, *, recoverable: bool, retryable: bool | None = None, retry_after: float | None = None
) -> Fields:
    """Return an error of the server; codes are in capitals."""
    row = {"type": "error", "code": code, "message": message, "recoverable": recoverable}
    return row | _known({"retryable": retryable, "retryAfter": retry_after})


def ping(milliseconds: float) -> Fields:
    """Return the server's question whether a viewer is there; the time is since 1970."""
    return {"type": "ping", "serverTime": milliseconds}


def pong(milliseconds: float) -> Fields:
    """Return the answer to a viewer's `ping`."""
    return {"type": "pong", "serverTime": milliseconds}


def session_event(action: Literal["created", "updated", "deleted"], key: SessionKey, about: Fields) -> Fields:
    """Return what happened to a session; what is known of a deleted one is only where it was."""
    row = {
        "type": "session_event",
        "action": action,
        "projectPath": about["projectPath"],
        "sessionId": session_uuid(key),
    }
    return row if action == "deleted" else row | {"metadata": about}


def about_session(key: SessionKey, metadata: SessionMetadata, count: int, say: Callable[[str], str]) -> Fields:
    """Return what a session is: `count` is the number of its messages, `say` makes a text fit to be shown."""
    start = metadata.start
    parent = key.id if key.subagent else start.parent
    required = {
        "id": session_uuid(key), "projectPath": say(metadata.cwd),
        "source": "agent" if key.subagent or start.origin == SPAWNED else "user",
        "lastActivityAt": moment(metadata.time) or UNDATED, "messageCount": count,
    }  # fmt: skip
    optional = {
        "createdAt": moment(metadata.started), "title": say(metadata.title), "model": metadata.model,
        "parentSessionId": session_uuid(SessionKey(key.agent, parent)) if parent else "",
    }  # fmt: skip
    return required | {name: value for name, value in optional.items() if value}


def _known(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


# -- what of it there is ----------------------------------------------------------------------------


class ViewRow(NamedTuple):
    """One event of a viewer: the message that it comes from, who sends that, and from what, or why nobody does."""

    event: str
    message: str
    sender: Literal["format", "server", "nobody"]
    why: str


_LOCAL: Final = "made by the viewer itself, no message"
_NO_QUESTION: Final = "asks the viewer to answer, which would change nothing: "
ROWS: Final = (
    ViewRow("text", "assistant", "format", "a message of the agent, always whole, so without `delta`"),
    ViewRow("thinking", "thinking", "format", "thinking that is not encrypted; the alias `thinking` is left out"),
    ViewRow("toolStart", "tool_use", "format", "a call; input that is not an object is its field `input`"),
    ViewRow("toolResult", "tool_result", "format", "a result as text"),
    ViewRow(
        "system", "system", "format",
        "questions, errors, compactions, and what the client says; with the subtype `progress`, which viewers hide,"
        " what transcripts leave out",
    ),
    ViewRow("user", "user", "format", "a message of yours, and your answer to a question"),
    ViewRow("progress", "progress", "nobody", "no agent records how far a tool has come"),
    ViewRow("usage", "usage", "format", "tokens and cost of an answer, if the agent records its input"),
    ViewRow("stateChanged", "state", "format", "derived, see above; `recovering` never"),
    ViewRow("connected", "connected", "server", "the answer to `start`"),
    ViewRow("sessionEvent", "session_event", "format", "`created` where a session begins; the server sends all three"),
    ViewRow("history", "history", "server", "messages sent before"),
    ViewRow("permissionRequest", "permission", "nobody", f"{_NO_QUESTION}it is a `state` and a line of the `system`"),
    ViewRow("questionRequest", "question", "nobody", f"{_NO_QUESTION}it is a `state` and a line of the `system`"),
    ViewRow("subagentStart", "subagent_start", "format", "the start of a sub-agent, as it is noted, else with its end"),
    ViewRow("subagentComplete", "subagent_complete", "format", "the end of a sub-agent"),
    ViewRow("inputQueued", "queued", "nobody", "no agent records the position in its queue"),
    ViewRow("queueCleared", "queue_cleared", "nobody", "no agent records it"),
    ViewRow("connectionReplaced", "error", "nobody", "several viewers may watch one session: none replaces another"),
    ViewRow("reconnectComplete", "reconnect_complete", "server", "after the messages that a viewer missed"),
    ViewRow("cursorEvicted", "cursor_evicted", "server", "an id that is too old"),
    ViewRow("cursorInvalid", "cursor_invalid", "server", "an id that is unknown"),
    ViewRow("error", "error", "server", "an error of the server; those of the agent are lines of the `system`"),
    ViewRow("modelChanged", "model_changed", "format", "another model than before answers, or is chosen"),
    ViewRow(
        "permissionModeChanged", "permission_mode_changed", "format",
        "a mode that the protocol does not know is `default`, and a line of the `system` says its name",
    ),
    ViewRow("stopped", "stopped", "format", "a session ends (`complete`), or a turn fails (`error`)"),
    ViewRow("interrupted", "interrupted", "format", "the agent notes that you interrupted it"),
    ViewRow("serverPing", "ping", "server", "now and then"),
    ViewRow("pong", "pong", "server", "the answer to `ping`"),
    ViewRow("reconnecting", "", "nobody", _LOCAL),
    ViewRow("connectionError", "", "nobody", _LOCAL),
    ViewRow("networkStatusChanged", "", "nobody", _LOCAL),
)  # fmt: skip
