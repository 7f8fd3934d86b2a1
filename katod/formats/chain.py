"""The chain over the events of a recording in JSONL, by which others can check that none is missing or changed. Pure.

Each head is SHA-256 of the one before and of the bytes of a line, without its line feed; before the first line, it is
32 zero bytes. Only the lines of events count: what a person wrote into the file is no part of it.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, NamedTuple

from katod.formats.eventlines import is_event, is_note

_START: Final = bytes(32)


class ChainHead(NamedTuple):
    """How many events there are up to here, and the head after them.

    The first ones may be `unchecked`: they were taken as they were found, and are not known to be as katod wrote them.
    """

    events: int = 0
    head: bytes = _START
    unchecked: int = 0

    def after(self, text: bytes) -> "ChainHead":
        """Return the head after the events in these lines, which are whole."""
        count, head, unchecked = self
        for line in text.split(b"\n"):
            if is_event(line):
                count, head = count + 1, sha256(head + line).digest()
        return ChainHead(count, head, unchecked)

    def is_at(self, other: "ChainHead") -> bool:
        """Return whether another one is after the same events."""
        return self[:2] == other[:2]

    def doubt(self) -> str:
        """Return what is not known of the first events, in words; empty if all are known to be as katod wrote them."""
        found = "are as they were found when missing ones were appended"
        return f"the first {self.unchecked:,} events {found}" if self.unchecked else ""

    def row(self) -> dict[str, Any]:
        """Return it as JSON."""
        row: dict[str, Any] = {"events": self.events, "head": self.head.hex()}
        return row | ({"unchecked": self.unchecked} if self.unchecked else {})

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> "ChainHead":
        """Return the head that `row` returned. Raises ValueError, KeyError, TypeError for anything else."""
        events, head, unchecked = row["events"], bytes.fromhex(row["head"]), row.get("unchecked", 0)
        counts = type(events) is int and type(unchecked) is int and 0 <= unchecked <= events
        if not counts or len(head) != len(_START):
            raise ValueError("this is not the head of a chain")
        return cls(events, head, unchecked)


class Chained(NamedTuple):
    """What a file has: the head after all events and after a wanted number of them, and how many notes.

    `strange` names the first line up to there that is neither an event nor a note; it is empty if there is none.
    """

    whole: ChainHead
    wanted: ChainHead | None
    notes: int
    strange: str


def chain_of(lines: Iterable[bytes], wanted: int | None = None) -> Chained:
    """Return the chain over the lines of a file; the head after so many events is None if there are fewer."""
    now, found, notes, strange = ChainHead(), ChainHead() if wanted == 0 else None, 0, ""
    for number, line in enumerate(lines, 1):
        strange = strange or ("" if found else _what_is_strange(number, line))
        if is_event(line):
            now = ChainHead(now.events + 1, sha256(now.head + line.removesuffix(b"\n")).digest())
            found = now if now.events == wanted else found
        else:
            notes += bool(line.strip())
    return Chained(now, found, notes, strange)


def _what_is_strange(number: int, line: bytes) -> str:
    if is_event(line) and line.endswith(b"\r\n"):  # a note may end as the user's editor ends lines
        return f"line {number} has a Windows line end: a program converted the file"
    if not is_event(line) and not is_note(line):
        return f"line {number} looks like an event, but katod did not write it"
    return ""
