"""One maker an agent: what is said, written down as that agent writes it.

`Said` is what happens in a conversation, in terms of no agent. A maker turns it into native records; the pieces
of a maker that an agent's format cannot tell are named in `ABSENT`, with the reason.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, NamedTuple

from tests.world import World, line

SESSION: Final = "3f0a4c52-9d1e-4b7a-8c66-0123456789ab"
OTHER: Final = "77777777-9d1e-4b7a-8c66-0123456789ab"
CWD: Final = "/home/me/app"
Record = dict[str, Any]


class Said(NamedTuple):
    """One thing that happens: user, assistant, call, result, unknown or wrapped."""

    what: str
    text: str = ""
    call: str = ""


def user(text: str) -> Said:
    """The person types."""
    return Said("user", text)


def says(text: str) -> Said:
    """The assistant says."""
    return Said("assistant", text)


def calls(call: str, command: str) -> Said:
    """The assistant runs a command."""
    return Said("call", command, call)


def result(call: str, text: str) -> Said:
    """The command's result."""
    return Said("result", text, call)


UNKNOWN: Final = Said("unknown", "of a kind that nobody has seen")


def moment() -> str:
    """The present time, as agents write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds() -> int:
    """The same, in milliseconds."""
    return time.time_ns() // 1_000_000


class Maker(ABC):
    """A session of one agent, on its way to a file."""

    agent: ClassVar[str]
    # What the format does not tell: results, times, usage, forks, sub-agents, ids; each with the reason.
    ABSENT: ClassVar[dict[str, str]] = {}

    def __init__(self, world: World, session: str = SESSION, *, subagent: str = "") -> None:
        self.world = world
        self.session = session
        self.subagent = subagent
        self.count = 0
        self.items: list[Record] = []
        self.path = world.home / self.place()
        self.begin()

    @abstractmethod
    def place(self) -> str:
        """Where the file lies, below the home."""

    @abstractmethod
    def records(self, said: Said) -> list[Record]:
        """The native records of one thing."""

    def begin(self) -> None:  # noqa: B027 - some agents begin with what is said
        """What the agent writes before anything is said."""

    @abstractmethod
    def wrapped(self, text: str) -> list[Record]:
        """Text under the person's name that the client put there: it never commands."""

    def say(self, *things: Said) -> "Maker":
        """Have things happen, and written."""
        return self.put(*(record for said in things for record in self.records(said)))

    def put(self, *records: Record) -> "Maker":
        """Write records."""
        self.items += records
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.writelines(map(line, records))
        return self

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> "Maker":
        """Write the whole file anew, under a new inode."""
        self.items = [record for n, record in enumerate(self.items) if keep(n, record)]
        new = self.path.with_name("new.tmp")
        new.write_bytes(b"".join(map(line, self.items)))
        new.replace(self.path)
        return self

    def document(self) -> list[Record]:
        """The one record that it all makes up, where it is read so."""
        return []

    def age(self) -> "Maker":
        """Have it all be long ago."""
        os.utime(self.path, (1, 1))
        return self

    def tells(self, moment: str) -> bool:
        """Whether a time stands in the source."""
        return moment in self.path.read_text()

    def next(self) -> int:
        """A running number."""
        self.count += 1
        return self.count
