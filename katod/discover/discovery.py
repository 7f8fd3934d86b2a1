"""Finds the sources that changed: hinted ones at once, active folders often, everything at longer intervals."""

import os
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.discover.catalog import Catalog
from katod.discover.roots import Root
from katod.discover.source import Source
from katod.discover.watch import Hints, Watcher, folders_of
from katod.log import EventLog
from katod.model import changed_ns

ACTIVE_EVERY: Final = 2.0  # seconds between two sweeps of the folders with recent changes
RESTING_EVERY: Final = 5.0  # the same, while a sound watcher tells of changes, and none came for a minute
RESTS_AFTER: Final = 60.0
ACTIVE_FOR: Final = 600.0
FULL_EVERY: Final = 30.0
FULL_EVERY_WHEN_QUIET: Final = 60.0
DEEP_EVERY: Final = 600.0  # seconds between two full sweeps that read the folders in which nothing changed for a day
_LATE: Final = 5.0  # seconds after which a hint does not come any more
_ABSENT_AT_ONCE: Final = 8  # roots of agents that are not used, of which one look asks whether they are there by now


class Discovery:
    """Decides where to look and when. Hints only say where to look first: they can get lost; the sweep decides."""

    def __init__(
        self,
        catalog: Catalog,
        roots: list[Root],
        also: Path,
        log: EventLog,
        *,
        full_every: float = FULL_EVERY_WHEN_QUIET,
    ) -> None:
        self.catalog = catalog
        self._presence = _Presence(roots)
        self.hints = Hints(AGENTS.values())
        self._also = also  # a folder outside the roots that is watched as well
        self._watcher = Watcher(self.hints, log, self._root_of)
        self._active: dict[tuple[Root, str], float] = {}
        self._clock = _Clock(full_every)
        self._reports = _Reports()

    @property
    def roots(self) -> list[Root]:
        """All roots, whether or not they are there."""
        return self._presence.all

    def start(self, *, watch: bool) -> bool:
        """Start watching; return whether the machine can (sweeps work without it)."""
        watching = watch and self._watcher.start()
        self.renew()
        return watching

    def stop(self) -> None:
        """Stop the watcher's threads."""
        self._watcher.stop()

    def use(self, roots: list[Root]) -> None:
        """Use these roots from now on."""
        self._presence = _Presence(roots)
        self._active = {place: at for place, at in self._active.items() if place[0] in roots}
        self._watcher.trust()
        self.renew()

    def renew(self) -> bool:
        """Watch the folders that exist now; return whether one is new."""
        return self._watcher.renew([*folders_of(self._presence.there()), (self._also, False)])

    def hinted(self) -> tuple[list[Source], bool]:
        """Return the sources that hints name, and whether one named the folder outside the roots."""
        paths, overflow = self.hints.take()
        self._clock.lost |= overflow
        sources: list[Source] = []
        for path in paths:
            for root in self._roots_of(path):
                sources += self.catalog.hint(root, path)
                if root.spec.reports and os.path.dirname(path) == str(root.path / root.spec.reports):
                    self._reports.heard.add(root.agent)
        return self._noted(sources), any(path.startswith(f"{self._also}/") for path in paths)

    def heard(self) -> set[str]:
        """Return, once, the agents that said something of their sessions beside their records."""
        heard, self._reports.heard = self._reports.heard, set()
        return heard

    def active(self, now: float) -> list[Source] | None:
        """Return the changed sources in active folders, None if no sweep is due."""
        if now < self._clock.active_at:
            return None
        self._clock.set_next_active(now, watched=self._watcher.is_sound)
        self._clock.lost |= self.renew()
        self._reports.look(self.roots)
        self._active = {place: at for place, at in self._active.items() if now - at < ACTIVE_FOR}
        return self._noted(self.catalog.sweep_folders(list(self._active)))

    def everything(self, now: float) -> list[Source] | None:
        """Return all changed sources, None if no full sweep is due."""
        if not self._clock.is_full_due(now):
            return None
        newest = self.catalog.newest
        deep = self._clock.take_deep(now) or not self._watcher.is_sound
        sources = self._noted(self.catalog.sweep(self.roots, deep=deep))
        if not self._clock.is_late and self._watcher.is_sound:
            self._watcher.doubt(_unhinted(source for source in sources if source.id <= newest))
        self._clock.set_next_full(now, active=bool(self._active))
        return sources

    def sweep(self) -> list[Source]:
        """Sweep everything now."""
        return self._noted(self.catalog.sweep(self.roots, deep=True))

    def deadline(self) -> float:
        """Return when (monotonic) it is time to look again."""
        return min(self._clock.active_at, self._clock.full_at)

    def _noted(self, sources: Iterable[Source]) -> list[Source]:
        """Return the sources, and mark the folders of those that changed recently as active."""
        now, wall = time.monotonic(), time.time()
        found = list(sources)
        if found:
            self._clock.changed_at = now
        for source in found:
            for root in self._roots_of(source.path):
                if wall - source.seen.mtime_ns / 1e9 < ACTIVE_FOR:
                    self._active[root, os.path.dirname(source.path)] = now
        return found

    def _root_of(self, folder: str) -> str:
        """Return the root of a folder, or the folder itself if it is in none: the log names no folder of a project."""
        return next((str(root.path) for root in self._roots_of(folder)), folder)

    def _roots_of(self, path: str) -> list[Root]:
        """Return the innermost root of a path, and others in the same folder: each may name a database in it."""
        found = [root for root in self.roots if path.startswith(f"{root.path}/")]
        innermost = max((len(root.path.parts) for root in found), default=0)
        return [root for root in found if len(root.path.parts) == innermost]


def _unhinted(sources: Iterable[Source]) -> list[str]:
    """Return the folders of known files that changed a while ago, of which a sweep told before any hint."""
    before = (time.time() - _LATE) * 1e9
    files = (source for source in sources if not source.spec.is_contained(source.path))
    return [os.path.dirname(source.path) for source in files if source.seen.mtime_ns < before]


class _Presence:
    """All roots, and which of them are there. Agents that nobody uses are most, and cost next to nothing."""

    def __init__(self, roots: list[Root]) -> None:
        self.all = roots
        self._there = [root for root in roots if root.is_there]
        self._absent = deque(root for root in roots if root not in self._there)

    def there(self) -> list[Root]:
        """Return the roots that are there, or were; a few of the others are asked for, in turn."""
        for _ in range(min(_ABSENT_AT_ONCE, len(self._absent))):
            root = self._absent.popleft()
            (self._there if root.is_there else self._absent).append(root)
        return self._there


class _Reports:
    """Which agents said something of their sessions beside their records (`heard`): hints of it can get lost."""

    def __init__(self) -> None:
        self.heard: set[str] = set()
        self._seen: dict[Root, dict[str, int]] = {}

    def look(self, roots: Iterable[Root]) -> None:
        """Compare the files in which agents say it with those of the last look."""
        for root in roots:
            if root.spec.reports:
                now = _times(root.path / root.spec.reports)
                if now != self._seen.get(root):
                    self._seen[root] = now
                    self.heard.add(root.agent)


def _times(folder: Path) -> dict[str, int]:
    """Return when each file in a folder changed (ns)."""
    times: dict[str, int] = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                times[entry.name] = changed_ns(entry.stat())
    return times


class _Clock:
    """When it is time to look: at everything after `full_every` seconds at the latest."""

    def __init__(self, full_every: float) -> None:
        now = time.monotonic()
        self._full_every = full_every
        self.active_at = now + ACTIVE_EVERY
        self.changed_at = now  # when a source was last found to have changed
        self.set_next_full(now, active=True)
        self.lost = False  # hints were lost, or there is a new folder
        self.is_late = False  # whether the last full sweep was due for what hints did not say
        self._deep_at = now + DEEP_EVERY
        self._full_after = 0.0
        self._wall = time.time() - now

    def set_next_active(self, now: float, *, watched: bool) -> None:
        """Look at the active folders again soon; later if nothing happens, and a watcher would tell of it."""
        rests = watched and now - self.changed_at >= RESTS_AFTER
        self.active_at = now + (RESTING_EVERY if rests else ACTIVE_EVERY)

    def set_next_full(self, now: float, *, active: bool) -> None:
        """Look at everything again after a while; sooner while there are active folders."""
        self.full_at = now + min(self._full_every, FULL_EVERY if active else FULL_EVERY_WHEN_QUIET)

    def is_full_due(self, now: float) -> bool:
        """Return whether a full sweep is due; if so, the present counts as the time of the last one."""
        gap = abs(time.time() - now - self._wall) > FULL_EVERY  # the machine slept, or its clock was set
        lost = self.lost and now >= self._full_after  # some folders are touched all the time
        if not (now >= self.full_at or gap or lost):
            return False
        self.is_late = gap or self.lost
        self.lost, self._full_after, self._wall = False, now + ACTIVE_EVERY, time.time() - now
        return True

    def take_deep(self, now: float) -> bool:
        """Return whether the full sweep that is due has to read all folders; if so, the next ones need not."""
        if not (self.is_late or now >= self._deep_at):
            return False
        self._deep_at = now + DEEP_EVERY
        return True
