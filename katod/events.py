"""The canonical events: the same for every agent.

The JSON form of an event is one line of a `.jsonl` output (schema `katod.event/1`). What is absent is left out: there
are no nulls, no invented values and no timestamps of katod's own.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

SCHEMA: Final = "katod.event/1"

USER_MESSAGE: Final = "user.message"
USER_COMMAND: Final = "user.kato-command"  # as kato names it, whose commands katod understands
DECISION_RESPONSE: Final = "user.decision.response"
ASSISTANT_MESSAGE: Final = "assistant.message"
ASSISTANT_THINKING: Final = "assistant.thinking"
TOOL_CALL: Final = "assistant.tool.call"
TOOL_RESULT: Final = "assistant.tool.result"
DECISION_PROMPT: Final = "assistant.decision.prompt"
SYSTEM_MESSAGE: Final = "system.message"
PROVIDER_INFO: Final = "provider.info"
PROVIDER_RAW: Final = "provider.raw"
SESSION_START: Final = "session.start"
SESSION_END: Final = "session.end"
TURN_START: Final = "turn.start"
TURN_END: Final = "turn.end"
USAGE: Final = "usage"
COMPACTION: Final = "context.compaction"
CONFIG_CHANGE: Final = "config.change"
ERROR: Final = "error"
AGENT_START: Final = "agent.start"
AGENT_END: Final = "agent.end"
RECEIPT: Final = "recording.receipt"  # of katod itself: what became of the records of a recording

KINDS: Final = (
    USER_MESSAGE,
    USER_COMMAND,
    DECISION_RESPONSE,
    ASSISTANT_MESSAGE,
    ASSISTANT_THINKING,
    TOOL_CALL,
    TOOL_RESULT,
    DECISION_PROMPT,
    SYSTEM_MESSAGE,
    PROVIDER_INFO,
    PROVIDER_RAW,
    SESSION_START,
    SESSION_END,
    TURN_START,
    TURN_END,
    USAGE,
    COMPACTION,
    CONFIG_CHANGE,
    ERROR,
    AGENT_START,
    AGENT_END,
    RECEIPT,
)


# The texts without which an event of a kind cannot be printed.
REQUIRED: Final = {
    USER_MESSAGE: ("text",),
    USER_COMMAND: ("line",),
    DECISION_RESPONSE: ("decisionId",),
    ASSISTANT_MESSAGE: ("text",),
    ASSISTANT_THINKING: ("text",),
    TOOL_CALL: ("toolCallId", "name", "family"),
    TOOL_RESULT: ("toolCallId", "text"),
    DECISION_PROMPT: ("decisionId", "decisionKey", "prompt"),
    SYSTEM_MESSAGE: ("text",),
    PROVIDER_INFO: ("text",),
    PROVIDER_RAW: ("rawType",),
    TURN_END: ("reason",),
    CONFIG_CHANGE: ("what", "after"),
    ERROR: ("message",),
    AGENT_START: ("subagent",),
    AGENT_END: ("subagent",),
}
_IN_ROW: Final = ("time", "timeSource", "turn", "model")
_IN_SOURCE: Final = ("providerEventId", "messageId", "requestId", "parentId", "ancestorId")
# What a field of a payload is, if it is there. No name means two things, but for `input`.
_TEXT_FIELDS: Final = (
    "after", "argument", "before", "branch", "category", "cliVersion", "code", "command", "commit", "cwd", "decisionId",
    "decisionKey", "description", "effort", "family", "freeText", "id", "line", "message", "model",
    "modelProvider", "name", "origin", "parent", "permissionMode", "phase", "prompt", "rawType", "reason", "repository",
    "result", "sandbox", "scope", "script", "server", "speaker", "status", "stopReason", "subagent", "subject",
    "subtype", "summary", "task", "text", "title", "toolCallId", "trigger", "what",
)  # fmt: skip
_NUMBER_FIELDS: Final = (
    "cacheRead", "cacheWrite", "cacheWrite1h", "contextLimit", "costUsd", "durationMs", "exitCode", "httpStatus",
    "number", "output", "reasoning", "records", "repeated", "told", "tokensAfter", "tokensBefore", "total",
)  # fmt: skip
_OBJECT_FIELDS: Final = ("costs", "data", "gaps", "leftOut", "native", "notUnderstood", "retry", "structured")
_FLAG_FIELDS: Final = ("denied", "goesOn", "isError", "multiSelect")
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(_TEXT_FIELDS, (str,)), **dict.fromkeys(_NUMBER_FIELDS, (int, float)),
    **dict.fromkeys(_OBJECT_FIELDS, (dict,)), **dict.fromkeys(_FLAG_FIELDS, (bool,)), "pasted": (list,),
    "encrypted": (str, bool),
}  # fmt: skip
# Lists in a payload, and what their elements are: texts, or objects that have this text.
_LISTS: Final = {"selections": "", "options": "label", "attachments": "type"}


class SessionRef(NamedTuple):
    """The conversation an event belongs to: agent, session id, sub-agent id, parent session id."""

    agent: str
    id: str
    subagent: str = ""
    parent: str = ""


class Event(NamedTuple):
    """One canonical event. The same source gives the same `id`, on every machine, at any time.

    `words` is, for a typed command, the text below it, `beside` the text of its message but commands, of which only the
    ends are kept if it is long.
    `dedup_key` is the id without the session, for agents that copy records into other files (forks): a command is
    carried out once per `dedup_key`. `typed` is true if a person is known to have typed the text of a `user.message`;
    only such text can contain commands. `blobs` has the content of the attachments: (SHA-256, media type, base64).
    These five are internal and not part of the JSON form.
    """

    id: str
    kind: str
    session: SessionRef
    payload: dict[str, Any]
    source: dict[str, Any]
    time: str = ""
    time_source: str = ""
    turn: str = ""
    model: str = ""
    dedup_key: str = ""
    typed: bool = False
    blobs: tuple[tuple[str, str, str], ...] = ()
    words: str = ""
    beside: str = ""


class Between:
    """Subtypes of messages that are words between agents: what one tells another, or a summary for the model.

    Neither the user said them nor the assistant. `speaker` names who did, if that is known.
    """

    TASK: Final = "task"  # what an agent that another one started was given
    DELEGATED: Final = "delegated"  # a task of another session's agent, in a session of the user's
    PEER: Final = "agent-message"
    TEAMMATE: Final = "teammate-message"
    SUMMARY: Final = "compact-summary"
    BRANCH: Final = "branch-summary"


_SUMMARIES: Final = frozenset({Between.SUMMARY, Between.BRANCH})
BETWEEN: Final = frozenset({Between.TASK, Between.DELEGATED, Between.PEER, Between.TEAMMATE, *_SUMMARIES})


def is_between(event: Event) -> bool:
    """Return whether a message is words between agents."""
    return event.kind in (USER_MESSAGE, SYSTEM_MESSAGE) and event.payload.get("subtype") in BETWEEN


# The system messages of a session itself that transcripts print; the others are context for the model.
NOTED: Final = frozenset(
    {"api_refusal", "incomplete", "model_refusal_fallback", "revert", "review", "rollback", "synthetic"}
)
_PRINTED: Final = frozenset({*NOTED, "shell-output"})
_UNSAID: Final = frozenset({"context"})  # of messages in the name of the user, who said none of them


def is_printed(event: Event) -> bool:
    """Return False for a message that is context for the model alone: no transcript prints it."""
    subtype = event.payload.get("subtype")
    if event.kind == USER_MESSAGE:
        return subtype not in _UNSAID
    return event.kind != SYSTEM_MESSAGE or is_between(event) or subtype in _PRINTED


def is_plan(event: Event) -> bool:
    """Return whether a message is a plan that the user accepted."""
    return event.kind == ASSISTANT_MESSAGE and event.payload.get("phase") == "plan"


def is_summary(event: Event) -> bool:
    """Return whether an event is a summary of the conversation, made for the model."""
    return event.kind == COMPACTION or (is_between(event) and event.payload["subtype"] in _SUMMARIES)


def seconds(time: str) -> float:
    """Return the time of an event in seconds since 1970, 0 if it is not one."""
    try:
        return max(0.0, datetime.fromisoformat(time).timestamp()) if time else 0.0
    except (ValueError, OverflowError):
        return 0.0


# What a result may say of a call that did what it was asked to. Statuses are the agents' own words.
_WELL: Final = frozenset({"", "completed", "launched", "success"})


def went_well(result: dict[str, Any]) -> bool:
    """Return whether a result says that its call did what it was asked to: only such a call changes files.

    It does not if the call failed, or was declined, interrupted, or is still running.
    """
    return not (result.get("isError") or result.get("denied")) and result.get("status", "") in _WELL


def too_deep(kind: str) -> dict[str, Any]:
    """Return the payload of the `provider.raw` event in place of one that has more levels than JSON can be written of.

    orjson writes at most 254 levels; agents never nest that deep, hostile files do.
    """
    return {"rawType": kind, "raw": "nested too deep to be written as JSON"}


def pack(event: Event) -> list[Any]:
    """Return all of an event, with what is internal, as JSON.

    The payload is in a text, so that it may be as deep here as anywhere.
    """
    try:
        payload = orjson.dumps(event.payload)
    except TypeError:
        return pack(event._replace(kind=PROVIDER_RAW, payload=too_deep(event.kind)))
    return [*event[:2], list(event.session), payload.decode(), *event[4:]]


def unpack(row: list[Any]) -> Event:
    """Return the event of what `pack` returned."""
    event = Event(*row)
    blobs = tuple((*blob,) for blob in event.blobs)
    return event._replace(session=SessionRef(*event.session), payload=orjson.loads(row[3]), blobs=blobs)


def to_json(event: Event) -> dict[str, Any]:
    """Return the event as one JSON object, absent fields left out, keys in the documented order."""
    session = {k: v for k, v in zip(SessionRef._fields, event.session, strict=True) if v}
    row: dict[str, Any] = {"schema": SCHEMA, "id": event.id, "kind": event.kind, "session": session}
    if event.time:
        row["time"] = event.time
        row["timeSource"] = event.time_source or "recorded"
    if event.turn:
        row["turn"] = event.turn
    if event.model:
        row["model"] = event.model
    row["source"] = event.source
    row["payload"] = event.payload
    return row


def _texts(row: dict[str, Any], source: dict[str, Any]) -> Iterator[Any]:
    """Yield what has to be text in an event, beside its payload."""
    yield from (row["id"], row["kind"], *(row.get(name, "") for name in _IN_ROW))
    yield from (source.get(name, "") for name in _IN_SOURCE)


def _check_payload(kind: str, payload: dict[str, Any]) -> None:
    for name in REQUIRED.get(kind, ()):
        _ = payload[name]
    types = _TYPES | {"input": (int,)} if kind == USAGE else _TYPES
    if not all(isinstance(value, types.get(name, (object,))) for name, value in payload.items()):
        raise TypeError("a field of the payload has another type")
    lists = _LISTS | {"options": ""} if kind == USER_COMMAND else _LISTS
    if not all(_is_list(payload[name], key) for name, key in lists.items() if name in payload):
        raise TypeError("a list is expected")


def _is_list(value: Any, key: str) -> bool:
    """Return whether a value is a list of texts, or with a key, of objects that have a text by this name."""
    rows = value if isinstance(value, list) else [None]
    if key:
        rows = [row.get(key) if isinstance(row, dict) else None for row in rows]
    return all(isinstance(row, str) for row in rows)


def from_json(row: dict[str, Any]) -> Event:
    """Return the event of a JSON form. Raises KeyError or TypeError if it is not one."""
    session, payload, source = row["session"], row["payload"], row.get("source", {})
    if not isinstance(payload, dict) or not isinstance(source, dict):
        raise TypeError("payload and source are objects")
    ref = SessionRef(session["agent"], session["id"], session.get("subagent", ""), session.get("parent", ""))
    if not all(isinstance(text, str) for text in [*ref, *_texts(row, source)]):
        raise TypeError("a text is expected")
    _check_payload(row["kind"], payload)
    return Event(
        id=row["id"],
        kind=row["kind"],
        session=ref,
        payload=dict(payload),
        source=dict(source),
        time=row.get("time", ""),
        time_source=row.get("timeSource", ""),
        turn=row.get("turn", ""),
        model=row.get("model", ""),
    )
