"""The sessions that are served: those that were recorded, by the ledger, or all that are on disk. Nothing is written.

What a session that is not recorded is about is read from its beginning when it is asked for, and kept in memory.
"""

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents.base import SPAWNED
from katod.discover.roots import Root
from katod.discover.sweep import sweep, sweep_folder
from katod.formats.redact.redactor import redact
from katod.formats.stream import bridge
from katod.metadata import SessionMetadata
from katod.model import SessionKey, Stat
from katod.record.peek import peek
from katod.serve.feed import ALL, Content, NotServed, streamed
from katod.serve.known import File, Known
from katod.serve.recorded import Recorded
from katod.serve.stats import Numbers, databases_of, numbers_of, renew, stat_of
from katod.states import is_over

SWEEP_EVERY: Final = 15.0  # seconds between two looks for files that nobody told of
_LOOK_EVERY: Final = 1.0
Fields = dict[str, Any]


class Places(NamedTuple):
    """Where katod and the agents keep what is served."""

    state: Path
    roots: tuple[Root, ...]
    everything: bool = False  # also what was not recorded


def described(known: Known) -> SessionMetadata:
    """Return what a session is about, read from its beginning unless that is known.

    As long as nobody has said anything, a session has no title: then it is read again whenever it has grown.
    """
    metadata = known.metadata
    if metadata is None or (not metadata.best_title and known.has_changed):
        known.metadata = metadata = peek(known)[0]
    return metadata


class Shelf:
    """All sessions that are served, by their UUIDs. For the reading thread; `content` is for others, too."""

    def __init__(self, places: Places, *, redact: bool) -> None:
        self._places = places
        self._redact = redact
        self._known: dict[str, Known] = {}
        self._names: dict[str, str] = {}  # of the session of each file, by path; empty if that is not served
        self._recorded = Recorded(places.state)
        self._databases: Numbers = ()
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
        return known.is_open or self._recorded.is_begun(known.name)

    def renew(self) -> None:
        """Look at the files of all sessions that may be going on: nobody tells of some changes. Raises LedgerError."""
        now = time.time()
        for known in self.all().values():
            if not is_over(known.changed_ns / 1e9, now):
                renew(known)

    def newest(self, project: str) -> Known | None:
        """Return the session of a project that changed last, None if it has none. Raises LedgerError."""
        newest_first = sorted(self.all().values(), key=lambda known: -known.changed_ns)
        main = (known for known in newest_first if not known.key.subagent)
        return next((known for known in main if self.about(known)["projectPath"] == project), None)

    def content(self, name: str) -> Content:
        """Return where a session that is known is now. Raises NotServed."""
        known = self._known.get(name)
        if known is None:
            raise NotServed
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
        if known is None and self._is_served(identity.key):
            known = self._known[name] = Known(identity.key)
            known.sweep = self._swept
        if known is None:
            return ""
        if (stat := stat_of(path, identity)) is not None:
            self._names[path] = name
            known.take([(path, identity, stat)])
        return name

    def _is_served(self, key: SessionKey) -> bool:
        """Return whether a session is served that was not recorded."""
        return self._places.everything and not self._recorded.is_forgotten(key)

    def _look(self, now: float) -> None:
        known = dict(self._known)
        if new := self._recorded.take(known):  # look at the files again that were nobody's
            self._names = {path: name for path, name in self._names.items() if name}
            self._names |= {path: one.name for one in new for path in one.paths}
        databases = numbers_of(databases_of(self._places.roots))
        if now - self._swept >= SWEEP_EVERY:
            self._swept = now
            known = self._with_swept(known)
        elif databases != self._databases:
            self._take_in(known, ((root, _contained(root)) for root in self._places.roots))
        self._known, self._databases = known, databases

    def _with_swept(self, known: dict[str, Known]) -> dict[str, Known]:
        """Return what is known, with the files that are on disk, and of other sessions those that have one."""
        self._take_in(known, ((root, sweep(root, {})) for root in self._places.roots))
        return {name: one for name, one in known.items() if one.number or one.sweep == self._swept}

    def _take_in(self, known: dict[str, Known], swept: Iterable[tuple[Root, Iterable[tuple[str, Stat]]]]) -> None:
        """Take note of the files that were found in each root, and of sessions that are new."""
        new: dict[str, list[File]] = {}
        for root, found in swept:
            for path, stat in found:
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

    def _meet(self, root: Root, path: str, stat: Stat, known: dict[str, Known], new: dict[str, list[File]]) -> None:
        """Find out whose a file is, and add it to what is new if its session is served."""
        identity = root.spec.identify(Path(path))
        name = bridge.session_uuid(identity.key) if identity is not None else ""
        is_served = identity is not None and (name in known or self._is_served(identity.key))
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


def _utc(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
