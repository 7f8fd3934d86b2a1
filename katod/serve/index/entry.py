"""One session of the index, in few bytes, as there may be tens of thousands; and its files as they are now."""

import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.discover.live import signature
from katod.formats.stream import bridge
from katod.metadata import SessionMetadata, SessionStart
from katod.model import Identity, SessionKey, Stat, changed_ns, signed

_STAT: Final = struct.Struct("<4q")
# What only a reader of the session needs is left out: its calls, the last event.
_KEPT: Final = frozenset({"title", "named", "model", "started", "time", *SessionStart._fields})
File = tuple[str, Identity, Stat]
Numbers = tuple[int, ...]
Packed = tuple[tuple[str, ...], tuple[Identity, ...], bytes]  # paths, identities that are not just the key, stats


class NotServed(Exception):
    """A session is not served, or no longer."""


class SessionContent(NamedTuple):
    """The files of a session, and how they are served."""

    key: SessionKey
    files: tuple[tuple[str, Identity], ...]  # older ones first
    size: int = 0  # bytes; 0 for what is read as a whole
    redact: bool = True


class SessionEntry(FoundSession):
    """One session, and what is known of it without reading it all. `files` is a copy: `take`, `renew`
    and `drop_gone` change it.
    """

    __slots__ = ("_about", "_counted", "_named", "_packed", "count", "is_open", "number", "swept")

    def __init__(self, key: SessionKey, number: int = 0) -> None:
        self.key = key
        self.number = number  # in the ledger, if there is a transcript of it
        self.is_open = False  # one is being written
        self.count = 0  # of its messages, as far as they were read; until then, of the events the daemon has seen
        self.swept = 0.0  # when the last sweep began that found one of its files
        self._counted: bytes | None = None  # what `stats` were when all messages were counted
        self._about = "", b""  # JSON, empty until it is read; what `stats` were then
        self._named = b""  # what `stats` were when a name was looked for in its records
        self._packed: Packed = (), (), b""

    @property
    def name(self) -> str:
        """The UUID that clients use."""
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
        """When one of its files last changed (ns), 0 if it has none."""
        stats = self.stats
        if len(stats) == _STAT.size:  # as almost always; lists compare thousands
            return int(_STAT.unpack(stats)[1])
        return max((changed_ns for _, changed_ns, _, _ in _STAT.iter_unpack(stats)), default=0)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where its files are."""
        return self._packed[0]

    @property
    def stats(self) -> bytes:
        """The stats of its files as bytes, which differ once a file has changed."""
        return self._packed[2]

    def renew(self, path: str, stat: Stat) -> bool:
        """Update the stat of a file; return False if the file is not one of the session's."""
        paths, identities, stats = self._packed
        if path not in paths:
            return False
        at = _STAT.size * paths.index(path)
        self._packed = paths, identities, stats[:at] + _STAT.pack(*stat) + stats[at + _STAT.size :]
        return True

    def take(self, files: Iterable[File]) -> None:
        """Update the stats of its files, and add files that are new: last, or instead of the one that was moved there.

        Followers of the session take a moved file for the same one, so its place among the files stays, too.
        """
        for path, identity, stat in files:
            if not self.renew(path, stat):
                known = self.files
                at = len(known) if _is_gone(path, identity) else _place_of_moved(known, identity)
                self._pack([*known[:at], (path, identity, stat), *known[at + 1 :]])

    def drop_gone(self) -> None:
        """Drop files that no longer exist, unless none does: then they say what the session was."""
        if len(self.paths) > 1:
            left = [file for file in self.files if not _is_gone(*file[:2])]
            if 0 < len(left) < len(self.paths):
                self._pack(left)

    @property
    def metadata(self) -> SessionMetadata | None:
        """What it is about, as far as `set_metadata` was called; else None."""
        return SessionMetadata(self.key, orjson.loads(self._about[0])) if self._about[0] else None

    def set_metadata(self, state: Mapping[str, Any]) -> None:
        """Set what it is about: names and values of metadata, as its files are now."""
        kept = {name: value for name, value in state.items() if name in _KEPT}
        if kept.get("session") == self.key.id:  # as almost always
            del kept["session"]
        self._about = orjson.dumps(kept).decode(), self.stats  # as bytes, the JSON would take 4 kB

    @property
    def has_changed(self) -> bool:
        """Whether its files have changed since what it is about was read."""
        return self._about[1] != self.stats

    def look_for_name(self) -> bool:
        """Return whether a name has to be looked for in its records as they are now; it counts as done."""
        is_old, self._named = self._named != self.stats, self.stats
        return is_old

    def beginning(self) -> dict[str, Any]:
        """Return the metadata as names and values, empty if there is none: faster than `metadata`."""
        found: dict[str, Any] = orjson.loads(self._about[0] or "{}")
        return found

    def set_recording(self, is_open: bool) -> None:
        """Set whether a transcript of it is being written."""
        self.is_open = is_open

    def set_count(self, count: int, counted: bytes | None = None) -> None:
        """Set the number of its messages. `counted`: it is exact, and these are the `stats` that were counted."""
        self.count = count
        self._counted = counted

    @property
    def is_counted(self) -> bool:
        """Whether `count` is exact."""
        return self._counted == self.stats

    def set_swept(self, at: float) -> None:
        """Note the sweep that found one of its files, by the time at which it began."""
        self.swept = at

    def refresh(self) -> None:
        """Stat its files, which may have changed since they were found."""
        for path, identity, _ in self.files:
            if (now := stat_of(path, identity)) is not None:
                self.renew(path, now)

    def is_gone(self) -> bool:
        """Return whether none of its files exists."""
        return all(_is_gone(path, identity) for path, identity, _ in self.files)


def _place_of_moved(files: list[File], identity: Identity) -> int:
    """Return the number of the file with this identity that is no longer where it was, or of a new one."""
    gone = (at for at, (path, whose, _) in enumerate(files) if whose == identity and _is_gone(path, whose))
    return next(gone, len(files))


def _is_gone(path: str, identity: Identity) -> bool:
    return signature(path, identity) is None


def stat_of(path: str, identity: Identity) -> Stat | None:
    """Stat a file; None if it does not exist or is a part of a database."""
    numbers = () if AGENTS[identity.key.agent].is_contained(path) else _numbers(path)
    return Stat(*map(signed, numbers)) if numbers else None


def numbers_of(paths: Iterable[str | Path]) -> Numbers:
    """Sizes, times and inodes of these files, which differ once any of them has changed."""
    return tuple(number for path in paths for number in _numbers(path))


def _numbers(path: str | Path) -> Numbers:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_size, changed_ns(status), status.st_dev, status.st_ino
