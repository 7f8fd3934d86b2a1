"""The nouns that travel between the stages, frozen and small."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

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


class Line(NamedTuple):
    """One native line: `offset` is where it begins, `end` the offset after its newline, in bytes.

    `data` is the line without newline, carriage return, BOM and leading NUL bytes. `skipped` is the
    length of a line too long to hold, whose bytes were passed over (`data` is then empty).
    """

    offset: int
    end: int
    data: bytes
    skipped: int = 0


class Record(NamedTuple):
    """One decoded native record: `value` is a JSON object, or None where nothing could be decoded.

    `raw` is kept only for what could not be decoded; `part` counts the records of one line.
    """

    offset: int
    value: dict[str, Any] | None
    part: int = 0
    raw: str = ""
    problem: str = ""


class Anchor(NamedTuple):
    """A hash of the `size` bytes that end at the cursor: it proves that the bytes before it are the same."""

    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Options:
    """What a recording prints and how, frozen when it begins (design, section 6)."""

    thinking: bool = False
    tools: Tools = "summary"
    attachments: Attachments = "name"
    redact: bool = True
    time_zone: str = "UTC"
    subagents: bool = False

    def with_switches(self, switches: Mapping[str, bool]) -> "Options":
        """Return these options with the `+thinking -tools` of one command applied."""
        thinking = switches.get("thinking", self.thinking)
        tools = self.tools
        if "tools" in switches:
            tools = "full" if switches["tools"] else "none"
        return Options(thinking, tools, self.attachments, self.redact, self.time_zone, self.subagents)


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
class Facts:
    """What is known of a conversation so far: the fold over all its events, recorded or not."""

    agent: str
    session: str
    subagent: str = ""
    parent: str = ""
    title: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    model: str = ""
    started: str = ""
    time: str = ""
    calls: Mapping[str, str] = field(default_factory=dict)


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
