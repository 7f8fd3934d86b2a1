"""The oracle for Cursor: reads one agent transcript into four multisets; there are never any results."""

import re
from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, records

_QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.DOTALL)
_TAG = re.compile(r"\s*<[a-z][\w-]*>", re.IGNORECASE)


def read(path: Path) -> Sets:
    """Read every block into one of the multisets, or count it in `other`; records are identified by their offset."""
    sets = Sets()
    for offset, _, row in records(path, sets.other):
        role = as_text(row.get("role"))
        if role in ("user", "assistant"):
            for block in blocks(as_dict(row.get("message")).get("content")):
                _block(sets, role, block, str(offset))
        else:
            sets.other[f"other:{row.get('type') or role or 'untyped'}"] += 1
    return sets


def blocks(content: Any) -> list[Record]:
    """Return the blocks of a content; a bare string counts as one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [as_dict(block) for block in content] if isinstance(content, list) else []


def _block(sets: Sets, role: str, block: Record, native: str) -> None:
    kind, text = as_text(block.get("type")), as_text(block.get("text"))
    if kind == "text" and role == "user":
        _user(sets, text, native)
    elif kind == "text" and text.strip():
        sets.assistant(native, text)
    elif kind == "text":
        sets.other["assistant/empty-text"] += 1
    elif kind == "tool_use" and role == "assistant":
        name, given = tool(block)
        sets.call("", name, given)
    else:
        sets.other[f"other:{role}/{kind}"] += 1


def tool(block: Record) -> tuple[str, Any]:
    """Return the name and input of a tool; one called through `CallDynamicTool` counts under its own name."""
    name, given = as_text(block.get("name")), block.get("input") or {}
    inner = as_text(as_dict(given).get("toolName"))
    return (inner, as_dict(given.get("arguments"))) if name == "CallDynamicTool" and inner else (name, given)


def _user(sets: Sets, text: str, native: str) -> None:
    """Count a person's text; text around a query, or with only other tags, is context."""
    said = _QUERY.findall(text)
    if said:
        sets.user(native, "\n".join(said))
        rest = re.sub(r"<timestamp>.*?</timestamp>", "", _QUERY.sub("", text), flags=re.DOTALL)
        if rest.strip():
            sets.other["other:user/around-query"] += 1
    elif _TAG.match(text):
        sets.other["other:user/context"] += 1
    else:
        sets.user(native, text)
