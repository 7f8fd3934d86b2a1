"""All known sources, and what a sweep finds out about them: new, changed, moved, gone.

Also decides where the history of a new source ends (its baseline): commands in anything older are ignored.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from katod.agents.spec import AgentSpec
from katod.discover.folders import FolderLook, Folders
from katod.discover.roots import Root, stat_source, sweep, sweep_folder
from katod.discover.source import Source
from katod.errors import INTERNAL, failure_of
from katod.log import EventLog
from katod.model import START, Cursor, Identity, SessionKey, Stat
from katod.store.collections import ForgottenSource
from katod.store.ledger import Ledger
from katod.store.rows import NearMissRow, RootRow, SourceRow, TombstoneRow

# File times come from a coarser clock than `time.time_ns`: a file created just after a sweep began may look older.
_CLOCK_SLACK_NS: Final = 20_000_000
_BY_THE_CLOCK_NS: Final = 1_000_000_000


class Coverage:
    """When each root was last swept completely, and each place inside it that was unreadable at some time."""

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self._ledger = ledger
        self._log = log
        self._times = ledger.roots()  # keys for places in a root: `<folder>/`, `<database>#`; 0 means never
        self._problems: dict[Path, dict[str, str]] = {}

    def note(self, root: Root, problems: dict[str, str], began: int) -> tuple[str, ...]:
        """Record a sweep of a root that started at `began` (ns), and the places it could not read; return those."""
        for path, problem in problems.items():
            if self._problems.get(root.path, {}).get(path) != problem:
                self._log.root_unreadable(str(root.path), problem)
        self._problems[root.path] = problems
        closed = tuple(f"{path}#" if root.spec.is_container(path) else f"{path}/" for path in problems)
        known = self._times.get(str(root.path), 0)
        for place in closed:  # what is written there in the meantime is new once it can be read again
            self._save(root, place, self._times.get(place, known))
        for place in (str(root.path), *self._inside(root)):
            if place not in closed:
                self._save(root, place, began)
        return closed

    def _inside(self, root: Root) -> list[str]:
        """Return the places in a root that were unreadable at some time, without those of other roots within it."""
        others = {path for at, found in self._problems.items() if found and at != root.path for path in found}
        places = [place for place in self._times if place[-1] in "#/" and place.startswith(root.prefix)]
        return [place for place in places if place[:-1] not in others]

    def at(self, root: Root, path: str) -> int:
        """Return when katod last saw everything in the place where a path is now (ns), 0 if it never did."""
        closed = [at for place, at in self._times.items() if place[-1] in "#/" and path.startswith(place)]
        return min(closed, default=self._times.get(str(root.path), 0))

    def _save(self, root: Root, place: str, swept_ns: int) -> None:
        self._times[place] = swept_ns
        self._ledger.save_root(RootRow(place, root.agent, swept_ns))


class Catalog:
    """The sources in memory, by id, path, identity and session."""

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self._ledger = ledger
        self._log = log
        self._coverage = Coverage(ledger, log)
        self._folders: dict[tuple[str, str], Folders] = {}  # by the root: agent and prefix
        self.sources: dict[int, Source] = {}
        self._by_path: dict[str, Source] = {}
        self._by_identity: dict[Identity, Source] = {}
        self._by_session: dict[int, list[Source]] = {}
        self._unsaved: set[Source] = set()
        for row in ledger.sources():
            self._keep(Source(row))

    def _keep(self, source: Source) -> Source:
        self.sources[source.id] = self._by_path[source.path] = self._by_identity[source.identity] = source
        self._by_session.setdefault(source.session, []).append(source)
        return source

    def of_session(self, session_id: int) -> list[Source]:
        """Return the sources of a session, oldest first."""
        return list(self._by_session.get(session_id, ()))

    @property
    def newest(self) -> int:
        """The id of the source that was found last, 0 if there is none."""
        return next(reversed(self.sources), 0)

    def unread(self) -> list[Source]:
        """Return the sources that were seen but not read, or not to the end, when katod exited."""
        sources = (source for source in self.sources.values() if not source.gone)
        return [s for s in sources if s.baseline is None or s.problem or s.cursor.offset < s.seen.size]

    # -- what was forgotten ---------------------------------------------------------------------------

    def make_tombstones(self, rests: Iterable[tuple[Source, ForgottenSource]]) -> list[TombstoneRow]:
        """Return tombstones of sources whose sessions are about to be forgotten."""
        now = time.time_ns()
        return [self._ledger.tombstones.make(source.row, rest, now) for source, rest in rests]

    def was_forgotten(self, said: str) -> bool:
        """Return whether this was said in a session that was forgotten."""
        mark = self._ledger.tombstones.mark(said)
        return bool(mark) and self._ledger.is_applied(mark)

    def has_forgotten(self, key: SessionKey) -> bool:
        """Return whether a session was forgotten."""
        return self._ledger.tombstones.of_session(key) is not None

    def forget(self, sources: Iterable[Source], tombstones: Iterable[TombstoneRow]) -> None:
        """Forget sources that the ledger no longer has."""
        for source in list(sources):
            self._unsaved.discard(source)
            self._by_session.pop(source.session, None)
            self.sources.pop(source.id, None)
            self._by_path.pop(source.path, None)
            if self._by_identity.get(source.identity) is source:  # a copy of its file has the same
                del self._by_identity[source.identity]
        for row in tombstones:
            self._ledger.tombstones.add(row)

    # -- what is newer in memory than in the ledger ---------------------------------------------------

    def changed(self, source: Source) -> None:
        """Mark a source to be stored at the next flush."""
        self._unsaved.add(source)

    def note_problem(self, source: Source, problem: str) -> None:
        """Remember why a source cannot be read; an empty problem clears it."""
        if source.set_problem(problem):
            self.changed(source)
            if problem:
                self._log.source_unreadable(str(source.identity.key), problem)

    def note_failed(self, session_id: int, error: Exception) -> None:
        """Remember that katod failed at a session."""
        for source in self.of_session(session_id):
            self.note_problem(source, failure_of(error))

    def clear_failed(self, sources: Iterable[Source]) -> None:
        """Forget that katod failed at these, as it is trying once more."""
        for source in sources:
            if source.problem.startswith(INTERNAL):
                self.note_problem(source, "")

    def note_failures(self, failures: Mapping[str, str]) -> None:
        """Remember what katod failed at besides reading a source, by its path."""
        for path, problem in failures.items():
            if (source := self._by_path.get(path)) is not None:
                self.note_problem(source, problem)

    @property
    def unsaved(self) -> bool:
        """Whether `flush` has anything to store."""
        return bool(self._unsaved)

    def saved(self, sources: list[Source]) -> None:
        """Note that a step's transaction stores these sources, and store their near misses with it."""
        self._unsaved.difference_update(sources)
        self._save_near_misses(sources)

    def flush(self) -> None:
        """Store the changed sources."""
        if self._unsaved:
            with self._ledger.transaction():
                for source in self._unsaved:
                    self._ledger.save_source(source.stored)
                self._save_near_misses(self._unsaved)
            self._unsaved.clear()

    def _save_near_misses(self, sources: Iterable[Source]) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        taken = [(source.identity.key, miss) for source in sources for miss in source.take_near_misses()]
        if taken:
            self._ledger.add_near_misses(NearMissRow(0, key, now, miss.kind, miss.word) for key, miss in taken)
            self._ledger.add_applied(miss.message for _, miss in taken if miss.message)

    # -- what the disk holds now ----------------------------------------------------------------------

    def sweep(self, roots: Iterable[Root], *, deep: bool = True) -> list[Source]:
        """Check the session files of these roots; return the new and changed ones, oldest change first.

        Only a deep sweep checks those in folders in which nothing changed for a day.
        """
        changed: list[Source] = []
        known = cache(self._by_agent)  # only if something may have vanished
        try:
            with self._ledger.transaction():
                for root in roots:
                    changed += self._sweep_root(root, known, deep=deep)
        except BaseException:
            self._folders.clear()  # what was found is not stored: it has to be found again
            raise
        return sorted(changed, key=lambda source: (source.seen.mtime_ns, source.id))

    def sweep_folders(self, folders: Iterable[tuple[Root, str]]) -> list[Source]:
        """Check the files in single folders (the recently active ones); return the new and changed ones."""
        changed: list[Source] = []
        for root, folder in folders:
            for path, seen in sweep_folder(root.spec, folder, {}, deep=False):
                if path.startswith(root.prefix):
                    changed += self._notice_now(root, path, seen)
        return changed

    def expect(self, roots: Iterable[Root], path: str, size: int) -> bool:
        """Commit that a file which is about to appear has history alone, of so many bytes; return whether it may."""
        root = next((root for root in roots if path.startswith(root.prefix)), None)
        identity = root.spec.identify(Path(path)) if root else None
        if identity is None or os.path.lexists(path):
            return False
        with self._ledger.transaction():
            if (source := self._by_path.get(path)) is None:
                row = SourceRow(0, self._session_of(identity.key), path, identity, Stat(0, 0, 0, 0))
                source = self._keep(Source(self._ledger.add_source(row)))
            source.expect(size, time.time_ns())
            self._ledger.save_source(source.stored)
        return True

    def hint(self, root: Root, path: str) -> list[Source]:
        """Check one path that the watcher reported; return the sources to be stepped."""
        container = root.spec.container
        if container is not None and path.endswith(container.suffixes):
            return self.sweep_folders([(root, os.path.dirname(path))])
        found = stat_source(root.spec, path)
        if found is None:
            return []
        known = self._by_path.get(path)
        return self._notice_now(root, path, found[1]) or ([known] if known is not None and known.problem else [])

    def _notice_now(self, root: Root, path: str, seen: Stat) -> list[Source]:
        """Notice one file outside of a full sweep, which is one transaction; a known file needs none."""
        if path in self._by_path:
            return self._notice(root, path, seen)
        with self._ledger.transaction():
            return self._notice(root, path, seen)

    def _folders_of(self, root: Root) -> Folders:
        return self._folders.setdefault((root.agent, root.prefix), Folders())

    def _by_agent(self) -> dict[str, list[Source]]:
        known: dict[str, list[Source]] = {}
        for source in self._by_path.values():
            known.setdefault(source.identity.key.agent, []).append(source)
        return known

    def _sweep_root(self, root: Root, known: Callable[[], dict[str, list[Source]]], *, deep: bool) -> list[Source]:
        """Check the files of a root, of whose agent these sources are known; roots may be in others."""
        began = time.time_ns() - _CLOCK_SLACK_NS
        problems: dict[str, str] = {}
        is_there = root.is_there
        look = self._folders_of(root).look(deep=deep or root.spec.changes_elsewhere, there=is_there)
        new, there = self._compared(sweep(root, problems, look))
        new.sort(key=lambda item: (item[1].mtime_ns, item[0]))
        changed = [source for path, seen in new for source in self._notice(root, path, seen)]
        closed = self._coverage.note(root, problems, began)
        if look.has_changed or (root.spec.container is not None and is_there):
            there |= {source.id for path, _ in new if (source := self._by_path.get(path)) is not None}
            self._note_vanished([one for one in known().get(root.agent, ()) if one.id not in there], root, closed, look)
        return changed

    def _compared(self, found: Iterable[tuple[str, Stat]]) -> tuple[list[tuple[str, Stat]], set[int]]:
        """Return which files are new or changed, and the ids of the known sources that are there: nearly all."""
        new, there = list[tuple[str, Stat]](), set[int]()
        for path, seen in found:
            source = self._by_path.get(path)
            if source is not None:
                there.add(source.id)
            if source is None or not source.is_as(seen):
                new.append((path, seen))
        return new, there

    def _note_vanished(self, missing: list[Source], root: Root, closed: tuple[str, ...], look: FolderLook) -> None:
        """Note which of the sources that were not found are gone: their place was looked at."""
        for source in missing:
            path = source.path
            if path.startswith(root.prefix) and not (source.gone or path.startswith(closed) or look.has_passed(path)):
                source.vanished()
                self._log.source_vanished(str(source.identity.key))

    def _notice(self, root: Root, path: str, seen: Stat) -> list[Source]:
        source = self._by_path.get(path)
        if source is None:
            identity = root.spec.identify(Path(path))
            if identity is None:
                return []
            source = self._moved(path, identity)
            if source is None:
                if self._is_as_forgotten(path, identity, seen):
                    return []
                source = self._add(root, path, identity, seen)
                return [] if source.history == seen.size and root.spec.is_contained(path) else [source]
        if not source.was_seen(seen):
            return []
        self._folders_of(root).forget(os.path.dirname(path))
        return [source]

    def _moved(self, path: str, identity: Identity) -> Source | None:
        """Return the source that this file was under another path (archived, restored), None if it is new."""
        source = self._by_identity.get(identity)
        if source is None or stat_source(source.spec, source.path) is not None:
            return None
        del self._by_path[source.path]
        source.moved_to(path)
        self._by_path[path] = source
        self._ledger.save_source(source.stored)
        return source

    def _is_as_forgotten(self, path: str, identity: Identity, seen: Stat) -> bool:
        """Return whether a file is that of a forgotten session and unchanged since: then it stays forgotten."""
        tombstones = self._ledger.tombstones
        row = tombstones.of_source(path, identity)
        if row is None or tombstones.is_reopened(row):
            return False
        return row.seen[:2] == seen[:2]  # inodes differ after a move, and vary in databases

    def _session_of(self, key: SessionKey) -> int:
        """Return the session, which is created if it is new; one that was forgotten is never auto-recorded."""
        session = self._ledger.find_session(key)
        if session is None:
            session = self._ledger.add_session(key)
            if self.has_forgotten(key):
                self._ledger.save_session(session._replace(auto="off"))
        return session.id

    def _add(self, root: Root, path: str, identity: Identity, seen: Stat) -> Source:
        row = self._new(root, path, identity, seen)
        buried = self._ledger.tombstones.of_source(path, identity)
        if buried is not None:
            row = row._replace(
                history=buried.history, baseline=buried.baseline, cursor=buried.cursor, read_ns=buried.read_ns,
                since_ns=0,
            )  # fmt: skip
        forgotten = self._ledger.tombstones.of_session(identity.key)
        if forgotten is not None and not (buried is not None and _has_grown(root.spec, row, buried.seen)):
            row = _passed_over(root.spec, row, forgotten.forgotten_ns)
        row = self._ledger.add_source(row)
        self._log.source_found(str(identity.key), row.history)
        return self._keep(Source(row))

    def _new(self, root: Root, path: str, identity: Identity, seen: Stat) -> SourceRow:
        swept = self._coverage.at(root, path)
        history = seen.size if _is_older(root.spec, path, seen, swept) else 0
        row = SourceRow(
            0, self._session_of(identity.key), path, identity, seen, history, since_ns=0 if history else swept
        )
        if history and root.spec.is_contained(path):  # its rows are dated, so it need not be opened to be known
            return row._replace(baseline=0, cursor=Cursor(seen.size), after_ns=seen.mtime_ns)
        return row if history else row._replace(baseline=0)


def _has_grown(spec: AgentSpec, row: SourceRow, before: Stat) -> bool:
    """Return whether a file may be what it was with more at its end; the anchor of its cursor says so for sure."""
    same = row.seen.ino == before.ino or spec.is_contained(row.path)
    return same and row.seen.size >= before.size


def _passed_over(spec: AgentSpec, row: SourceRow, forgotten_ns: int) -> SourceRow:
    """Take for history what was typed before its session was forgotten: the file was restored, or is another one."""
    if spec.nature.has_times:
        return row._replace(after_ns=forgotten_ns)
    if row.baseline == 0 and row.cursor == START:  # a file that was not there: all of it may be old
        return row._replace(history=row.seen.size, baseline=None)
    return row


def _is_older(spec: AgentSpec, path: str, seen: Stat, swept: int) -> bool:
    """Return whether a new file's content predates katod's last look: restored, synced, or never swept.

    After the clock was set back, a new file has an old time. While the clock is behind the last sweep, a file therefore
    counts as old only if its time was set by a program, as a copy does.
    """
    if not swept:
        return True
    if seen.mtime_ns >= swept:
        return False
    return time.time_ns() >= swept or not _is_by_the_clock(spec, path)


def _is_by_the_clock(spec: AgentSpec, path: str) -> bool:
    """Return whether a file's modification time is that of its last change, which no program can set."""
    if spec.is_contained(path):
        return True
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return abs(status.st_ctime_ns - status.st_mtime_ns) < _BY_THE_CLOCK_NS
