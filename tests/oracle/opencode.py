"""The oracle for OpenCode: reads one export, or its concatenated storage files, into four multisets."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracle.common import INVALID, Record, Sets, as_dict, as_text, begin

# Parts without content, which become no event.
BOOKKEEPING = frozenset(("step-start", "patch", "snapshot"))
# Storage files that are not part of a conversation, identified by a key that only they have.
OTHER_FILES = {"worktree": "project", "secret": "share", "before": "session-diff", "priority": "todo"}
_BARE_QUOTE = re.compile(r'(?<!\\)"')


def read(path: Path) -> Sets:
    """Read every message and part of the file into one of the four multisets, or count it in `other`."""
    store = _Store()
    for value in values(path.read_bytes().decode("utf-8", "replace"), store.sets.other):
        store.keep(value)
    for part in store.parts.values():
        begin(store.sets.other, part.get("messageID"))
        store.part(part)
    for message in store.messages.values():
        begin(store.sets.other, message.get("id"))
        store.used(message)
    return store.sets


def values(text: str, other: Counter[str]) -> Iterator[Any]:
    """Yield the JSON values of a text, separated only by blanks; stop at a damaged one."""
    decoder, position = json.JSONDecoder(), 0
    while rest := re.compile(r"\S").search(text, position):
        try:
            value, position = decoder.raw_decode(text, rest.start())
        except ValueError:
            other[INVALID] += 1
            return
        yield value


class _Store:
    """Collects messages and parts; a part names its message, which may come before or after it."""

    def __init__(self) -> None:
        self.sets = Sets()
        self.messages: dict[str, Record] = {}
        self.parts: dict[str, Record] = {}

    def keep(self, value: Any) -> None:
        """Store one value of the file according to its keys."""
        row = as_dict(value)
        if isinstance(row.get("messages"), list):
            self.sets.other["other:session"] += 1
            for message in map(as_dict, row["messages"]):
                self.keep(message.get("info"))
                for part in message.get("parts") or []:
                    self.keep(part)
        elif "role" in row:
            self.messages[as_text(row.get("id"))] = row
            self._message(row)
        elif "messageID" in row and "type" in row:
            self.parts[as_text(row.get("id"))] = row
        elif "directory" in row and "version" in row:
            self.sets.other["other:session"] += 1
        else:
            self.sets.other[other_file(value)] += 1

    def _message(self, row: Record) -> None:
        label = f"{row['role']}/error" if row.get("error") else f"{row['role']}/message"
        self.sets.other[f"other:{label}" if row.get("error") else label] += 1

    def used(self, message: Record) -> None:
        """Count what an answer used, if it used anything."""
        tokens = as_dict(message.get("tokens"))
        counts = [*tokens.values(), *as_dict(tokens.get("cache")).values()]
        if message.get("role") == "assistant" and any(isinstance(count, int) and count for count in counts):
            self.sets.usage(as_text(message.get("id")), tokens, ("input", "output"))

    def part(self, part: Record) -> None:
        """Count a part according to the role of its message."""
        message = self.messages.get(as_text(part.get("messageID")), {})
        role, kind = as_text(message.get("role")) or "nobody", as_text(part.get("type"))
        if kind == "text" and role == "user":
            self._user_text(part)
        elif kind == "text" and role == "assistant":
            self._assistant_text(part, message)
        elif kind == "reasoning" and not as_text(part.get("text")).strip():
            self.sets.other["assistant/empty-reasoning"] += 1
        elif kind == "tool" and role == "assistant":
            self._tool(part, message)
        else:
            label = f"{role}/{kind}"
            self.sets.other[label if kind in BOOKKEEPING else f"other:{label}"] += 1

    def _user_text(self, part: Record) -> None:
        marks = [mark for mark in ("synthetic", "ignored") if part.get(mark)]
        if marks:
            self.sets.other[f"other:user/text/{marks[0]}"] += 1
        else:
            self.sets.user(as_text(part.get("id")), typed(as_text(part.get("text"))))

    def _assistant_text(self, part: Record, message: Record) -> None:
        text = as_text(part.get("text"))
        if not text.strip():
            self.sets.other["assistant/empty-text"] += 1
        elif message.get("summary") is True:
            self.sets.other["other:assistant/summary"] += 1
        else:
            self.sets.assistant(as_text(part.get("id")), text)

    def _tool(self, part: Record, message: Record) -> None:
        """Count a call that has started, and its result: output, error, or an empty text if it was interrupted."""
        state, call_id = as_dict(part.get("state")), as_text(part.get("callID"))
        if state.get("status") == "pending":
            self.sets.other["assistant/tool-pending"] += 1
            return
        self.sets.call(call_id, as_text(part.get("tool")), state.get("input") or {})
        if state.get("status") == "completed":
            self.sets.result(call_id, as_text(state.get("output")))
        elif state.get("status") == "error":
            self.sets.result(call_id, as_text(state.get("error")))
        elif self._over(message):
            self.sets.result(call_id, "")

    def _over(self, message: Record) -> bool:
        """Return whether a message has ended: with an error, or because a newer prompt already has an answer."""
        prompt = as_text(message.get("parentID"))
        return bool(message.get("error")) or any(
            as_text(other.get("parentID")) > prompt for other in self.messages.values() if other["role"] == "assistant"
        )


def typed(text: str) -> str:
    """Remove the quotes and escapes that `opencode run` adds to an argument with blanks."""
    inner = text.strip()[1:-1]
    if text.strip() == f'"{inner}"' and " " in inner and not _BARE_QUOTE.search(inner):
        return inner.replace('\\"', '"')
    return text


def other_file(value: Any) -> str:
    """Return a name for a storage file that is not part of the conversation."""
    row = as_dict(value[0] if isinstance(value, list) and value else value)
    names = [name for key, name in OTHER_FILES.items() if key in row]
    return names[0] if names else "other:unknown-file"


def stored(path: Path) -> list[Record]:
    """Return the messages of the file."""
    store = _Store()
    for value in values(path.read_bytes().decode("utf-8", "replace"), store.sets.other):
        store.keep(value)
    return list(store.messages.values())
