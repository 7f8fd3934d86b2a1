"""Messages of CodingBridge: those of clients, checked, and the answers of a server that changes nothing. Pure."""

from typing import Any, Final

import orjson

from katod.formats.stream import bridge

Fields = dict[str, Any]
START: Final = "start"
RECONNECT: Final = "reconnect"
SUBSCRIBE: Final = "subscribe_sessions"
PING: Final = "ping"
_AGENT: Final = "katod-"
# What each message has to have, and of which type; what it may have beside that, if the server looks at it.
_REQUIRED: Final[dict[str, dict[str, type]]] = {
    START: {"projectPath": str},
    RECONNECT: {"agentId": str},
    SUBSCRIBE: {},
    PING: {},
    "pong": {},
    "input": {"text": str},
    "permission_response": {"id": str, "choice": str},
    "question_response": {"id": str, "answers": dict},
    "interrupt": {},
    "stop": {},
    "set_model": {"model": str},
    "set_permission_mode": {"mode": str},
    "cancel_queued": {},
    "retry": {},
}
_OPTIONAL: Final[dict[str, dict[str, type]]] = {
    START: {"sessionId": str, "helper": bool},
    RECONNECT: {"lastMessageId": str},
    SUBSCRIBE: {"projectPath": str},
}
_CHANGES: Final = frozenset({
    "input", "interrupt", "stop", "set_model", "set_permission_mode", "cancel_queued", "retry",
})  # fmt: skip
_ASKED_NOTHING: Final = {
    "permission_response": ("INVALID_PERMISSION_ID", "no permission was asked for here"),
    "question_response": ("INVALID_QUESTION_ID", "no question was asked here"),
}
_READ_ONLY: Final = "katod shows sessions, and changes nothing in them"


def parse(text: str) -> Fields:
    """Return the message of a client, or the error that is the answer to it."""
    try:
        message = orjson.loads(text)
    except ValueError:
        return _invalid("this is not JSON")
    if not isinstance(message, dict) or not isinstance(kind := message.get("type"), str):
        return _invalid("a message is an object with a type")
    if kind not in _REQUIRED:
        return bridge.error("UNKNOWN_MESSAGE_TYPE", "there is no message of this type", recoverable=True)
    required, optional = _REQUIRED[kind], _OPTIONAL.get(kind, {})
    for name, wanted in (required | optional).items():
        if name not in message and name in required:
            return _invalid(f"`{kind}` needs `{name}`")
        if name in message and not isinstance(message[name], wanted):
            return _invalid(f"`{name}` is of the wrong type")
    return message


def answer(message: Fields, milliseconds: float) -> Fields | None:
    """Return the answer to a message that needs nothing but itself; None to the others, or if none is due."""
    kind = message["type"]
    if kind == "error":
        return message
    if kind == PING:
        return bridge.pong(milliseconds)
    if kind in _CHANGES or (kind == START and message.get("helper")):
        return bridge.error("READ_ONLY", _READ_ONLY, recoverable=True, retryable=False)
    if kind in _ASKED_NOTHING:
        code, words = _ASKED_NOTHING[kind]
        return bridge.error(code, words, recoverable=True)
    return None


def session_of(agent: str) -> str:
    """Return the UUID of the session that an agent id stands for, empty for any other text."""
    return bridge.folded(agent[len(_AGENT) :]) if agent.startswith(_AGENT) else ""


def project_of(message: Fields) -> str:
    """Return the path of the project that a client names, as sessions have it; empty if it names none."""
    path: str = message.get("projectPath", "")
    return path.rstrip("/") or path[:1]


def no_session() -> Fields:
    """Return the error for a session that does not exist."""
    return bridge.error("SESSION_NOT_FOUND", "there is no such session here", recoverable=True)


def no_agent() -> Fields:
    """Return the error for an agent id of no session."""
    return bridge.error("AGENT_NOT_FOUND", "there is no such session here", recoverable=False)


def too_fast(seconds: float) -> Fields:
    """Return the error for a client that sends too much."""
    return bridge.error("RATE_LIMITED", "too many messages", recoverable=True, retryable=True, retry_after=seconds)


def failed() -> Fields:
    """Return the error for a server that cannot answer now."""
    return bridge.error("TIMEOUT", "the sessions cannot be read now", recoverable=True, retryable=True, retry_after=1.0)


def _invalid(problem: str) -> Fields:
    return bridge.error("INVALID_MESSAGE", problem, recoverable=True)
