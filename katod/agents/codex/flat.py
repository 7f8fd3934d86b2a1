"""Codex: the flat rollouts of 2025, some of which were still written in 2026.

The first line is `{id, timestamp, instructions, git}`; the others are what later is the payload of a `response_item`,
without a time, and `{"record_type": "state"}`. What a person typed is only in messages with the role `user`. The
directory is only in the text that the client sends first.
"""

import re
from typing import Any, Final

from katod.agents.fields import text_of

ITEM: Final = "flat"  # the type of the envelope that katod puts around a bare item
_CONTEXT: Final = "<environment_context>"
_CWD: Final = re.compile(r"<cwd>([^<]{1,4096})</cwd>")


def is_head(row: dict[str, Any]) -> bool:
    """Return whether a record is the first one of a flat rollout."""
    return "type" not in row and "instructions" in row and isinstance(row.get("id"), str) and "timestamp" in row


def enveloped(row: dict[str, Any]) -> dict[str, Any]:
    """Return a record in the form of later ones."""
    if is_head(row):
        return {"type": "session_meta", "timestamp": row["timestamp"], "payload": row | {"flat": True}}
    if "record_type" in row:
        return {"type": "record_state", "payload": row}
    return {"type": ITEM, "payload": row}


def directory(text: str) -> str:
    """Return the working directory that the client's own first text names, empty for any other text."""
    found = _CWD.search(text) if text.lstrip().startswith(_CONTEXT) else None
    return text_of(found and found[1])
