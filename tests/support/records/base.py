"""What the sessions of all agents share: a place below the home, a growing file, and an agent-neutral language.

`Said` is one item of a conversation, independent of any agent; `Maker.records` writes it in the agent's format.
`ABSENT` lists what a format cannot express, with the reason.
"""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self

SESSION: Final = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
THREAD: Final = "01a1f89e-eea5-7302-86e3-f8e0f705330a"  # Codex: a UUID of version 7
OTHER: Final = "77777777-9d1e-4b7a-8c66-0123456789ab"
CWD: Final = "/home/me/app"
Record = dict[str, Any]


class Home(Protocol):
    """Anything with a home directory, usually a `World`."""

    home: Path


class Said(NamedTuple):
    """One item: user, assistant, call, result, or unknown."""

    what: str
    text: str = ""
    call: str = ""


def user(text: str) -> Said:
    """Return a message that the person typed."""
    return Said("user", text)


def says(text: str) -> Said:
    """Return a message of the assistant."""
    return Said("assistant", text)


def calls(call: str, command: str) -> Said:
    """Return a command that the assistant runs."""
    return Said("call", command, call)


def result(call: str, text: str) -> Said:
    """Return the result of a command."""
    return Said("result", text, call)


UNKNOWN: Final = Said("unknown", "of a kind that nobody has seen")


def line(record: Record | bytes | str) -> bytes:
    """Return one record as a line of the session file; text and bytes stay unchanged."""
    if isinstance(record, bytes):
        return record
    if isinstance(record, str):
        return record.encode()
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def moment() -> str:
    """Return the current time as agents write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds() -> int:
    """Return the current time in milliseconds."""
    return time.time_ns() // 1_000_000


class Maker(ABC):
    """One session: creates its records and, if it has a home, writes them where the agent keeps them.

    `append` writes exactly what it is given. `say` and `put` write the session's opening first and remember all
    records, so that `rewrite` can write them again.
    """

    agent: ClassVar[str]
    SESSION: ClassVar[str] = SESSION
    # What the format cannot express (result, torn, sub-agent, fork, cwd, between, task), each with the reason.
    ABSENT: ClassVar[dict[str, str]] = {}
    JOINS_RESULTS: ClassVar[bool] = False  # a call and its result are one record
    # Its times are whole seconds: what is said in the second in which something began counts as said before.
    WHOLE_SECONDS: ClassVar[bool] = False
    WAITS_FOR_ENDS: ClassVar[bool] = False  # an answer is there only when all of it is
    IS_DOCUMENT: ClassVar[bool] = False  # read as a whole, so that a line of it is no record
    path: Path

    def __init__(
        self, world: Home | None = None, session: str = "", *, subagent: str = "", cwd: str = CWD, start: int = 0,
        **place: str,
    ) -> None:  # fmt: skip
        self.session, self.subagent, self.cwd, self.count = session or self.SESSION, subagent, cwd, start
        self.items: list[Record] = []
        self.opened = False
        if world is not None:
            self.world = world
            self.path = world.home / self.place(**place)
            self.path.parent.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def place(self) -> str:
        """Return the path of the file, relative to the home."""

    @abstractmethod
    def records(self, said: Said) -> list[Record]:
        """Return the native records of one item."""

    @abstractmethod
    def wrapped(self, text: str) -> list[Record]:
        """Return text that the client wrote in the person's name; commands in it are ignored."""

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return, by what it is, text that another agent says in this session, or a summary of it has."""
        raise NotImplementedError(text)

    @property
    def source(self) -> str:
        """What `katod export` takes for this session."""
        return str(self.path)

    def child(self) -> "Maker":
        """Return a session that this one starts for a part of its work, which is given a task."""
        return type(self)(self.world, self.session, subagent="abc")

    def opening(self) -> list[Record]:
        """Return what the agent writes before the first message."""
        return []

    def next(self) -> int:
        """Return the next number."""
        self.count += 1
        return self.count

    # -- the file -----------------------------------------------------------------------------------

    def append(self, *records: Record | bytes | str) -> Self:
        """Append records, or raw bytes, unchanged."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            file.write(b"".join(map(line, records)))
        return self

    def say(self, *things: Said) -> Self:
        """Write the records of these items."""
        return self.put(*(record for said in things for record in self.records(said)))

    def put(self, *records: Record) -> Self:
        """Write records, after the opening if this is the first write."""
        if not self.opened:
            self.opened = True
            records = (*self.opening(), *records)
        return self.write(*records)

    def write(self, *records: Record) -> Self:
        """Write records and remember them."""
        self.items += records
        return self.append(*records)

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> Self:
        """Write the whole file again, under a new inode."""
        self.items = [record for n, record in enumerate(self.items) if keep(n, record)]
        new = self.path.with_name("new.tmp")
        new.write_bytes(b"".join(map(line, self.items)))
        new.replace(self.path)
        return self

    def age(self) -> Self:
        """Make the session look very old."""
        os.utime(self.path, (1, 1))
        return self

    def document(self) -> list[Record]:
        """Return the whole session as katod reads it, if it is read as one record."""
        return []

    def tells(self, moment: str) -> bool:
        """Return whether the source contains this time."""
        return moment in self.path.read_text()
