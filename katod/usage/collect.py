"""Reads the usage of all sessions, or takes what is known of it: only what is new in a session file is read."""

from collections.abc import Callable, Container, Iterable
from contextlib import suppress
from functools import partial
from io import BufferedReader
from typing import Final, NamedTuple

import orjson

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.errors import OutputError, SourceChanged, SourceError
from katod.model import START, Cursor, Identity, SessionKey, Stat
from katod.store.keyedhash import KeyedHash
from katod.store.usagecache import UsageCache, UsageSourceRow
from katod.usage.cells import cells_of
from katod.usage.counting import CountedSource
from katod.usage.packed import pack_usage, unpack_cells, unpack_keys, unpack_usage
from katod.usage.reading import SourceHead, UsageReader, exported_head, read_head
from katod.usage.source import SourceUsage

_UNCOUNTABLE: Final = (ValueError, TypeError, OverflowError)  # whatever the numbers in a source are
_MOST: Final = 4  # sources of a project that are opened for its name


# What is kept of a source, and its packed answers.
Reading = tuple[UsageSourceRow, bytes]
Forgotten = Callable[[Iterable[SessionKey]], Container[SessionKey]]
Opens = Callable[[], BufferedReader]


class SourceFound(NamedTuple):
    """One source of a session as a sweep found it."""

    path: str
    identity: Identity
    stat: Stat
    exported: Opens | None = None  # what opens its events, of a session that another machine shares

    @property
    def key(self) -> SessionKey:
        """Its session."""
        return self.identity.key


class UsageCollector:
    """Collects the usage of sources. What could not be read is noted in `problems`.

    `forgotten` returns which of some sessions were forgotten: nothing of them is kept.
    """

    def __init__(self, zone: str, cache: UsageCache | None, forgotten: Forgotten) -> None:
        self.problems: dict[str, str] = {}
        self.hashes = cache.hashes if cache is not None else KeyedHash.random()
        self._cache = cache
        self._known = cache.sources() if cache is not None else {}
        self._forgotten = forgotten
        self._reader = UsageReader(zone, self.hashes.number)
        self._rows: list[tuple[SourceFound, UsageSourceRow]] = []
        self._projects: dict[bytes, list[SourceFound]] = {}
        self._new: dict[bytes, Reading] = {}  # what was read now

    def collect(self, sessions: Iterable[FoundSession], *, everything: bool) -> list[CountedSource]:
        """Return the sources of these sessions, as `take`, `keep` and `counted` do."""
        for session in sessions:
            self.take(session)
        self.keep(everything=everything)
        return self.counted()

    def take(self, session: FoundSession, ahead: list[Reading] | None = None) -> None:
        """Read what is new in a session, unless it was read ahead."""
        for reading in ahead or ():
            path = reading[0].path
            self._known[path], self._new[path] = reading[0], reading
        for found in session.files:
            source = SourceFound(*found, session.exported)
            if (row := self._row(source)) is not None:
                self._rows.append((source, row))

    def take_gone(self, key: SessionKey, path: str) -> None:
        """Take what is known of a source that is gone; nothing if that is not kept."""
        row = self._known.get(self.hashes.of(path))
        if row is not None:
            self._rows.append((SourceFound(path, Identity(key), row.seen), row))

    def is_new(self, session: FoundSession) -> bool:
        """Return whether nothing is known of a session, so that it can be read ahead."""
        return not any(self.hashes.of(path) in self._known for path, _, _ in session.files)

    def read_ahead(self, session: FoundSession) -> list[Reading]:
        """Read what can be read of a new session, in another process; what cannot is read once more by the first."""
        found = list[Reading]()
        for file in session.files:
            source = SourceFound(*file, session.exported)
            with suppress(SourceError, OutputError, *_UNCOUNTABLE):
                path = self.hashes.of(source.path)
                found.append(_packed(*self._from_start(path, source)))
        return found

    def keep(self, *, everything: bool) -> None:
        """Keep what is new in the sessions so far. If they are `everything`, what is known of others is dropped."""
        if self._cache is not None:
            self._store(self._cache, self._rows, everything=everything)

    def counted(self) -> list[CountedSource]:
        """Return the sources of all sessions."""
        return [self._counted(source, row) for source, row in self._rows]

    def _store(self, cache: UsageCache, rows: list[tuple[SourceFound, UsageSourceRow]], *, everything: bool) -> None:
        """Keep what is new; drop what is known of sources that are gone, and of forgotten sessions."""
        found, lost = {row.path for _, row in rows}, self._lost(rows)
        gone = self._known.keys() - (found - lost) if everything else self._known.keys() & lost
        new = [read for path, read in self._new.items() if path not in lost]
        if new or gone:
            cache.save(new, gone, partial(self._lost, rows))  # one may be forgotten before they are saved

    def _lost(self, rows: Iterable[tuple[SourceFound, UsageSourceRow]]) -> set[bytes]:
        """Return the sources of sessions that are forgotten by now."""
        forgotten = self._forgotten({source.key for source, _ in rows})
        return {row.path for source, row in rows if source.key in forgotten}

    def names(self) -> dict[SessionKey, bytes]:
        """Return the hash by which each session is counted, and each sub-agent, which has that of its session."""
        return {source.key: row.named or row.session for source, row in self._rows}

    def project(self, project: bytes) -> str:
        """Return the directory of a project, read from one of its sessions; empty if it is unknown."""
        for source in self._projects.get(project, [])[:_MOST] if project else ():
            with suppress(SourceError, OutputError):
                name = self._head(source).project
                if self.hashes.of(name) == project:
                    return name
        return ""

    def _head(self, source: SourceFound) -> SourceHead:
        """Return what the beginning of a source says of its session. Raises SourceError or OutputError."""
        if source.exported is not None:
            with source.exported() as lines:
                return exported_head(lines, source.identity)
        return read_head(source.path, source.identity)

    def _row(self, source: SourceFound) -> UsageSourceRow | None:
        """Return what is known of a source, after reading what is new in it; None if it cannot be read."""
        path = self.hashes.of(source.path)
        known = self._known.get(path)
        if known is None or known.seen != source.stat:
            try:
                known = self._read(path, source, known)
            except (SourceError, OutputError) as error:
                self.problems[source.path] = error.what
                return None
            except _UNCOUNTABLE:
                self.problems[source.path] = "has numbers that cannot be counted"
                return None
        if known.project:
            self._projects.setdefault(known.project, []).append(source)
        return known

    def _read(self, path: bytes, source: SourceFound, known: UsageSourceRow | None) -> UsageSourceRow:
        row, answers = _packed(*(self._resumed(source, known) or self._from_start(path, source)))
        self._new[path] = row, answers
        return row

    def _from_start(self, path: bytes, source: SourceFound) -> tuple[UsageSourceRow, SourceUsage]:
        usage = SourceUsage()
        head, cursor = self._whole(source, usage)
        session = self.hashes.session(source.key.agent, source.key.id)
        row = UsageSourceRow(path, session, b"", source.stat, cursor, b"", b"", False, b"", b"", b"")
        return self._headed(row, source, head), usage

    def _headed(self, row: UsageSourceRow, source: SourceFound, head: SourceHead) -> UsageSourceRow:
        """Return a row with what the beginning of its source says."""
        named, parent = (self.hashes.session(source.key.agent, name) for name in (head.session, head.parent))
        return row._replace(named=named, project=self.hashes.of(head.project), parent=parent, spawned=head.is_spawned)

    def _resumed(self, source: SourceFound, known: UsageSourceRow | None) -> tuple[UsageSourceRow, SourceUsage] | None:
        """Read only what was appended to a source; None if that is not possible."""
        if known is None or source.exported or not known.cursor.offset or known.seen.size > source.stat.size:
            return None
        if not AGENTS[source.key.agent].answers.usage_stands_alone:
            return None
        try:
            usage = self._detail(source)
            head, cursor = self._reader.read(source.path, source.identity, source.stat.mtime_ns, usage, known.cursor)
        except (*_UNCOUNTABLE, SourceChanged):
            return None
        is_headed = known.project or known.named or known.parent  # nothing may have said it before the first answer
        row = known if is_headed else self._headed(known, source, head)
        return row._replace(seen=source.stat, cursor=cursor), usage

    def _detail(self, source: SourceFound) -> SourceUsage:
        """Return the answers of a source as they were read. Raises ValueError if they are not known."""
        path = self.hashes.of(source.path)
        _, packed = self._new.get(path, (None, b""))
        if not packed and self._cache is not None:
            packed = self._cache.answers(path) or b""
        return unpack_usage(packed)

    def _detail_or_read(self, source: SourceFound) -> SourceUsage:
        """Return the answers of a source, read once more if they are not known."""
        try:
            return self._detail(source)
        except ValueError:
            usage = SourceUsage()
            with suppress(SourceError, OutputError, *_UNCOUNTABLE):
                self._whole(source, usage)
            return usage

    def _whole(self, source: SourceFound, usage: SourceUsage) -> tuple[SourceHead, Cursor]:
        """Read all of a source. Raises SourceError; OutputError for one of another machine."""
        if source.exported is not None:
            with source.exported() as lines:
                return self._reader.read_exported(lines, source.identity, source.stat.mtime_ns, usage), START
        return self._reader.read(source.path, source.identity, source.stat.mtime_ns, usage)

    def _counted(self, source: SourceFound, row: UsageSourceRow) -> CountedSource:
        costs, marked_day = orjson.loads(row.costs)
        return CountedSource(
            source.key.agent, row.named or row.session, row.project, row.parent, bool(source.key.subagent), row.spawned,
            row.seen.mtime_ns, row.path, unpack_keys(row.keys), unpack_cells(row.sums), costs, marked_day,
            partial(self._detail_or_read, source),
        )  # fmt: skip


def _packed(row: UsageSourceRow, usage: SourceUsage) -> Reading:
    """Return what is kept of a source with this usage."""
    packed = pack_usage(usage, cells_of(usage))
    costs = orjson.dumps([usage.mark.costs, usage.marked_day])
    return row._replace(keys=packed.keys, sums=packed.sums, costs=costs), packed.answers
