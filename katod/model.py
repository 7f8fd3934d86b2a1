"""The types shared by the stages, frozen and small."""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, Protocol

# Longer ids and names are not remembered in any state; their records are read like all others.
LONGEST_NAME: Final = 2048
_LAST_NS: Final = (1 << 63) - 1
MOST_EXCHANGES: Final = 99  # that are kept at once, and of which a session's beginning is known
# In the names of many agents' files and sessions.
UUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")

Tools = Literal["none", "summary", "full"]
ToolsSetting = Literal["auto", "none", "summary", "full"]  # "auto": as suits the format
Attachments = Literal["save", "name"]
Word = Literal["start", "stop", "capture", "export", "keep"]
# What a person says of a session, by a request: in a chat, it cannot be typed.
PersonalWord = Literal["rename", "star", "unstar", "label", "unlabel"]


def signed(number: int) -> int:
    """Return an unsigned 64-bit number, such as an inode, as SQLite stores integers: signed."""
    return number - (1 << 64) if number >= 1 << 63 else number


class FileTime(Protocol):
    """What `os.stat` returns, as far as it says when a file changed."""

    @property
    def st_mtime_ns(self) -> int:
        """Nanoseconds since 1970; some file systems have any 64-bit number of seconds."""


def changed_ns(status: FileTime) -> int:
    """Return when a file changed (ns), as SQLite stores integers: a time after the year 2262 is the last one in it."""
    return max(-_LAST_NS, min(status.st_mtime_ns, _LAST_NS))


class SessionKey(NamedTuple):
    """One conversation: agent, session id, sub-agent id (empty for the main thread)."""

    agent: str
    id: str
    subagent: str = ""

    def __str__(self) -> str:
        """Return the key as it is typed: `claude:6f1c…` or `claude:6f1c…/sub-agent`."""
        tail = f"/{self.subagent}" if self.subagent else ""
        return f"{self.agent}:{self.id}{tail}"


class Identity(NamedTuple):
    """What the path of a session file reveals without opening it."""

    key: SessionKey
    rollout: str = ""  # Codex: the id of this file if the thread has several


class Stat(NamedTuple):
    """What a sweep compares: a source is read again only if this changed."""

    size: int
    mtime_ns: int
    dev: int
    ino: int


class Record(NamedTuple):
    """One decoded native record: `value` is a JSON object (a `dict`), or None if nothing could be decoded.

    `offset` is that of its line, in bytes; `part` numbers the records of one line. `raw` and `problem` are set only for
    what could not be decoded.
    """

    offset: int
    value: Any  # not `dict | None`: adapters pass on only what was decoded
    part: int = 0
    raw: str = ""
    problem: str = ""


class Line(NamedTuple):
    """One native line: `offset` is where it begins, `end` the offset after its newline, in bytes.

    `data` is the line without newline, carriage return, BOM and leading NUL bytes. If the line was too long to keep,
    `data` is empty and `skipped` is its length. `records` has the decoded records if the scan for commands already
    decoded the line.
    """

    offset: int
    end: int
    data: bytes
    skipped: int = 0
    records: tuple[Record, ...] = ()


class Anchor(NamedTuple):
    """A fingerprint of the `size` bytes before a cursor: while it matches, what was read is unchanged."""

    size: int
    digest: str


NO_ANCHOR: Final = Anchor(0, "")


class Cursor(NamedTuple):
    """Where reading resumes: a byte offset after a newline, and the anchor of the bytes before it."""

    offset: int = 0
    anchor: Anchor = NO_ANCHOR


START: Final = Cursor()


class Partial(NamedTuple):
    """An unterminated line: it begins at `offset`, and there is no newline in it before `scanned`, in bytes."""

    offset: int
    scanned: int


@dataclass(frozen=True, slots=True)
class Options:
    """What a recording prints and how, fixed when it starts."""

    thinking: bool = False
    tools: Tools = "summary"
    attachments: Attachments = "name"
    redact: bool = True
    time_zone: str = "UTC"
    subagents: bool = False
    assets: str = ""  # the folder beside the output where attachments are saved
    subagents_folder: str = ""  # the folder beside the output where its sub-agents are recorded
    recorder: str = ""  # the version of katod that started it, as named in the front matter
    max_result: int = 200  # lines of one tool result, in full; 0: all of it
    usage: bool = False  # tokens at the end of a turn
    subagent_reports: bool = False
    rules: int = 1  # the version of the redaction rules
    receipts: bool = False  # what became of the records, at the end of each range
    exported: bool = False  # this is an export, not a recording
    span_content: bool = False  # whether spans say what was said, as far as the other options show it
    base: str = ""  # what relative links of a page lead to: a web address, or a directory

    def with_switches(self, switches: Mapping[str, bool]) -> "Options":
        """Return these options with the switches of one command, such as `+thinking -tools`, applied.

        `subagents` is not typed: a copy is made without, as sub-agents are recorded beside recordings only.
        """
        thinking = switches.get("thinking", self.thinking)
        tools = self.tools
        if "tools" in switches:
            tools = "full" if switches["tools"] else "none"
        return replace(self, thinking=thinking, tools=tools, subagents=switches.get("subagents", self.subagents))


MarkKind = Literal[
    "started", "refused", "stopped", "paused", "resumed", "excluded", "edited", "continued", "restored", "gap",
    "unfinished", "rescued",
]  # fmt: skip


class Mark(NamedTuple):
    """A line that katod itself prints between events. `switches` apply to the range that it opens."""

    kind: MarkKind
    time: str = ""
    switches: tuple[tuple[str, bool], ...] = ()
    text: str = ""


Span = tuple[int, int]


class TypedText(NamedTuple):
    """Text that a person sent. `pasted` are the parts of it (start, end) that the agent marks as pasted, in order.

    They may also have been `delegated` by another session's agent. No line in them is a command.
    """

    text: str
    pasted: tuple[Span, ...] = ()
    origin: Literal["pasted", "delegated"] = "pasted"

    @classmethod
    def by_agent(cls, text: str) -> "TypedText":
        """Return text that another session's agent sent in the user's name."""
        return cls(text, ((0, len(text)),), "delegated")

    def part(self, start: int, end: int) -> "TypedText":
        """Return a part of the text, with what is pasted of it."""
        inside = ((max(begin, start) - start, min(stop, end) - start) for begin, stop in self.pasted)
        return TypedText(self.text[start:end], tuple(span for span in inside if span[0] < span[1]))

    def is_pasted(self, at: int) -> bool:
        """Return whether the character at an offset is pasted."""
        number = bisect_right(self.pasted, at, key=lambda span: span[0]) - 1
        return number >= 0 and at < self.pasted[number][1]


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed command line of a message, and the words below it.

    `count` is how many of the last exchanges are kept, and `question` the event that the only one begins with that is,
    if that was chosen.
    """

    word: Word
    name: str = ""
    switches: tuple[tuple[str, bool], ...] = ()
    line: str = ""
    words: str = ""
    count: int = 1
    question: str = ""


_NEAR_MISSES: Final = {
    "misspelt": "a misspelt ::{}",
    "of another tool": "a command of another tool, for which katod has ::{}",
    "indented": "::{}, indented or with a space after `::`",
    "extra words": "::{} with extra words",
    "unknown option": "::{} with an unknown option",
    "pasted": "::{} in pasted text",
    "inside": "::{} inside a long message",
    "delegated": "::{} in text from another session's agent",
    "count": "::{} with a number that is not 1 to 99",
}


# What to type instead.
_ADVICE: Final = {
    "misspelt": "type `::{}`",
    "of another tool": "type `::{}`",
    "indented": "begin the line with `::{}`, without a space",
    "extra words": 'quote a name that has spaces, as in `::{} "login page"`',
    "unknown option": "the options are +thinking, -thinking, +tools and -tools",
    "pasted": "type `::{}` by hand: what is pasted is not obeyed",
    "inside": "type `::{}` in the first two or the last two lines, or alone: what is between them may be pasted",
    "delegated": "only what you type yourself is obeyed",
    "count": "type the number of exchanges, 1 to 99, or quote a name that is a number",
}


class NearMiss(NamedTuple):
    """A line that looks like a command but is not, and the command that it resembles. The line itself is not kept.

    `message` is the dedup key of its message, empty if unknown; the near misses of a message are reported once.
    """

    kind: Literal[
        "misspelt",
        "of another tool",
        "indented",
        "extra words",
        "unknown option",
        "pasted",
        "inside",
        "delegated",
        "count",
    ]
    word: Word
    message: str = ""

    def __str__(self) -> str:
        """Say what the line looks like."""
        return _NEAR_MISSES[self.kind].format(self.word)

    @property
    def advice(self) -> str:
        """What to type instead."""
        if self.kind == "extra words" and self.word == "stop":
            return "`::stop` takes no name"
        return _ADVICE[self.kind].format(self.word)


@dataclass(frozen=True, slots=True)
class Target:
    """Where to create an output: below `root`, through `parts`, in `format`."""

    root: Path
    parts: tuple[str, ...]
    format: str

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)

    @property
    def name(self) -> str:
        """The path below the root."""
        return "/".join(self.parts)


class Range(NamedTuple):
    """The part of a session that an output records, between two events.

    `start` is the event it begins at (empty: the beginning of the session); `inclusive` is false if it begins after
    that event (a command from the shell). `mark_at` is the event before which the start is marked,
    if that is not the beginning. `end` is its last event (empty: still open), and `until` the first one that is not
    part of it, if there is one before the end. `refused` says which name the output does not have, and why.
    """

    start: str
    inclusive: bool = True
    marked: bool = True
    mark_at: str = ""
    start_time: str = ""
    end: str = ""
    end_time: str = ""
    end_mark: MarkKind | Literal[""] = "stopped"
    switches: tuple[tuple[str, bool], ...] = ()
    refused: str = ""
    until: str = ""
    id: Annotated[int, "PRIMARY KEY"] = 0
    output: Annotated[int, "REFERENCES outputs"] = 0
