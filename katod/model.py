"""The nouns that travel between the stages, frozen and small."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

# Which format an output is written in, by its suffix.
SUFFIXES: Final = {".md": "markdown", ".jsonl": "jsonl"}
# What is longer is no id or name that a state remembers; its record is read like all others.
LONGEST_NAME: Final = 2048

Tools = Literal["none", "summary", "full"]
Attachments = Literal["save", "name"]


class SessionKey(NamedTuple):
    """One conversation: agent, session id, sub-agent id (empty for the main thread)."""

    agent: str
    id: str
    subagent: str = ""

    def __str__(self) -> str:
        """Show the key as it is typed: `claude:6f1c…` or `claude:6f1c…/sub-agent`."""
        tail = f"/{self.subagent}" if self.subagent else ""
        return f"{self.agent}:{self.id}{tail}"


class Identity(NamedTuple):
    """What a path tells of a session file without opening it."""

    key: SessionKey
    rollout: str = ""  # Codex: the id of this file where the thread has several


class Stat(NamedTuple):
    """What the sweep compares: a source is looked at again only when this changed."""

    size: int
    mtime_ns: int
    dev: int
    ino: int


class Record(NamedTuple):
    """One decoded native record: `value` is a JSON object (a `dict`), or None where nothing could be decoded.

    `raw` is kept only for what could not be decoded; `part` counts the records of one line.
    """

    offset: int
    value: Any  # not `dict | None`: adapters hand on only what was decoded
    part: int = 0
    raw: str = ""
    problem: str = ""


class Line(NamedTuple):
    """One native line: `offset` is where it begins, `end` the offset after its newline, in bytes.

    `data` is the line without newline, carriage return, BOM and leading NUL bytes. `skipped` is the
    length of a line too long to hold, whose bytes were passed over (`data` is then empty). `records` holds
    what the line decodes to where the scan for commands has decoded it already.
    """

    offset: int
    end: int
    data: bytes
    skipped: int = 0
    records: tuple[Record, ...] = ()


class Anchor(NamedTuple):
    """A fingerprint of the `size` bytes that end at a cursor: while it matches, the bytes before it are unchanged."""

    size: int
    digest: str


NO_ANCHOR: Final = Anchor(0, "")


class Cursor(NamedTuple):
    """Where reading resumes: a byte offset after a newline, and the anchor of the bytes before it."""

    offset: int = 0
    anchor: Anchor = NO_ANCHOR


START: Final = Cursor()


class Partial(NamedTuple):
    """A line still being written: it begins at `offset` and holds no newline before `scanned`, in bytes."""

    offset: int
    scanned: int


@dataclass(frozen=True, slots=True)
class Options:
    """What a recording prints and how, frozen when it begins (design, section 6)."""

    thinking: bool = False
    tools: Tools = "summary"
    attachments: Attachments = "name"
    redact: bool = True
    time_zone: str = "UTC"
    subagents: bool = False
    assets: str = ""  # the folder beside the output where attachments are saved
    agents: str = ""  # the folder beside it where its sub-agents are recorded
    recorder: str = ""  # the katod that began it, as the front matter names it
    rules: int = 1  # the version of the rules of redaction

    def with_switches(self, switches: Mapping[str, bool]) -> "Options":
        """Return these options with the `+thinking -tools` of one command applied."""
        thinking = switches.get("thinking", self.thinking)
        tools = self.tools
        if "tools" in switches:
            tools = "full" if switches["tools"] else "none"
        return replace(self, thinking=thinking, tools=tools)


MarkKind = Literal["started", "stopped", "excluded", "edited", "continued", "gap"]


class Mark(NamedTuple):
    """A line that katod itself prints between events. `switches` hold for the range it opens."""

    kind: MarkKind
    time: str = ""
    switches: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One parsed command line of a message (design, section 5)."""

    word: Literal["start", "stop", "capture", "export"]
    name: str = ""
    switches: tuple[tuple[str, bool], ...] = ()
    line: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an output is to be made: below `root`, through `parts`, in `format`."""

    root: Path
    parts: tuple[str, ...]
    format: str

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)


@dataclass(slots=True)
class Range:
    """A stretch of a session that an output holds, between two of its events.

    `start` is the event it begins at (empty: the beginning of the session); `inclusive` is false when it
    begins after that event (a command from the shell). `mark_at` is the event before which the start is
    marked, where that is not the beginning. `end` is its last event (empty: open).
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
    id: Annotated[int, "PRIMARY KEY"] = 0
    output: Annotated[int, "REFERENCES outputs"] = 0
