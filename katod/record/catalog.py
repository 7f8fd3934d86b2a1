"""All sources that are known, and what the sweep finds about them: new, changed, moved, gone.

Decides where a new source's history ends (its baseline): what was there before katod looked never commands.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.agents.base import AgentSpec
from katod.discover.roots import Root
from katod.discover.sweep import look, sweep, sweep_folder
from katod.log import EventLog
from katod.model import Identity, Stat
from katod.record.ledger import Ledger
from katod.record.rows import SourceRow
from katod.tail.reader import Cursor

# File times come from a coarser clock than `time.time_ns`: a file made right after a sweep began may look older.
_CLOCK_SLACK_NS: Final = 20_000_000
_BY_THE_CLOCK_NS: Final = 1_000_000_000


class Catalog:
    """The sources in memory, by id and by path."""

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self._ledger = ledger
        self._log = log
        self.sources: dict[int, SourceRow] = {}
        self._paths: dict[str, SourceRow] = {}
        self._identities: dict[Identity, SourceRow] = {}
        self._problems: dict[str, str] = {}
        # Roots, and what could not be read at some time: `<database>#`, `<folder>/`. 0: never looked into.
        self._swept = ledger.roots()
        for row in ledger.sources():
            self.sources[row.id] = row
            self._paths[row.path] = self._identities[row.identity] = row

    def at(self, path: str) -> SourceRow | None:
        """Return the source at a path."""
        return self._paths.get(path)

    def of_session(self, session_id: int) -> list[SourceRow]:
        """Return the sources of a session, oldest first."""
        return [self.sources[row.id] for row in self._ledger.sources_of(session_id)]

    def unread(self) -> list[SourceRow]:
        """Return the sources that were seen but, when katod ended, not read, or not to their end."""
        rows = (row for row in self.sources.values() if not row.gone)
        return [row for row in rows if row.baseline is None or row.problem or row.cursor.offset < row.seen.size]

    def sweep(self, roots: Iterable[Root]) -> list[SourceRow]:
        """Look at every session file of these roots; returns what is new or changed, oldest change first."""
        changed: list[SourceRow] = []
        problems: dict[str, str] = {}
        with self._ledger.transaction():
            for root in roots:
                began = time.time_ns() - _CLOCK_SLACK_NS
                changed += self._sweep_root(root, problems, began)
        for folder, problem in problems.items():
            if self._problems.get(folder) != problem:
                self._log.source_unreadable(folder, problem)
        self._problems = problems
        return sorted(changed, key=lambda row: (row.seen.mtime_ns, row.id))

    def sweep_folders(self, folders: Iterable[tuple[Root, str]]) -> list[SourceRow]:
        """Look at the files of single folders (the recently active ones)."""
        changed: list[SourceRow] = []
        for root, folder in folders:
            for path, seen in sweep_folder(root.spec, folder, {}, deep=False):
                changed += self._notice(root, path, seen)
        return changed

    def hint(self, root: Root, path: str) -> list[SourceRow]:
        """Look at one path that the watcher named."""
        container = root.spec.container
        if container is not None and path.endswith(container.suffixes):
            return self.sweep_folders([(root, os.path.dirname(path))])
        found = look(root.spec, path)
        if found is None:
            return []
        known = self._paths.get(path)
        return self._notice(root, path, found[1]) or ([known] if known is not None and known.problem else [])

    def _sweep_root(self, root: Root, problems: dict[str, str], began: int) -> list[SourceRow]:
        closed_before = len(problems)
        found = sorted(sweep(root, problems), key=lambda item: (item[1].mtime_ns, item[0]))
        closed = tuple(
            f"{path}#" if root.spec.is_container(path) else f"{path}/" for path in list(problems)[closed_before:]
        )
        before = self._swept.get(str(root.path), 0)
        for path in closed:  # what is written there meanwhile is new when it can be read again
            self._swept.setdefault(path, before)
            self._ledger.save_root(path, root.agent, self._swept[path])
        changed = [row for path, seen in found for row in self._notice(root, path, seen)]
        here = {path for path, _ in found}
        prefix = root.prefix
        for path in [str(root.path), *(path for path in self._swept if path.startswith(prefix))]:
            if path not in closed:
                self._swept[path] = began
                self._ledger.save_root(path, root.agent, began)
        for path, row in self._paths.items():
            if not row.gone and path.startswith(prefix) and path not in here and not path.startswith(closed):
                row.gone = True
                self._log.source_vanished(path)
        return changed

    def _notice(self, root: Root, path: str, seen: Stat) -> list[SourceRow]:
        row = self._paths.get(path)
        if row is None:
            identity = root.spec.identify(Path(path))
            if identity is None:
                return []
            row = self._moved(path, identity)
            if row is None:
                row = self._add(root, path, identity, seen)
                return [] if row.history and root.spec.is_contained(path) else [row]
        if row.seen == seen and not row.gone:
            return []
        row.seen, row.gone = seen, False
        return [row]

    def _moved(self, path: str, identity: Identity) -> SourceRow | None:
        """Return the source that this file was under another name (archived, restored), None if it is a new one."""
        row = self._identities.get(identity)
        if row is None or look(AGENTS[identity.key.agent], row.path) is not None:
            return None
        del self._paths[row.path]
        row.path = path
        self._paths[path] = row
        self._ledger.save_source(row)
        return row

    def _add(self, root: Root, path: str, identity: Identity, seen: Stat) -> SourceRow:
        swept = self._looked(root, path)
        history = seen.size if self._was_there(root.spec, path, seen, swept) else 0
        session = self._ledger.session_of(identity.key)
        row = self._ledger.add_source(session.id, path, identity, seen, history, 0 if history else swept)
        if history and root.spec.is_contained(path):  # its words have times: it need not be opened to be known
            row.baseline, row.cursor, row.after_ns = 0, Cursor(seen.size), seen.mtime_ns
            self._ledger.save_source(row)
        self.sources[row.id] = row
        self._paths[path] = self._identities[identity] = row
        self._log.source_found(path, history)
        return row

    def _looked(self, root: Root, path: str) -> int:
        """Return when katod last saw all that was where a path is now, 0 if it never did."""
        closed = [at for place, at in self._swept.items() if place[-1] in "#/" and path.startswith(place)]
        return min(closed, default=self._swept.get(str(root.path), 0))

    def _was_there(self, spec: AgentSpec, path: str, seen: Stat, swept: int) -> bool:
        """Say whether a new file's content is older than katod's last look: restored, synced, never looked at.

        A clock that was set back gives what is new an old time: where it is behind the last look, only a file whose
        time was set by hand, as by a copy, is taken as old.
        """
        if not swept:
            return True
        if seen.mtime_ns >= swept:
            return False
        return time.time_ns() >= swept or not _is_by_the_clock(spec, path)


def _is_by_the_clock(spec: AgentSpec, path: str) -> bool:
    """Say whether a file's time is that of its last change, which no program can choose."""
    if spec.is_contained(path):
        return True
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return abs(status.st_ctime_ns - status.st_mtime_ns) < _BY_THE_CLOCK_NS
