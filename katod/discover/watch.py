"""Hints from the file watcher: where to look first. The sweep stays authoritative, because hints can get lost.

Known silent losses: the watch limit, a full queue, a root that is deleted and recreated, network file systems.
"""

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from watchdog.events import (
    DirAttribEvent,
    DirCreatedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from katod.agents.spec import AgentSpec
from katod.discover.roots import Root
from katod.log import EventLog

# The kernel is asked for these alone: opens and closes are mostly katod's own, two for each line it reads.
_EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent, FileModifiedEvent, FileMovedEvent, FileDeletedEvent, FileAttribEvent,
    DirCreatedEvent, DirMovedEvent, DirAttribEvent,
]  # fmt: skip
# These mean that a folder may contain something new: it was created, or has become readable.
_NEW_INSIDE: Final = frozenset({"created", "moved", "attrib"})
_REQUEST: Final = ".request"  # the suffix of requests from the shell

# Device and inode of a folder, and whether it was readable: watching an unreadable folder silently does nothing.
FolderIdentity = tuple[int, int, bool]


class Hints(FileSystemEventHandler):
    """Paths that changed, collected by the watcher's thread; the main loop waits for them and takes them."""

    def __init__(self, agents: Iterable[AgentSpec]) -> None:
        specs = list(agents)
        containers = {suffix for spec in specs if spec.container for suffix in spec.container.suffixes}
        files = {suffix for spec in specs for suffix in spec.suffixes}
        # The suffixes of interest: containers, session files, and requests.
        self._containers = tuple(sorted(containers))
        self._suffixes = (_REQUEST, *sorted(containers | files))
        self._paths: set[str] = set()
        self._overflow = False
        self._lock = threading.Lock()
        # A signal handler also wakes the loop, possibly in the very thread that waits. An Event would deadlock there.
        self._woken: SimpleQueue[None] = SimpleQueue()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Handle one watcher event; a move counts for both of its paths."""
        paths = {os.fsdecode(path) for path in (event.src_path, event.dest_path) if path}
        if event.event_type == "attrib":  # caused by reading a container, too: readers open a database for writing
            paths = {path for path in paths if not path.endswith(self._containers)}
        if event.is_directory:
            if event.event_type in _NEW_INSIDE:
                self.lost()
        elif any(path.endswith(self._suffixes) for path in paths):
            self._gather(paths, overflow=False)

    def lost(self) -> None:
        """Note that events were lost: everything has to be swept."""
        self._gather(set(), overflow=True)

    def wake(self) -> None:
        """Wake the loop (called by signal handlers, too)."""
        if self._woken.empty():
            self._woken.put(None)

    def wait(self, timeout: float) -> None:
        """Return at the next hint, or after `timeout` seconds."""
        with suppress(Empty):
            self._woken.get(timeout=timeout)
            self._woken.put(None)  # stays set until the hints are taken

    def take(self) -> tuple[set[str], bool]:
        """Return the paths since the last call, and whether everything has to be swept."""
        with suppress(Empty):
            while True:
                self._woken.get_nowait()
        with self._lock:
            paths, self._paths = self._paths, set()
            overflow, self._overflow = self._overflow, False
        return paths, overflow

    def _gather(self, paths: set[str], *, overflow: bool) -> None:
        with self._lock:
            self._paths |= paths
            self._overflow |= overflow
        self.wake()


class Watcher:
    """Watches every folder that exists, and renews the watch when a folder is recreated.

    `name` returns what the log calls a folder: an agent may name a folder after a project.
    """

    def __init__(self, hints: Hints, log: EventLog, name: Callable[[str], str] = str) -> None:
        self._hints = hints
        self._log = log
        self._name = name
        self._watches: dict[Path, tuple[ObservedWatch, FolderIdentity]] = {}
        self._lost: set[Path] = set()
        self._observer: BaseObserver | None = None
        self._missed = False  # a change, in a folder that is watched
        logging.getLogger("watchdog").addHandler(_Losses(hints))
        logging.getLogger("watchdog").propagate = False
        warnings.filterwarnings("ignore", module=r"watchdog\..*")

    def start(self) -> bool:
        """Start watching; return False if the machine cannot (sweeps work without it)."""
        try:
            self._observer = Observer()
            self._observer.start()
        except OSError as error:
            self._log.watch_lost("-", error.strerror or str(error))
            self._observer = None
        return self._observer is not None

    def renew(self, folders: list[tuple[Path, bool]]) -> bool:
        """Watch these folders (True: recursively) if they exist; return whether a new one was found."""
        found = False
        for folder in self._watches.keys() - {folder for folder, _ in folders}:
            self._forget(folder)
        self._lost &= {folder for folder, _ in folders}
        alive = self._alive()
        for folder, deep in folders if self._observer else []:
            try:
                status = os.stat(folder)
            except OSError:
                self._forget(folder)
                self._lost.discard(folder)
                continue
            identity = (status.st_dev, status.st_ino, os.access(folder, os.R_OK | os.X_OK))
            known = self._watches.get(folder)
            if known is None or known[1] != identity or known[0] not in alive:
                self._forget(folder)
                found |= self._watch(folder, deep, identity)
        return found

    @property
    def is_sound(self) -> bool:
        """Whether hints tell of every change, as far as that is known."""
        return self._observer is not None and not self._lost and not self._missed

    def doubt(self, folders: Iterable[str]) -> None:
        """Rely on hints no more, if there are any folders in which they missed a change: as on network file systems."""
        for folder in folders:
            self._missed = True
            self._log.watch_missed(self._name(folder))
            break

    def trust(self) -> None:
        """Rely on hints again, as what is watched has changed."""
        self._missed = False

    def stop(self) -> None:
        """Stop the watcher's threads."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(5)

    def _alive(self) -> set[ObservedWatch]:
        """Return the watches that still work. A recreated folder may have the inode of the old one."""
        return {one.watch for one in self._observer.emitters if one.is_alive()} if self._observer else set()

    def _watch(self, folder: Path, deep: bool, identity: FolderIdentity) -> bool:
        assert self._observer is not None
        try:
            watch = self._observer.schedule(self._hints, str(folder), recursive=deep, event_filter=_EVENTS)
        except OSError as error:
            if folder not in self._lost:
                self._lost.add(folder)
                self._log.watch_lost(self._name(str(folder)), error.strerror or str(error))
            return False
        self._lost.discard(folder)
        self._watches[folder] = (watch, identity)
        return True

    def _forget(self, folder: Path) -> None:
        known = self._watches.pop(folder, None)
        if known is not None and self._observer is not None:
            try:
                self._observer.unschedule(known[0])
            except (KeyError, OSError):
                self._log.watch_lost(self._name(str(folder)), "the watch was already gone")


class _Losses(logging.Handler):
    """Turns a warning of the watcher (full queue, failed watch) into a full sweep."""

    def __init__(self, hints: Hints) -> None:
        super().__init__(logging.WARNING)
        self._hints = hints

    def emit(self, _record: logging.LogRecord) -> None:
        """Handle one warning."""
        self._hints.lost()


def folders_of(roots: list[Root]) -> list[tuple[Path, bool]]:
    """Return the folders to watch for those of these roots that are there, and whether to watch them recursively."""
    roots = [root for root in roots if root.is_there]
    containers = [(root.path, False) for root in roots if root.spec.container is not None]
    reports = [(root.path / root.spec.reports, False) for root in roots if root.spec.reports]
    above = [(folder, False) for root in roots for folder in root.above]
    return containers + reports + above + [(folder, True) for root in roots for folder in root.folders]
