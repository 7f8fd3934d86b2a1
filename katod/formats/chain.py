"""The chain over the events of a recording in JSONL, by which others can check that none is missing or changed. Pure.

Each head is SHA-256 of the one before and of the bytes of a line, without its line feed; before the first line, it is
32 zero bytes. Only the lines of events count: what a person wrote into the file is no part of it.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, NamedTuple

_EVENT: Final = b'{"schema":"katod.event/'
_START: Final = bytes(32)


class ChainHead(NamedTuple):
    """How many events there are up to here, and the head after them."""

    events: int = 0
    head: bytes = _START

    def after(self, text: bytes) -> "ChainHead":
        """Return the head after the events in these lines, which are whole."""
        count, head = self
        for line in text.split(b"\n"):
            if line.startswith(_EVENT):
                count, head = count + 1, sha256(head + line).digest()
        return ChainHead(count, head)

    def row(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"events": self.events, "head": self.head.hex()}

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> "ChainHead":
        """Return the head that `row` returned. Raises ValueError, KeyError, TypeError for anything else."""
        events, head = row["events"], bytes.fromhex(row["head"])
        if type(events) is not int or events < 0 or len(head) != len(_START):
            raise ValueError("this is no head of a chain")
        return cls(events, head)


class Chained(NamedTuple):
    """What a file has: the head after all events and after a wanted number of them, and how many other lines."""

    whole: ChainHead
    wanted: ChainHead | None
    notes: int


def chain_of(lines: Iterable[bytes], wanted: int = 0) -> Chained:
    """Return the chain over the lines of a file; the head after so many events is None if there are fewer."""
    now, found, notes = ChainHead(), ChainHead() if wanted == 0 else None, 0
    for line in lines:
        if not line.startswith(_EVENT):
            notes += bool(line.strip())
            continue
        now = ChainHead(now.events + 1, sha256(now.head + line.removesuffix(b"\n")).digest())
        if now.events == wanted:
            found = now
    return Chained(now, found, notes)
