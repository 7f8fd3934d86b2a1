"""The ledger's rows as objects."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from katod.model import Identity, Options, Range, SessionKey, Stat
from katod.tail.reader import START, Cursor


@dataclass(slots=True)
class SessionRow:
    """One session: where its reader stands (facts, seq) and the output it writes to at present."""

    id: int
    key: SessionKey
    cwd: str = ""
    metadata: dict[str, Any] | None = None
    seq: int = 0
    output: int | None = None
    auto: str = ""
    near_misses: int = 0


@dataclass(slots=True)
class SourceRow:
    """One session file: what the sweep saw of it last, and how far it was read and translated."""

    id: int
    session: int
    path: str
    identity: Identity
    seen: Stat
    history: int = 0
    baseline: int | None = None
    cursor: Cursor = START
    translated: int = 0
    state: dict[str, Any] | None = None
    version: int | None = None
    read_ns: int = 0
    after_ns: int = 0
    gone: bool = False
    problem: str = ""
    since_ns: int = 0


@dataclass(slots=True)
class OutputRow:
    """One output: its file as katod left it, the frozen options, the open intent and its own reader if behind."""

    id: int
    session: int
    root: Path
    parts: tuple[str, ...]
    format: str
    version: int
    options: Options
    head: dict[str, Any]
    ranges: list[Range] = field(default_factory=list)
    recorder: dict[str, Any] | None = None
    made: bool = False
    dev: int = 0
    ino: int = 0
    committed: int = 0
    tail: str = ""
    intent: bytes | None = None
    bounds: list[int] = field(default_factory=list)
    behind: dict[str, Any] | None = None
    problem: str = ""
    attempts: int = 0
    redactions: int = 0

    @property
    def path(self) -> Path:
        """The whole path."""
        return self.root.joinpath(*self.parts)

    @property
    def open(self) -> bool:
        """Say whether its last range has no end."""
        return bool(self.ranges) and not self.ranges[-1].end

    def limit(self, source: SourceRow) -> int | None:
        """Return how far a source counts for it: where katod is, or without limit when it has ended.

        Where katod is in a session that it no longer records says nothing: it goes back for words that it held.
        """
        return source.cursor.offset if self.open else None

    def reached(self, source: SourceRow) -> int | None:
        """Return how far a source was printed: less than `limit` while the output is behind its session."""
        offsets = (self.behind or {}).get("offsets")
        return self.limit(source) if offsets is None else offsets.get(str(source.id), 0)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A command that was refused, and why."""

    session: SessionKey
    time: str
    word: str
    reason: str
