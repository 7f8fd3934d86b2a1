"""What a server knows of one session, in few bytes, as there may be ten thousands of them. Pure."""

import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from katod.discover.found import Found
from katod.formats.stream import bridge
from katod.metadata import SessionMetadata, SessionStart
from katod.model import Identity, SessionKey, Stat

_STAT: Final = struct.Struct("<4q")
# What only who reads the session needs is left out: its calls, the last event, what it is doing.
_KEPT: Final = frozenset({"title", "model", "started", "time", *SessionStart._fields})
File = tuple[str, Identity, Stat]
Packed = tuple[tuple[str, ...], tuple[Identity, ...], bytes]  # paths, identities that are not just the key, stats


class Known(Found):
    """One session, and what is known of it without reading it all. Its files are replaced, never changed."""

    __slots__ = ("_about", "_packed", "count", "counted", "is_open", "number", "sweep")

    def __init__(self, key: SessionKey, number: int = 0) -> None:
        self.key = key
        self.number = number  # in the ledger, if there is a transcript of it
        self.is_open = False  # one is being written
        self.count = 0  # of its messages, as far as they were read; until then, of the events the daemon has seen
        self.counted: bytes | None = None  # what `stats` were when all messages were counted
        self.sweep = 0.0  # when the last one began that found one of its files
        self._about = "", b""  # JSON, empty until somebody asks; what `stats` were then
        self._packed: Packed = (), (), b""

    @property
    def name(self) -> str:
        """The UUID by which clients know it."""
        return bridge.session_uuid(self.key)

    @property
    def files(self) -> list[File]:
        """Its files, older ones first: a copy."""
        paths, identities, stats = self._packed
        every = identities or [Identity(self.key)] * len(paths)
        return [(path, one, Stat(*now)) for path, one, now in zip(paths, every, _STAT.iter_unpack(stats), strict=True)]

    @files.setter
    def files(self, files: list[File]) -> None:
        self._pack(files)

    def _pack(self, files: list[File]) -> None:
        identities = tuple(identity for _, identity, _ in files)
        is_plain = all(identity == (self.key, "") for identity in identities)
        stats = b"".join(_STAT.pack(*stat) for _, _, stat in files)
        self._packed = tuple(path for path, _, _ in files), () if is_plain else identities, stats

    @property
    def changed_ns(self) -> int:
        """When one of its files changed last (ns), 0 if none exists."""
        return max((changed_ns for _, changed_ns, _, _ in _STAT.iter_unpack(self.stats)), default=0)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where its files are."""
        return self._packed[0]

    @property
    def stats(self) -> bytes:
        """What its files were when they were looked at: other bytes if one of them has changed."""
        return self._packed[2]

    def renew(self, path: str, stat: Stat) -> bool:
        """Take note of what a file is now; return whether it is one of the session's."""
        paths, identities, stats = self._packed
        if path not in paths:
            return False
        at = _STAT.size * paths.index(path)
        self._packed = paths, identities, stats[:at] + _STAT.pack(*stat) + stats[at + _STAT.size :]
        return True

    def take(self, files: Iterable[File]) -> None:
        """Take note of what files are now; those that are new come after those that are known."""
        for path, identity, stat in files:
            if not self.renew(path, stat):
                self._pack([*self.files, (path, identity, stat)])

    @property
    def metadata(self) -> SessionMetadata | None:
        """What it is about; None until somebody asked for that."""
        return SessionMetadata(self.key, orjson.loads(self._about[0])) if self._about[0] else None

    @metadata.setter
    def metadata(self, metadata: SessionMetadata) -> None:
        self.note(metadata.state())

    def note(self, state: Mapping[str, Any]) -> None:
        """Take note of what it is about: names and values of metadata."""
        kept = {name: value for name, value in state.items() if name in _KEPT}
        self._about = orjson.dumps(kept).decode(), self.stats  # as bytes, the JSON would take 4 kB

    @property
    def has_changed(self) -> bool:
        """Whether its files have changed since what it is about was read."""
        return self._about[1] != self.stats

    def beginning(self) -> dict[str, Any]:
        """Return what is stored of its beginning: names and values of its metadata."""
        found: dict[str, Any] = orjson.loads(self._about[0] or "{}")
        return found
