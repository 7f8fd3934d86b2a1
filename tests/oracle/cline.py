"""The oracle for Cline 3: reads the messages of one session, or of a sub-agent, into the multisets."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.common import INVALID, Record, Sets, as_dict, as_text, begin

_TYPED = re.compile(r'<user_input mode="[^"]*">(.*)</user_input>\s*', re.DOTALL)


def read(path: Path) -> Sets:
    """Read every message of the document into the multisets; what is no typed text is counted in `other`."""
    sets = Sets()
    try:
        document = as_dict(json.loads(path.read_text("utf-8", "replace")))
    except ValueError:
        sets.other[INVALID] += 1
        return sets
    is_lead = document.get("agent") == "lead"
    for number, message in enumerate(map(as_dict, document.get("messages") or [])):
        begin(sets.other, number)
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else map(as_dict, content or [])
        for block in blocks:
            _block(sets, as_text(message.get("role")), as_text(message.get("id")), block, is_lead=is_lead)
        if counts := as_dict(message.get("metrics")):
            sets.usage(as_text(message.get("id")), counts, ("inputTokens", "outputTokens"))
    return sets


def _block(sets: Sets, role: str, native: str, block: Record, *, is_lead: bool) -> None:
    kind, text = f"{role}/{block.get('type')}", as_text(block.get("text"))
    if kind == "user/text":
        typed = _TYPED.fullmatch(text)
        if typed is None and is_lead:  # the client's own words
            sets.other["other:user/untyped"] += 1
            return
        # A sub-agent's task has no element around it. Line ends of a paste are carriage returns.
        sets.user(native, re.sub("\r\n?", "\n", typed[1] if typed else text))
    elif kind == "assistant/text" and text.strip():
        sets.assistant(native, text)
    elif kind == "assistant/tool_use":
        sets.call(as_text(block.get("id")), as_text(block.get("name")), block.get("input") or {})
    elif kind == "user/tool_result":
        sets.result(as_text(block.get("tool_use_id")), result_text(block.get("content")))
    else:
        sets.other["assistant/empty-text" if kind == "assistant/text" else f"other:{kind}"] += 1


def result_text(content: Any) -> str:
    """Return a result in words: those of each query, of an answer in JSON its result or text, or what stands there."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_words, map(as_dict, content))))
    try:
        answer = json.loads(as_text(content))
    except ValueError:
        return as_text(content)
    return (_words(answer) if isinstance(answer, dict) else "") or as_text(content)


def _words(answer: Record) -> str:
    return next((value for key in ("result", "text", "error") if (value := as_text(answer.get(key)))), "")
