"""The ledger's rows. Each class is one table: its fields are the columns, in order (see `tables`)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from katod.model import START, Cursor, Identity, Options, Range, SessionKey, Stat

# Shown instead of the path of an output that has no file yet.
UNNAMED: Final = "the file gets its name from the next words that you type"

# Instead of the name of a marker: the root was the output directory when the output was planned, and is marked with
# its first file. The settings may name another one by then, if katod was killed in between.
UNMARKED: Final = "?"

# Whether a session is auto-recorded: undecided, to be decided when its project is known, or decided.
# `off` follows a `::stop`, which overrides auto-recording.
Auto = Literal["", "wanted", "yes", "no", "off"]


class SessionRow(NamedTuple):
    """One session: the state of its live stream, the number of its next event, and its current output."""

    id: Annotated[int, "PRIMARY KEY AUTOINCREMENT"]  # never that of one that was forgotten
    key: Annotated[SessionKey, "UNIQUE"]
    cwd: str = ""
    metadata: dict[str, Any] | None = None  # None while the session is not recorded: no content of it is kept then
    seq: int = 0
    output: int | None = None
    auto: Auto = ""


class SourceRow(NamedTuple):
    """One source: its latest stat, where its history ends, and how far it was read and translated."""

    id: Annotated[int, "PRIMARY KEY"]
    session: Annotated[int, "REFERENCES sessions"]
    path: Annotated[str, "UNIQUE"]
    identity: Identity
    seen: Stat
    history: int = 0  # its size in bytes when it was first seen
    baseline: int | None = None  # the offset after the last newline in its history; None until the file is first opened
    cursor: Cursor = START
    translated: int = 0  # how far `state` has progressed; from here to the cursor, the bytes were only scanned
    state: dict[str, Any] | None = None
    version: int | None = None  # of the adapter that wrote `state`
    read_ns: int = 0  # the file's modification time when it was last read
    after_ns: int = 0  # after a rewrite: commands typed before this time are history
    since_ns: int = 0  # the source did not exist yet at this time
    gone: bool = False
    problem: str = ""


class OutputRow(NamedTuple):
    """One output: its file as katod left it, its fixed options, the open intent, its own stream if it has one.

    `head` is what the head of its file says of the session, and since when it is being recorded.
    """

    id: Annotated[int, "PRIMARY KEY AUTOINCREMENT"]  # never that of one that was forgotten
    session: Annotated[int, "REFERENCES sessions"]
    root: Path
    path: Annotated[Path, "UNIQUE"]
    format: str
    version: int  # of the format that wrote `printer`
    options: Options
    head: dict[str, Any]
    printer: dict[str, Any] | None = None  # the position among the ranges, and the format's state
    made: bool = False
    dev: int = 0
    ino: int = 0
    committed: int = 0
    tail: str = ""
    held: dict[str, str] | None = None  # `text` that waits for the words that name the file, and `time`, when it began
    intent: bytes | None = None
    bounds: tuple[int, ...] = ()  # where the events of the intent end
    behind: dict[str, Any] | None = None  # the position of its own stream, while that differs from the session's
    problem: str = ""
    attempts: int = 0
    redactions: int = 0
    marker: str = ""  # the name of the file that marks its root, UNMARKED, or empty if it needs none
    reverted: bool = False  # an older copy of the file was saved: it may lack what was written since
    restored: int = 0  # how many missing events were appended again, out of order
    successor: str = ""  # the session in which the user went on, if they left the recorded one
    ranges: tuple[Range, ...] = ()  # in a table of their own

    @property
    def parts(self) -> tuple[str, ...]:
        """The path below the root."""
        return self.path.relative_to(self.root).parts

    @property
    def open(self) -> bool:
        """Whether its last range has no end."""
        return bool(self.ranges) and not self.ranges[-1].end

    @property
    def since(self) -> str:
        """When its last range was opened; of outputs whose ledger does not say so, when the session was last heard."""
        return str(self.head.get("since") or self.head["metadata"].get("time", ""))

    @property
    def is_copy(self) -> bool:
        """Whether it is no recording, but a copy of what had been said: an export, or exchanges that were kept."""
        return bool(self.ranges) and not any(part.marked for part in self.ranges)

    @property
    def rank(self) -> tuple[bool, int]:
        """Sorts the outputs of a session: copies first, the one that was recorded to last at the end."""
        return not self.is_copy, self.ranges[-1].id if self.ranges else 0

    @property
    def paused(self) -> bool:
        """Whether its last range ended because katod was paused."""
        return bool(self.ranges) and self.ranges[-1].end_mark == "paused" and not self.open

    def limit(self, source: SourceRow) -> int | None:
        """Return how many bytes of a source belong to it: up to the cursor, or all (None) once it has ended.

        If the session is no longer recorded, its cursor says nothing: it may have moved back for text that was held.
        """
        return source.cursor.offset if self.open else None

    def reached(self, source: SourceRow) -> int | None:
        """Return how many bytes of a source were printed: less than `limit` while the output is catching up."""
        offsets = (self.behind or {}).get("offsets")
        return self.limit(source) if offsets is None else offsets.get(str(source.id), 0)


def transcripts(rows: Iterable[OutputRow]) -> list[OutputRow]:
    """Return the outputs that are the transcripts of one session, the latest at the end: copies only without others.

    A copy is made once, by `::keep` or `::export`: it is newer than a recording that runs, but never shows all of it.
    """
    ranked = sorted(rows, key=lambda row: row.rank)
    return [row for row in ranked if not row.is_copy] or ranked


class RefusalRow(NamedTuple):
    """A command that was refused, or the name in it, and why; never the line that was typed."""

    id: Annotated[int, "PRIMARY KEY"]
    session: SessionKey
    time: str
    word: str
    reason: str


class NearMissRow(NamedTuple):
    """A line that looked like a command but was not: when it was read, what was wrong, and what it resembles."""

    id: Annotated[int, "PRIMARY KEY"]
    session: SessionKey
    time: str
    kind: str
    word: str


class SampleRow(NamedTuple):
    """What a sample of an agent's version showed: its file, and how many events of how many are unknown records."""

    agent: str
    version: str
    time: int  # seconds since 1970
    path: str
    events: int
    raw: int


class RootRow(NamedTuple):
    """A root, and when (ns) its last completed sweep started. Unreadable folders end in `/`, databases in `#`."""

    path: Annotated[str, "PRIMARY KEY"]
    agent: str
    swept_ns: int


class SeenRow(NamedTuple):
    """An event of a session: the hash of its id (or content), its number, and the source it was first seen in."""

    session: int
    id: int
    seq: int
    source: int


class AppliedRow(NamedTuple):
    """The hash of the dedup key of a command that was carried out."""

    dedup_key: Annotated[int, "PRIMARY KEY"]


class TombstoneRow(NamedTuple):
    """What stays of one source of a forgotten session, so that nothing old in it acts again.

    `path`, `identity` and `session` are hashes, keyed with `salt`, a random value of this ledger: a path that can be
    guessed cannot be looked up in a list of hashes. The other columns are those of a source.
    """

    path: Annotated[bytes, "PRIMARY KEY"]
    identity: bytes
    session: bytes
    salt: bytes
    seen: Stat
    history: int
    baseline: int | None
    cursor: Cursor
    read_ns: int
    forgotten_ns: int  # when that was


class DeliveryRow(NamedTuple):
    """A range of an output that is delivered; `number` counts the output's ranges from 0.

    Here and below, a destination is the id of a Matrix room, or the address of a collector of spans.
    """

    destination: str
    done: bool  # whether all of it was sent
    output: int
    number: int
    problem: str = ""  # why the rest of it cannot be sent


class SentRow(NamedTuple):
    """What a destination has of a session: a transaction, and the server's id for it; empty if it was refused."""

    session: int
    destination: str
    txn: str
    event: str


class PositionRow(NamedTuple):
    """How far an output was delivered to a destination: the transaction of the last line that was sent of it."""

    output: int
    destination: str
    txn: str


class UploadRow(NamedTuple):
    """Content of a session that a homeserver has: its hash and its address there; empty if it was refused."""

    session: int
    homeserver: str
    sha256: str
    address: str


class DestinationRow(NamedTuple):
    """Whether something waits to be sent: since when (UTC), why, and whether only other settings help."""

    destination: Annotated[str, "PRIMARY KEY"]
    since: str = ""
    problem: str = ""
    stopped: bool = False


class RunningDeliveryRow(NamedTuple):
    """Where the katod that runs delivers to: its settings, which those in the file may not be any more.

    `kind` is the section of the settings, and the destination is the first of its `parts`.
    """

    kind: Annotated[str, "PRIMARY KEY"]
    parts: tuple[str, ...]


class WorktreeRow(NamedTuple):
    """A directory that was recorded in a worktree, and what it is in the repository: the worktree may be gone later."""

    path: Annotated[str, "PRIMARY KEY"]
    repository: str


class MarkerRow(NamedTuple):
    """A directory that katod marked, and the name of the marker: it counts although nothing is recorded there now."""

    root: Annotated[Path, "PRIMARY KEY"]
    marker: str


class EditRow(NamedTuple):
    """What a call within a recorded range did to one file: keyed hashes, and the ids of events that explain it."""

    session: Annotated[int, "REFERENCES sessions"]
    event: int  # the hash of the id of the call's event
    number: int  # of the file among those of the call
    file: int  # the hash of the file's name
    done: bool  # whether its result came and it went well
    call: str
    prompt: str
    answer: str
    time: str
    model: str
    places: bytes  # the hashes of the file's path and of the ends of it
    changes: bytes


class EditKeyRow(NamedTuple):
    """The key of the hashes of edits; there is one."""

    id: Annotated[int, "PRIMARY KEY"]
    key: bytes


class PersonalRow(NamedTuple):
    """What the user says of a session, recorded or not, in their own words: what they call it, a star, labels."""

    session: Annotated[SessionKey, "PRIMARY KEY"]
    title: str = ""
    starred: bool = False
    labels: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.title or self.starred or self.labels)

    def has_labels(self, wanted: Iterable[str]) -> bool:
        """Return whether the session has all of these labels."""
        return {*wanted} <= {*self.labels}

    @property
    def metadata(self) -> dict[str, Any]:
        """What it adds to the metadata of the session, as JSON, without what it does not say."""
        row = {"own": self.title, "starred": self.starred, "labels": list(self.labels)}
        return {name: value for name, value in row.items() if value}


class ProjectRow(NamedTuple):
    """The folder name of a project in the output directory."""

    name: Annotated[str, "PRIMARY KEY"]
    path: Annotated[str, "UNIQUE"]
