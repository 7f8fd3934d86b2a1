"""The messages of a session as short hashes, so that an export is never replaced by one with fewer. Pure."""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from katod.agents import AGENTS
from katod.agents.base import fingerprint
from katod.archive.manifest import Entry
from katod.events import Event
from katod.metadata import Replay, SessionMetadata
from katod.model import SessionKey
from katod.record.stream import DISTINCTIVE

_BYTES: Final = 4  # for each message: one that is lost goes unnoticed once in a million times in a session of thousands


class TextTally:
    """Collects the messages and calls of a session while its events pass."""

    def __init__(self, key: SessionKey) -> None:
        spec = AGENTS[key.agent]
        self._version = spec.adapter.version
        self._has_ids = spec.nature.has_native_ids
        self._hashes: list[bytes] = []

    def over(self, events: Replay) -> Iterator[tuple[Event, SessionMetadata]]:
        """Yield the events."""
        for event, metadata in events:
            if event.kind in DISTINCTIVE:
                what = event.id if self._has_ids else fingerprint(event)
                self._hashes.append(blake2b(what.encode("utf-8", "replace"), digest_size=_BYTES).digest())
            yield event, metadata

    @property
    def text(self) -> str:
        """All of it, in a form that `has_less` compares."""
        return f"{self._version}:{b64encode(b''.join(self._hashes)).decode()}"


def has_less(now: Entry, before: Entry) -> bool:
    """Return whether something that was said in a session before is not in it now.

    Another version of an adapter may give the same messages other ids: then what counts is whether a file is shorter.
    What cannot be compared, as its line in the list is damaged, counts as lost.
    """
    try:
        (version, hashes), (version_before, hashes_before) = now.said.split(":"), before.said.split(":")
        if version == version_before:
            return bool(_counted(hashes_before) - _counted(hashes))
        sizes = {row[0]: int(row[1]) for row in now.sources}
        return any(sizes.get(row[0], -1) < int(row[1]) for row in before.sources)
    except (ValueError, TypeError, IndexError):
        return True


def _counted(hashes: str) -> Counter[bytes]:
    data = b64decode(hashes)
    return Counter(data[at : at + _BYTES] for at in range(0, len(data), _BYTES))
