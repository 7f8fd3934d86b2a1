"""The oracle for zot: reads one captured stream of its line protocol, or one session file, into four multisets."""

import json
from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, joined_texts, records

# Rows about the program itself, and fragments of what another row repeats in full.
BOOKKEEPING = frozenset(
    ("response", "user_prompt_submit", "done", "assistant_start", "tool_use_args", "tool_use_end", "tool_progress")
)


def read(path: Path) -> Sets:
    """Read every row into one of the four multisets, or count it in `other`; rows are identified by their offset."""
    session = _Session()
    for offset, _, row in records(path, session.sets.other):
        session.record(row, str(offset))
    session.end()
    return session.sets


class _Session:
    def __init__(self) -> None:
        self.sets = Sets()
        self.told: set[str] = set()
        self.started: dict[str, str] = {}
        self.pieces: dict[str, str] = {}
        self.deltas: list[str] = []

    def record(self, row: Record, native: str) -> None:
        kind, ident = as_text(row.get("type")), as_text(row.get("id"))
        if kind == "message":
            self._message(as_dict(row.get("message")), native)
        elif kind in ("user_message", "assistant_message"):
            self._message({"role": kind.partition("_")[0], "content": row.get("content")}, native)
        elif kind == "text_delta":
            self.deltas.append(as_text(row.get("delta")))
        elif kind == "tool_use_start":
            self.started[ident] = as_text(row.get("name"))
        elif kind == "tool_call":
            self._streamed_call(row)
        elif kind == "tool_result":
            self.sets.result(ident, joined_texts(row.get("content")))
        else:
            self._rest(row, kind, native)

    def _rest(self, row: Record, kind: str, native: str) -> None:
        if kind == "tool_use_args":
            ident = as_text(row.get("id"))
            self.pieces[ident] = self.pieces.get(ident, "") + as_text(row.get("delta"))
        elif kind in ("turn_end", "done"):
            self._end_step(native)
        self.sets.other[kind if kind in BOOKKEEPING else f"other:{kind or 'untyped'}"] += 1

    def end(self) -> None:
        """Count calls that were only streamed; a result may refer to them."""
        self._end_step("")
        for ident, name in self.started.items():
            if ident in self.told:
                self.sets.other["tool_use_start"] += 1
            else:
                self.sets.call(ident, name, whole_input(self.pieces.get(ident, "")))

    def _end_step(self, native: str) -> None:
        """Count a text that was streamed but not repeated by a message, at the end of its step."""
        text = "".join(self.deltas)
        if text.strip():
            self.sets.assistant(native, text)
        self.deltas.clear()

    def _message(self, message: Record, native: str) -> None:
        role, content = as_text(message.get("role")), message.get("content")
        blocks = [as_dict(block) for block in content] if isinstance(content, list) else [{"text": content}]
        texts = joined_texts([block for block in blocks if form(block) == "text"])
        if role == "user":
            self.sets.user(native, texts)
        elif role == "assistant" and texts.strip():
            self._repeat_deltas()
        for block in blocks:
            self._block(block, role, native)

    def _repeat_deltas(self) -> None:
        if self.deltas:
            self.sets.other["text_delta"] += len(self.deltas)
        self.deltas.clear()

    def _block(self, block: Record, role: str, native: str) -> None:
        kind = form(block)
        if kind == "tool_call" and "type" in block:
            self._streamed_call(block)
        elif kind == "tool_call":
            self.sets.call(as_text(block.get("id")), as_text(block.get("name")), block.get("arguments") or {})
        elif kind == "tool_result":
            call_id = as_text(block.get("call_id") or block.get("id"))
            self.sets.result(call_id, joined_texts(block.get("content")))
        elif kind != "text":
            self.sets.other[f"other:{role}/{kind}"] += 1
        elif role == "assistant" and as_text(block.get("text")).strip():
            self.sets.assistant(native, block["text"])
        elif role != "user":
            self.sets.other[f"{role}/empty-text"] += 1

    def _streamed_call(self, row: Record) -> None:
        """Count a streamed call once, although its own row and the message may both contain it."""
        call_id = as_text(row.get("id"))
        if call_id in self.told:
            self.sets.other["tool_call/repeated"] += 1
        else:
            self.told.add(call_id)
            self.sets.call(call_id, as_text(row.get("name")), row.get("args") or {})


def form(block: Record) -> str:
    """Return a block's type; in session files, which have none, it follows from the keys, in this order."""
    if isinstance(block.get("type"), str):
        return str(block["type"])
    if {"reasoning_id", "summary", "encrypted_content"} & block.keys():
        return "reasoning"
    if {"name", "id"} <= block.keys():
        return "tool_call"
    if "call_id" in block:
        return "tool_result"
    return "image" if "mime_type" in block else "text"


def whole_input(pieces: str) -> Any:
    """Return the input that was streamed in pieces, empty if they are not valid JSON."""
    try:
        return as_dict(json.loads(pieces))
    except ValueError:
        return {}
