"""The sessions that are served: those that were recorded, by the ledger, or all that are on disk. Nothing is written.

What a session that is not recorded is about is read from its beginning when it is asked for, and kept in memory.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.discover.found import Found, find_sessions
from katod.discover.roots import Root
from katod.formats.redact.redactor import redact
from katod.formats.stream import bridge
from katod.metadata import SessionMetadata
from katod.model import Identity, SessionKey, Stat
from katod.record.peek import peek
from katod.serve.feed import ALL, Content, streamed
from katod.store.ledger import LEDGER_NAME, Ledger

SWEEP_EVERY: Final = 15.0  # seconds between two looks for files that nobody told of
_LOOK_EVERY: Final = 1.0
_LEDGER: Final = (LEDGER_NAME, f"{LEDGER_NAME}-wal")
Fields = dict[str, Any]
Files = dict[str, tuple[Identity, Stat]]
Signature = tuple[int, ...]


class Places(NamedTuple):
    """Where katod and the agents keep what is served."""

    state: Path
    roots: tuple[Root, ...]
    everything: bool = False  # also what was not recorded


@dataclass(slots=True, eq=False)
class Known:
    """One session, and what is known of it without reading it all."""

    key: SessionKey
    files: Files  # older ones first; replaced, never changed, as other threads read it
    number: int = 0  # in the ledger, if there is a transcript of it
    is_open: bool = False  # one is being written
    metadata: SessionMetadata | None = None  # None until somebody asks
    count: int = 0  # of its messages, as far as they were read; until then, of the events that the daemon has seen
    counted: dict[str, Stat] | None = None  # the files as they were when all messages were counted

    @property
    def name(self) -> str:
        """The UUID by which clients know it."""
        return bridge.session_uuid(self.key)

    @property
    def changed_ns(self) -> int:
        """When one of its files changed last (ns), 0 if none exists."""
        return max((stat.mtime_ns for _, stat in self.files.values()), default=0)

    @property
    def found(self) -> Found:
        """The session as commands find it."""
        found = Found(self.key)
        found.files = [(path, identity, stat) for path, (identity, stat) in self.files.items()]
        return found


class Shelf:
    """All sessions that are served, by their UUIDs. For the reading thread; `content` is for others, too."""

    def __init__(self, places: Places, *, redact: bool) -> None:
        self._places = places
        self._redact = redact
        self._known: dict[str, Known] = {}
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
        files = tuple((path, identity) for path, (identity, _) in known.files.items())
        return Content(known.key, files, known.found.size, self._redact)

    def about(self, known: Known) -> Fields:
        """Return the description of a session for clients."""
        if known.metadata is None:
            known.metadata = peek(known.found)[0]
        row = bridge.about_session(known.key, known.metadata, known.count, redact if self._redact else str)
        return row | ({"lastActivityAt": _utc(known.changed_ns)} if known.changed_ns else {})

    def rows(self) -> Iterator[Fields]:
        """Yield what all sessions are. Raises LedgerError."""
        return map(self.about, list(self.all().values()))

    def counted(self, known: Known) -> Iterator[Fields | None]:
        """Yield what a session is, its messages counted, and before that None now and then."""
        before = {path: stat for path, (_, stat) in known.files.items()}
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
            known = self._known[name] = Known(identity.key, {})
        if known is None:
            return ""
        known.files = known.files | _with_stat(path, identity)
        return name

    def _look(self, now: float) -> None:
        signature = tuple(number for name in _LEDGER for number in _numbers(self._places.state / name))
        is_due = now - self._swept >= SWEEP_EVERY
        if signature == self._ledger and not is_due:
            return
        found, others = _by_number(self._known)
        if signature != self._ledger:
            before = {known.number: known for known in found.values()}
            found, self._begun = _recorded(self._places.state, before)
            self._ledger = signature
        if is_due:
            self._swept = now
            self._sweep(found)
        self._known = found if is_due else others | found

    def _sweep(self, found: dict[str, Known]) -> None:
        """Add the files that are on disk to these sessions, and other sessions if they are served."""
        for key, session in find_sessions(self._places.roots, {}).items():
            name, files = bridge.session_uuid(key), {path: (identity, stat) for path, identity, stat in session.files}
            if name in found:
                found[name].files = found[name].files | files
            elif self._places.everything:
                known = found[name] = self._known.get(name) or Known(key, files)
                known.files = known.files | files


def _by_number(known: dict[str, Known]) -> tuple[dict[str, Known], dict[str, Known]]:
    """Return the sessions that the ledger has a transcript of, and the others."""
    recorded = {name: one for name, one in known.items() if one.number}
    return recorded, {name: one for name, one in known.items() if name not in recorded}


def _recorded(state: Path, before: dict[int, Known]) -> tuple[dict[str, Known], frozenset[str]]:
    """Return the sessions of which the ledger has a transcript, and read those that were not known before.

    Return the UUIDs of those whose recording waits for the words that name it, too. Raises LedgerError.
    """
    ledger = Ledger.read(state)
    if ledger is None:
        return {}, frozenset()
    found, begun = {}, set()
    with closing(ledger):
        for number, key, is_open, is_named in ledger.recorded_sessions():
            if not is_named:
                begun |= {bridge.session_uuid(key)} if is_open else set()
                continue
            known = before.get(number)
            if known is None or known.key != key:
                known = _from_ledger(ledger, number)
            known.is_open = is_open
            found[bridge.session_uuid(known.key)] = known
    return found, frozenset(begun)


def _from_ledger(ledger: Ledger, number: int) -> Known:
    row, files = ledger.session(number), Files()
    head = next(output.head["metadata"] for output in ledger.outputs(number) if output.held is None)
    for source in ledger.sources_of(number):
        if not source.gone:
            files |= _with_stat(source.path, source.identity) or {source.path: (source.identity, source.seen)}
    return Known(row.key, files, number, metadata=SessionMetadata(row.key, row.metadata or head), count=row.seq)


def _with_stat(path: str, identity: Identity) -> Files:
    """Return a file with its present stat, nothing if it does not exist or is a part of a database."""
    numbers = () if AGENTS[identity.key.agent].is_contained(path) else _numbers(Path(path))
    return {path: (identity, Stat(*numbers))} if numbers else {}


def _numbers(path: Path) -> Signature:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino


def _utc(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
