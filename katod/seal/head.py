"""The published head of a chain: what is signed of a recording in JSONL, and how a recording is compared with it.

A head is a small file of JSON, in the one form that is signed. It says how many events there are, and the head after
them; the recording may have more by now.
"""

import json
from collections.abc import Iterable
from typing import Final, NamedTuple

from katod.errors import SealError
from katod.formats.chain import Chained, ChainHead, chain_of
from katod.formats.records.agentrecord import canonical

KIND: Final = "katod.event"  # what is chained: the lines of events
_HASH: Final = "sha-256"
_NAMES: Final = {"chain", "events", "hash", "head", "session"}


class PublishedHead(NamedTuple):
    """The head of a session's recording after some events."""

    session: str
    chain: ChainHead

    def data(self) -> bytes:
        """Return the bytes that are signed."""
        about = {"chain": KIND, "hash": _HASH, "session": self.session}
        return canonical(about | {"events": self.chain.events, "head": self.chain.head.hex()}).encode()

    def check(self, lines: Iterable[bytes]) -> Chained:
        """Compare the lines of a recording with it. Raises SealError if they are not these events, in this order."""
        found = chain_of(lines, self.chain.events)
        if found.strange:
            raise SealError(found.strange)
        if found.wanted is None:
            raise SealError(f"has only {found.whole.events:,} events; the head was made after {self.chain.events:,}")
        if not found.wanted.is_at(self.chain):
            raise SealError("an event was changed, removed, added or moved since the head was published")
        return found


def parse_head(data: bytes) -> PublishedHead:
    """Return the head in these bytes. Raises SealError."""
    try:
        row = json.loads(data)
        if set(row) != _NAMES or (row["chain"], row["hash"]) != (KIND, _HASH) or not isinstance(row["session"], str):
            raise SealError("is not the head of a chain that katod knows")
        found = PublishedHead(row["session"], ChainHead.of_row(row))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SealError("is not the head of a chain") from error
    if found.data() != data:
        raise SealError("is not in the form that is signed: it was edited or formatted since")
    return found


def is_head(data: bytes) -> bool:
    """Return whether a file begins as a published head does."""
    return data.startswith(f'{{"chain":"{KIND}"'.encode())
