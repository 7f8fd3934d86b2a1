"""What the readers share: the four multisets, and the forms in which texts and inputs are compared."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TextKey = tuple[str, str]  # native id, hash of the text
ToolKey = tuple[str, str, str]  # call id, tool name or "", hash of input or result text
Record = dict[str, Any]

NO_CONTENT = ("", "(no content)")
NAMES = ("users", "assistants", "calls", "results")
INVALID = "invalid-json"
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class Sets:
    """The four multisets of one file, and in `other` each record, block or line that is in none of them.

    Keys of `other` that begin with `other:` become another kind of event; all the rest is left out.
    `shown` maps a hash to the beginning of its text, for readable differences.
    """

    users: Counter[TextKey] = field(default_factory=Counter)
    assistants: Counter[TextKey] = field(default_factory=Counter)
    calls: Counter[ToolKey] = field(default_factory=Counter)
    results: Counter[ToolKey] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)
    shown: dict[str, str] = field(default_factory=dict)

    def user(self, native: str, text: str) -> None:
        """A text without words counts for nothing: katod may carry attachments with an empty text."""
        words = spoken(text)
        if words:
            self.users[native, self._hash(words)] += 1
        else:
            self.other["other:user/wordless"] += 1

    def assistant(self, native: str, text: str) -> None:
        """What the assistant said is compared to the letter."""
        self.assistants[native, self._hash(text)] += 1

    def call(self, call_id: str, name: str, value: Any) -> None:
        """A call is its id, its tool and its whole input."""
        self.calls[call_id, name, self._hash(canonical(value))] += 1

    def result(self, call_id: str, text: str) -> None:
        """A result is the id of its call and its whole text."""
        self.results[call_id, "", self._hash(text)] += 1

    def left_out(self) -> dict[str, int]:
        """The record types that become no event at all."""
        return {key: n for key, n in sorted(self.other.items()) if not key.startswith("other:")}

    def _hash(self, text: str) -> str:
        digest = hashlib.sha256(_SURROGATE.sub("\ufffd", text).encode()).hexdigest()[:16]
        self.shown.setdefault(digest, text[:80])
        return digest


def spoken(text: str) -> str:
    """The lines of a person's text that hold words.

    Blank lines do not count, nor the blanks after a command line, because a message with command lines
    is split there and the newlines between its parts go; every other character counts.
    """
    lines = [line.rstrip() if line.startswith("::") else line.rstrip("\r") for line in text.split("\n")]
    return "\n".join(line for line in lines if line.strip())


def canonical(value: Any) -> str:
    """JSON in one form only: keys sorted, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def shell_text(command: str) -> str:
    """The text of a `!` line; blanks around the command do not count."""
    return "! " + command.strip()


def joined_texts(content: Any) -> str:
    """The text of a string, or of the blocks of a list that have one, joined with newlines."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict)]
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def as_dict(value: Any) -> Record:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def records(path: Path, other: Counter[str]) -> Iterator[tuple[int, bytes, Record]]:
    """Each line that is a JSON object, with its byte offset; what is none is counted, blank lines are not."""
    offset = 0
    for line in path.read_bytes().split(b"\n"):
        start, offset = offset, offset + len(line) + 1
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except ValueError:
            other[INVALID] += 1
            continue
        if isinstance(row, dict):
            yield start, line, row
        else:
            other["other:not-an-object"] += 1
