"""What the readers share: the four multisets, and the normal forms in which texts and inputs are compared."""

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


class Noted(Counter[Any]):
    """A counter that also notes, for the record that is being read, that something was counted, and what."""

    def __init__(self) -> None:
        super().__init__()
        self.name, self.places, self.place = "", {}, [None]

    def share(self, name: str, places: dict[Any, set[str]], place: list[Any]) -> None:
        """Note under this name, in the same places as others."""
        self.name, self.places, self.place = name, places, place

    def __setitem__(self, key: Any, value: int) -> None:
        super().__setitem__(key, value)
        self.note(key)

    def note(self, key: Any = "") -> None:
        """Note that something is counted of the present record."""
        self.places.setdefault(self.place[0], set()).add(self.name or key)


@dataclass
class Sets:
    """The four multisets of one file, and what its answers used. `other` counts each record, block or line that is in none of them.

    Keys of `other` that begin with `other:` become another kind of event; all others are ignored by katod.
    `shown` maps a hash to the beginning of its text, for readable differences.
    """

    users: Noted = field(default_factory=Noted)
    assistants: Counter[TextKey] = field(default_factory=Noted)
    calls: Counter[ToolKey] = field(default_factory=Noted)
    results: Counter[ToolKey] = field(default_factory=Noted)
    usages: Counter[TextKey] = field(default_factory=Noted)
    other: Counter[str] = field(default_factory=Noted)
    shown: dict[str, str] = field(default_factory=dict)
    places: dict[Any, set[str]] = field(default_factory=dict)  # what was counted of each record, by its place

    def __post_init__(self) -> None:
        place: list[Any] = [None]
        for name in (*NAMES, "usages", "other"):
            getattr(self, name).share("" if name == "other" else f"+{name}", self.places, place)

    def user(self, native: str, text: str) -> None:
        """Count a person's text. One without words is not compared: katod may keep attachments with an empty text."""
        words = spoken(text)
        if words:
            self.users[native, self._hash(words)] += 1
        else:
            self.other["other:user/wordless"] += 1

    def assistant(self, native: str, text: str) -> None:
        """Count an assistant's text, which is compared exactly."""
        self.assistants[native, self._hash(text)] += 1

    def call(self, call_id: str, name: str, value: Any) -> None:
        """Count a call by its id, its tool and its whole input."""
        self.calls[call_id, name, self._hash(canonical(value))] += 1

    def result(self, call_id: str, text: str) -> None:
        """Count a result by the id of its call and its whole text."""
        self.results[call_id, "", self._hash(text)] += 1

    def usage(self, native: str, counts: Record, names: tuple[str, str]) -> None:
        """Count the tokens of an answer by the id of its message: those it was given and those it wrote."""
        self.usages[native, "/".join(str(counts.get(name, "")) for name in names)] += 1

    def held(self) -> None:
        """Note that the text of the present record waits for a later one, which may say it, too."""
        self.users.note()

    def left_out(self) -> dict[str, int]:
        """Return the counts of the record types that become no event."""
        return {key: n for key, n in sorted(self.other.items()) if not key.startswith("other:")}

    def _hash(self, text: str) -> str:
        digest = hashlib.sha256(_SURROGATE.sub("\ufffd", text).encode()).hexdigest()[:16]
        self.shown.setdefault(digest, text[:80])
        return digest


def spoken(text: str) -> str:
    """Return the lines of a person's text that contain words.

    Blank lines and trailing blanks of command lines are ignored: katod splits a message at its command lines and drops
    the newlines between the parts. Every other character counts.
    """
    lines = [line.rstrip() if line.startswith("::") else line.rstrip("\r") for line in text.split("\n")]
    return "\n".join(line for line in lines if line.strip())


def canonical(value: Any) -> str:
    """Return canonical JSON: sorted keys, no blanks."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def shell_text(command: str) -> str:
    """Return the text of a `!` line, without blanks around the command."""
    return "! " + command.strip()


def joined_texts(content: Any) -> str:
    """Return a string, or the texts of a list's blocks joined with newlines."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict)]
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def as_dict(value: Any) -> Record:
    """Return the value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Return the value if it is a string, otherwise an empty string."""
    return value if isinstance(value, str) else ""


def begin(other: Counter[str], place: Any) -> None:
    """Note that the record at a place is read next: an offset, or the number or id of a message in a document."""
    if isinstance(other, Noted):
        other.place[0] = place


def records(path: Path, other: Counter[str]) -> Iterator[tuple[int, bytes, Record]]:
    """Yield each JSON object with its byte offset and line; count all other lines except blank ones."""
    offset = 0
    for line in path.read_bytes().split(b"\n"):
        start, offset = offset, offset + len(line) + 1
        if not line.strip():
            continue
        begin(other, start)
        try:
            row = json.loads(line.decode("utf-8", "replace"))
        except ValueError:
            other[INVALID] += 1
            continue
        if isinstance(row, dict):
            yield start, line, row
        else:
            other["other:not-an-object"] += 1
    begin(other, None)
