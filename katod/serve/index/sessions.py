"""The session index: those that were recorded, by the ledger, or all that are on disk. Nothing is written.

The metadata of a session that is not recorded is read from its beginning on demand, and kept in memory.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.agents.spec import SPAWNED
from katod.discover.roots import Root, sweep, sweep_folder
from katod.errors import SourceError
from katod.formats.redact.redactor import redact
from katod.formats.stream import bridge
from katod.formats.text.when import utc
from katod.metadata import SessionMetadata
from katod.model import SessionKey, Stat
from katod.record.beginning import name_at_end, name_beside, name_within, read_beginning
from katod.serve.index.entry import File, NotServed, Numbers, SessionContent, SessionEntry, numbers_of, stat_of
from katod.serve.index.ledger import LedgerSessions
from katod.states import is_over
from katod.store.rows import PersonalRow

SWEEP_EVERY: Final = 15.0  # seconds between two sweeps for files of which no hint came
_LOOK_EVERY: Final = 1.0
Fields = dict[str, Any]


class IndexScope(NamedTuple):
    """What is indexed: katod's state directory, and the roots of the agents."""

    state: Path
    roots: tuple[Root, ...]
    everything: bool = False  # also sessions that were not recorded


def described(entry: SessionEntry) -> SessionMetadata:
    """Return the metadata of a session, read from its beginning unless that is known.

    A session has no title until its first message: until then, it is read again whenever it has grown.
    """
    metadata = entry.metadata
    if metadata is None or (not metadata.best_title and entry.has_changed):
        metadata = read_beginning(entry)[0]
        entry.set_metadata(metadata.state())
    elif entry.has_changed and entry.paths:  # what its agent calls it may be known by now
        if name := name_beside(entry):
            metadata.set_named(name)
        entry.set_metadata(metadata.state())
    return metadata


def called(entry: SessionEntry) -> SessionMetadata:
    """Return the metadata of a session that is shown, with the name that its records give it."""
    metadata = described(entry)
    if entry.paths and entry.look_for_name():
        with suppress(SourceError), AGENTS[entry.key.agent].open(entry.paths[-1]) as file:
            if name := name_at_end(entry, file) or name_within(entry, file):
                metadata.set_named(name)
                entry.set_metadata(metadata.state())
    return metadata


def starter_of(entry: SessionEntry) -> str:
    """Return the UUID of the session whose agent started one, as far as that is known; empty if a person did."""
    key = entry.key
    if key.subagent:
        return bridge.session_uuid(key._replace(subagent=""))
    began = entry.beginning() if AGENTS[key.agent].names_parents else {}
    is_spawned = began.get("origin") == SPAWNED and began.get("parent")
    return bridge.session_uuid(SessionKey(key.agent, began["parent"])) if is_spawned else ""


class SessionIndex:
    """All sessions that are served, by their UUIDs. For the reading thread; `content` is for others, too."""

    def __init__(self, scope: IndexScope, *, redact: bool) -> None:
        self._scope = scope
        self._redact = redact
        self._entries: dict[str, SessionEntry] = {}
        self._names: dict[str, str] = {}  # the UUID of the session of each file, by path; empty if it is not served
        self._recorded = LedgerSessions(scope.state)
        self._databases: Numbers = ()
        self._looked = self._swept = -SWEEP_EVERY

    @property
    def serves_everything(self) -> bool:
        """Whether sessions that were not recorded are served, too."""
        return self._scope.everything

    def all(self) -> dict[str, SessionEntry]:
        """Return all sessions, as they were at most a second ago. Raises LedgerError."""
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self._look(now)
        return self._entries

    def look_again(self) -> None:
        """Have the next call of `all` read the ledger again."""
        self._looked = -_LOOK_EVERY

    def find(self, name: str) -> SessionEntry | None:
        """Return the session with this UUID, None if there is none. Raises LedgerError."""
        return self.all().get(bridge.folded(name))

    def main_of(self, entry: SessionEntry) -> SessionEntry:
        """Return the session of a person that a sub-agent belongs to, as far as it is there; any other session itself.

        Raises LedgerError.
        """
        main, seen = entry, {entry.name}
        while (above := self.find(starter_of(main))) is not None:
            if above.name in seen:  # in a circle, as only damaged files have it, none is above another
                return entry
            main = above
            seen.add(above.name)
        return main

    def started(self, agent: str) -> dict[str, list[SessionEntry]]:
        """Return the sessions that agents of a kind have started, by those that did. Raises LedgerError."""
        found: dict[str, list[SessionEntry]] = {}
        for entry in self.all().values():
            if entry.key.agent == agent and (name := starter_of(entry)):
                found.setdefault(name, []).append(entry)
        return found

    def is_recording(self, entry: SessionEntry) -> bool:
        """Return whether a session is being recorded; its first transcript may have no name yet."""
        return entry.is_open or self._recorded.is_begun(entry.name)

    def said(self, entry: SessionEntry) -> PersonalRow:
        """Return what the user says of a session."""
        return self._recorded.said(entry.key)

    def renew(self) -> None:
        """Stat the files of all sessions that may be active, as hints can be missing. Raises LedgerError."""
        now = time.time()
        for entry in self.all().values():
            if not is_over(entry.changed_ns / 1e9, now):
                entry.refresh()

    def newest(self, project: str) -> SessionEntry | None:
        """Return the session of a project that changed last. Raises LedgerError."""
        newest_first = sorted(self.all().values(), key=lambda entry: -entry.changed_ns)
        main = (entry for entry in newest_first if not entry.key.subagent)
        return next((entry for entry in main if self.brief(entry)["projectPath"] == project), None)

    def content(self, name: str) -> SessionContent:
        """Return the files of a session as the index has them. Raises NotServed."""
        entry = self._entries.get(name)
        if entry is None:
            raise NotServed
        files = entry.files
        return SessionContent(
            entry.key, tuple((path, identity) for path, identity, _ in files), entry.size, self._redact
        )

    def about(self, entry: SessionEntry) -> Fields:
        """Return the description of a session, as CodingBridge has it; it is called as in all lists."""
        metadata, say = called(entry), redact if self._redact else str
        row = bridge.about_session(entry.key, metadata, entry.count, say)
        title = say(self.said(entry).title or metadata.list_title)
        row |= {"title": title} if title else {}
        return row | ({"lastActivityAt": utc(entry.changed_ns / 1e9)} if entry.changed_ns else {})

    def brief(self, entry: SessionEntry) -> Fields:
        """Return some fields of the description, by which sessions are chosen and sorted: much faster."""
        # The beginning is read once. The name that an agent gives it may be anywhere in the file, and is not needed.
        if not entry.changed_ns or not (began := entry.beginning() or described(entry).state()):
            return self.about(entry)
        key = entry.key
        parent = key.id if key.subagent else began.get("parent", "")
        row = {
            "id": entry.name, "projectPath": self.project_of(entry),
            "source": "agent" if key.subagent or began.get("origin", "") == SPAWNED else "user",
            "lastActivityAt": utc(entry.changed_ns / 1e9),
        }  # fmt: skip
        return row | ({"parentSessionId": bridge.session_uuid(SessionKey(key.agent, parent))} if parent else {})

    def project_of(self, entry: SessionEntry) -> str:
        """Return the path of a session's project, as far as it is known: nothing is read for it."""
        cwd: str = entry.beginning().get("cwd", "")
        return _redacted(cwd) if self._redact else cwd

    def briefs(self) -> Iterator[Fields]:
        """Yield the brief descriptions of all sessions. Raises LedgerError."""
        for entry in list(self.all().values()):
            yield self.brief(entry)

    def latest(self) -> Iterator[Fields]:
        """Yield ids and times of change of all sessions, without reading any. Raises LedgerError."""
        for entry in list(self.all().values()):
            dated = entry.changed_ns > 0
            yield {"id": entry.name, "lastActivityAt": utc(entry.changed_ns / 1e9)} if dated else self.brief(entry)

    def take_up(self, paths: Iterable[str]) -> set[str]:
        """Note files that have changed. Returns the UUIDs of their sessions."""
        return {name for path in paths if (name := self._changed(path))}

    # -- looking ------------------------------------------------------------------------------------------

    def _changed(self, path: str) -> str:
        root = next((root for root in self._scope.roots if path.startswith(root.prefix)), None)
        identity = root.spec.identify(Path(path)) if root is not None else None
        if identity is None:
            return ""
        name = bridge.session_uuid(identity.key)
        entry = self._entries.get(name)
        if entry is None and self._is_served(identity.key):
            entry = self._entries[name] = SessionEntry(identity.key)
            entry.set_swept(self._swept)
        if entry is None:
            return ""
        if (stat := stat_of(path, identity)) is not None:
            self._names[path] = name
            entry.take([(path, identity, stat)])
        return name

    def _is_served(self, key: SessionKey) -> bool:
        """Return whether a session that was not recorded is served."""
        return self._scope.everything and not self._recorded.is_forgotten(key)

    def _look(self, now: float) -> None:
        entries = dict(self._entries)
        self._take_ledger(entries)
        databases = numbers_of(_databases_of(self._scope.roots))
        if now - self._swept >= SWEEP_EVERY:
            self._swept = now
            entries = self._with_swept(entries)
        elif databases != self._databases:
            self._take_in(entries, ((root, _contained(root)) for root in self._scope.roots))
        self._entries, self._databases = entries, databases

    def _take_ledger(self, entries: dict[str, SessionEntry]) -> None:
        """Update the sessions by the ledger; files of no session may be theirs. Raises LedgerError."""
        forgotten = self._recorded.forgotten
        if (new := self._recorded.take(entries)) is None:
            return
        if new or self._is_replaced(entries, forgotten):
            self._names = {path: name for path, name in self._names.items() if name}
            self._names |= {path: entry.name for entry in new for path in entry.paths}
        if self._is_replaced(entries, forgotten):
            self._swept = -SWEEP_EVERY  # at once: until then, sessions would be missing that have files

    def _is_replaced(self, entries: dict[str, SessionEntry], forgotten: frozenset[bytes]) -> bool:
        """Return whether the ledger no longer has what it had of sessions, as one that was put in its place."""
        is_other = any(entries.get(name) is not entry for name, entry in self._entries.items())
        return is_other or bool(forgotten - self._recorded.forgotten)

    def _with_swept(self, entries: dict[str, SessionEntry]) -> dict[str, SessionEntry]:
        """Return the sessions after a sweep: those that are recorded, and those that have a file."""
        self._take_in(entries, ((root, sweep(root, {})) for root in self._scope.roots))
        for entry in entries.values():
            entry.drop_gone()
        return {name: entry for name, entry in entries.items() if entry.number or entry.swept == self._swept}

    def _take_in(
        self, entries: dict[str, SessionEntry], swept: Iterable[tuple[Root, Iterable[tuple[str, Stat]]]]
    ) -> None:
        """Add the files that were found in each root to their sessions, and sessions that are new."""
        new: dict[str, list[File]] = {}
        for root, found in swept:
            for path, stat in found:
                name = self._names.get(path)
                entry = entries.get(name) if name else None
                if entry is not None and entry.renew(path, stat):
                    entry.set_swept(self._swept)
                elif name != "":
                    self._identify(root, path, stat, entries, new)
        for name, files in new.items():
            entry = entries.setdefault(name, SessionEntry(files[0][1].key))
            entry.take(sorted(files, key=lambda file: (file[2].mtime_ns, file[0])))
            entry.set_swept(self._swept)

    def _identify(
        self, root: Root, path: str, stat: Stat, entries: dict[str, SessionEntry], new: dict[str, list[File]]
    ) -> None:
        """Identify a file, and add it to `new` if its session is served."""
        identity = root.spec.identify(Path(path))
        name = bridge.session_uuid(identity.key) if identity is not None else ""
        is_served = identity is not None and (name in entries or self._is_served(identity.key))
        self._names[path] = name if is_served else ""
        if identity is not None and is_served:
            new.setdefault(name, []).append((path, identity, stat))


def _contained(root: Root) -> Iterator[tuple[str, Stat]]:
    """Yield the sessions in the databases of a root."""
    if root.spec.container is not None:
        found = sweep_folder(root.spec, str(root.path), {}, deep=False)
        yield from (item for item in found if item[0].startswith(root.prefix))


@lru_cache(maxsize=1024)  # there are many sessions, but few projects
def _redacted(cwd: str) -> str:
    return redact(cwd)


def _databases_of(roots: Iterable[Root]) -> Iterator[str]:
    """Yield the files of all databases with sessions in some roots."""
    for root in roots:
        if root.spec.container is not None:
            with suppress(OSError):  # the agent was never used
                for name in sorted(os.listdir(root.path)):
                    if name.endswith(root.spec.container.suffixes):
                        yield f"{root.path}/{name}"
