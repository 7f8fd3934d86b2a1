"""Removes secrets from an agent's own records, so that the agent can still read them. Pure.

Only text is changed: what names a record, signs it or holds an image stays as it is. What a signature no longer fits
goes with it: a thinking block as a whole, of anything else the signature.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from katod.formats.redact.redactor import may_contain_secret, redact, redact_json

_SIGNATURES: Final = ("signature", "thoughtSignature")
# What holds records together, in the formats of the agents that delete sessions.
_KEPT: Final = frozenset({
    *_SIGNATURES, "uuid", "parentUuid", "logicalParentUuid", "leafUuid", "messageId", "sessionId", "session_id",
    "id", "tool_use_id", "toolUseID", "parentToolUseID", "sourceToolAssistantUUID", "requestId", "promptId", "agentId",
    "callId", "timestamp", "version", "cwd", "type", "role", "model", "media_type", "mimeType", "startTime",
    "lastUpdated", "projectHash",
})  # fmt: skip
_IMAGES: Final = ("media_type", "mimeType")
_THINKING: Final = ("thinking", "redacted_thinking")


def cleaned_line(line: bytes) -> bytes:
    """Return a line of JSON without secrets; the same object if there are none, or if it is not JSON."""
    if not may_contain_secret(line):
        return line
    try:
        value = orjson.loads(line)
    except ValueError:
        return cleaned_text(line)
    cleaned = cleaned_value(value)
    if cleaned is value:
        return line
    return orjson.dumps(cleaned) + (b"\n" if line.endswith(b"\n") else b"")


def cleaned_text(data: bytes) -> bytes:
    """Return a text without secrets; the same object if there are none, or if it is no UTF-8, such as an image."""
    if not may_contain_secret(data):
        return data
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    done = redact(text)
    return data if done is text else done.encode()


def cleaned_value(value: Any) -> Any:
    """Return a JSON value without secrets in its texts; the same object if there are none."""
    redacted = redact_json(value)
    if redacted is value:
        return value
    root, given = [redacted], [value]
    for before, after in _changed(given, root):
        _restore(before, after)
    _drop_signed(given, root)
    return value if root == given else root[0]


def _changed(before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container that was copied, and the one that it was copied from, the outer ones first."""
    pending = [(before, after)]
    for old, new in pending:  # grows during the iteration
        yield old, new
        for key, item in new.items() if isinstance(new, dict) else enumerate(new):
            old_item = _at(old, key)
            if isinstance(item, dict | list) and item is not old_item and isinstance(old_item, dict | list):
                pending.append((old_item, item))


def _at(held: Any, key: Any) -> Any:
    if isinstance(held, dict):
        return held.get(key)
    return held[key] if isinstance(key, int) and key < len(held) else None


def _restore(before: Any, after: Any) -> None:
    """Put back what is no text."""
    if not isinstance(after, dict) or not isinstance(before, dict):
        return
    for key in before.keys() & after.keys():
        is_image = key == "data" and any(name in before for name in _IMAGES)
        if (key in _KEPT or is_image) and isinstance(before[key], str):
            after[key] = before[key]


def _drop_signed(before: Any, after: Any) -> None:
    """Take out the signatures of what changed, and signed thinking as a whole."""
    for old, new in reversed(list(_changed(before, after))):
        if isinstance(new, list) and isinstance(old, list):
            new[:] = [item for at, item in enumerate(new) if not _is_forged(old[at], item)]
        elif old != new:
            for name in _SIGNATURES:
                new.pop(name, None)


def _is_forged(old: Any, new: Any) -> bool:
    is_thinking = isinstance(old, dict) and old.get("type") in _THINKING and "signature" in old
    return is_thinking and new != old
