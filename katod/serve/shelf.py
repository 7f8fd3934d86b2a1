"""The sessions that are served: those that were recorded, by the ledger, or all that are on disk. Nothing is written.

What a session that is not recorded is about is read from its beginning when it is asked for, and kept in memory.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.agents.base import SPAWNED
from katod.discover.roots import Root
from katod.discover.sweep import sweep
from katod.formats.redact.redactor import redact
from katod.formats.stream import bridge
from katod.metadata import SessionMetadata
from katod.model import Identity, SessionKey, Stat, signed
from katod.record.peek import peek
from katod.serve.feed import ALL, Content, streamed
from katod.serve.known import File, Known
from katod.store.ledger import LEDGER_NAME, Ledger

SWEEP_EVERY: Final = 15.0  # seconds between two looks for files that nobody told of
_LOOK_EVERY: Final = 1.0
_LEDGER: Final = (LEDGER_NAME, f"{LEDGER_NAME}-wal")
Fields = dict[str, Any]
Signature = tuple[int, ...]


class Places(NamedTuple):
    """Where katod and the agents keep what is served."""

    state: Path
    roots: tuple[Root, ...]
    everything: bool = False  # also what was not recorded


def described(known: Known) -> SessionMetadata:
    """Return what a session is about, read from its beginning unless that is known."""
    if (metadata := known.metadata) is None:
        known.metadata = metadata = peek(known)[0]
    return metadata


class Shelf:
    """All sessions that are served, by their UUIDs. For the reading thread; `content` is for others, too."""

    def __init__(self, places: Places, *, redact: bool) -> None:
        self._places = places
        self._redact = redact
        self._known: dict[str, Known] = {}
        self._names: dict[str, str] = {}  # of the session of each file, by path; empty if that is not served
        self._begun: frozenset[str] = frozenset()
        self._ledger: Signature | None = None
        self._looked = self._swept = -SWEEP_EVERY

    def all(self) -> dict[str, Known]:
        """Return what there is, not older than a second. Raises LedgerError."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self._look(now)
        return self._known

    def look_again(self) -> None:
        """Have the next one who asks see what the ledger has now."""
        self._looked = -_LOOK_EVERY

    def find(self, name: str) -> Known | None:
        """Return the session with this UUID, None if there is none. Raises LedgerError."""
        return self.all().get(bridge.folded(name))

    def is_recording(self, known: Known) -> bool:
        """Return whether a session is being recorded; its first transcript may have no name yet."""
        return known.is_open or known.name in self._begun

    def newest(self, project: str) -> Known | None:
        """Return the session of a project that changed last, None if it has none. Raises LedgerError."""
        newest_first = sorted(self.all().values(), key=lambda known: -known.changed_ns)
        main = (known for known in newest_first if not known.key.subagent)
        return next((known for known in main if self.about(known)["projectPath"] == project), None)

    def content(self, name: str) -> Content:
        """Return where a session that is known is now. Raises KeyError."""
        known = self._known[name]
        files = known.files
        return Content(known.key, tuple((path, identity) for path, identity, _ in files), known.size, self._redact)

    def about(self, known: Known) -> Fields:
        """Return the description of a session for clients."""
        row = bridge.about_session(known.key, described(known), known.count, redact if self._redact else str)
        return row | ({"lastActivityAt": _utc(known.changed_ns)} if known.changed_ns else {})

    def brief(self, known: Known) -> Fields:
        """Return by what sessions are chosen and sorted: some fields of their description, which take little time."""
        if not known.changed_ns or not (began := known.beginning()):
            return self.about(known)  # it is read from its beginning, once
        key, cwd = known.key, began.get("cwd", "")
        parent = key.id if key.subagent else began.get("parent", "")
        row = {
            "id": known.name, "projectPath": _redacted(cwd) if self._redact else cwd,
            "source": "agent" if key.subagent or began.get("origin", "") == SPAWNED else "user",
            "lastActivityAt": _utc(known.changed_ns),
        }  # fmt: skip
        return row | ({"parentSessionId": bridge.session_uuid(SessionKey(key.agent, parent))} if parent else {})

    def briefs(self) -> Iterator[Fields]:
        """Yield in brief what all sessions are. Raises LedgerError."""
        for known in list(self.all().values()):
            yield self.brief(known)

    def latest(self) -> Iterator[Fields]:
        """Yield the ids of all sessions, and when each changed; none has to be read for that. Raises LedgerError."""
        for known in list(self.all().values()):
            dated = known.changed_ns > 0
            yield {"id": known.name, "lastActivityAt": _utc(known.changed_ns)} if dated else self.brief(known)

    def counted(self, known: Known) -> Iterator[Fields | None]:
        """Yield what a session is, its messages counted, and before that None now and then."""
        before = known.stats
        if known.counted != before:
            count = 0
            for _ in streamed(self.content(known.name), ALL):
                count += 1
                yield None
            known.count, known.counted = count, before
        yield self.about(known)

    def take_up(self, paths: Iterable[str]) -> set[str]:
        """Note files that have changed; return the UUIDs of their sessions."""
        return {name for path in paths if (name := self._changed(path))}

    # -- looking ------------------------------------------------------------------------------------------

    def _changed(self, path: str) -> str:
        root = next((root for root in self._places.roots if path.startswith(root.prefix)), None)
        identity = root.spec.identify(Path(path)) if root is not None else None
        if identity is None:
            return ""
        name = bridge.session_uuid(identity.key)
        known = self._known.get(name)
        if known is None and self._places.everything:
            known = self._known[name] = Known(identity.key)
            known.sweep = self._swept
        if known is None:
            return ""
        if (stat := stat_of(path, identity)) is not None:
            self._names[path] = name
            known.take([(path, identity, stat)])
        return name

    def _look(self, now: float) -> None:
        signature = tuple(number for name in _LEDGER for number in _numbers(self._places.state / name))
        is_due = now - self._swept >= SWEEP_EVERY
        if signature == self._ledger and not is_due:
            return
        known = dict(self._known)
        if signature != self._ledger:
            known = self._with_recorded(known)
            self._ledger = signature
        if is_due:
            self._swept = now
            known = self._with_swept(known)
        self._known = known

    def _with_recorded(self, known: dict[str, Known]) -> dict[str, Known]:
        """Return what is known, and of recorded sessions those of which the ledger has a transcript now.

        Raises LedgerError.
        """
        recorded, new = set[str](), dict[int, Known]()
        self._begun = frozenset()
        if (ledger := Ledger.read(self._places.state)) is not None:
            with closing(ledger):
                recorded, self._begun = _compare(ledger, known, new)
                _read(ledger, new)
        if new:  # look at the files again that were nobody's
            self._names = {path: name for path, name in self._names.items() if name}
            self._names |= {path: one.name for one in new.values() for path in one.paths}
        return {name: one for name, one in known.items() if not one.number or name in recorded}

    def _with_swept(self, known: dict[str, Known]) -> dict[str, Known]:
        """Return what is known, with the files that are on disk, and of other sessions those that have one."""
        new: dict[str, list[File]] = {}
        for root in self._places.roots:
            for path, stat in sweep(root, {}):
                name = self._names.get(path)
                one = known.get(name) if name else None
                if one is not None and one.renew(path, stat):
                    one.sweep = self._swept
                elif name != "":
                    self._meet(root, path, stat, known, new)
        for name, files in new.items():
            one = known.setdefault(name, Known(files[0][1].key))
            one.take(sorted(files, key=lambda file: (file[2].mtime_ns, file[0])))
            one.sweep = self._swept
        return {name: one for name, one in known.items() if one.number or one.sweep == self._swept}

    def _meet(self, root: Root, path: str, stat: Stat, known: dict[str, Known], new: dict[str, list[File]]) -> None:
        """Find out whose a file is, and add it to what is new if its session is served."""
        identity = root.spec.identify(Path(path))
        name = bridge.session_uuid(identity.key) if identity is not None else ""
        is_served = name in known or self._places.everything
        self._names[path] = name if is_served else ""
        if identity is not None and is_served:
            new.setdefault(name, []).append((path, identity, stat))


def _compare(ledger: Ledger, known: dict[str, Known], new: dict[int, Known]) -> tuple[set[str], frozenset[str]]:
    """Return which sessions are recorded; put those that were not among them into what is known, and what is new.

    Return the UUIDs of those whose recording waits for the words that name it, too. Raises LedgerError.
    """
    before, recorded, begun = {one.number: name for name, one in known.items() if one.number}, set[str](), set[str]()
    for number, key, is_open, is_named in ledger.recorded_sessions():
        if not is_named:
            begun |= {bridge.session_uuid(key)} if is_open else set()
            continue
        name = before.get(number, "")
        if not name or known[name].key != key:
            name = bridge.session_uuid(key)
            new[number] = known[name] = Known(key, number)
        known[name].is_open = is_open
        recorded.add(name)
    return recorded, frozenset(begun)


def _read(ledger: Ledger, new: dict[int, Known]) -> None:
    """Read what the ledger knows of sessions, by their numbers there. Raises LedgerError."""
    if not new:
        return
    first, last = min(new), max(new)
    for number, metadata, count in ledger.recorded_metadata(first, last):
        if (known := new.get(number)) is not None:
            known.count = count
            known.note(metadata)
    files: dict[int, list[File]] = {number: [] for number in new}
    for number, path, identity, seen in ledger.recorded_files(first, last):
        if number in new:
            files[number].append((path, identity, stat_of(path, identity) or seen))
    for number, known in new.items():
        known.files = files.pop(number)


def stat_of(path: str, identity: Identity) -> Stat | None:
    """Return what a file is now, None if it does not exist or is a part of a database."""
    numbers = () if AGENTS[identity.key.agent].is_contained(path) else _numbers(path)
    return Stat(*map(signed, numbers)) if numbers else None


def _numbers(path: str | Path) -> Signature:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino


@lru_cache(maxsize=1024)  # there are many sessions, but few projects
def _redacted(cwd: str) -> str:
    return redact(cwd)


def _utc(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
