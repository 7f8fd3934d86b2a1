"""The files of one session while it runs: which they are now, and when one of them may have changed.

Each is looked at once a second; hints of the watcher only make that sooner. Other files of the session are looked for
where its files are, and now and then everywhere.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.discover.found import find_sessions
from katod.discover.roots import Root, stat_source
from katod.discover.watch import Hints, Watcher
from katod.log import EventLog
from katod.model import Identity, SessionKey, changed_ns

LOOK_EVERY: Final = 1.0  # seconds
SWEEP_EVERY: Final = 15.0
_PAUSE: Final = 0.05  # between two looks, however many hints there are
# What changes with a source: its stat, or those of the files of the database that contains it.
Signature = tuple[tuple[int, ...], ...]


def signature(path: str, identity: Identity) -> Signature | None:
    """Return the signature of a source, which changes with it; None if it does not exist."""
    spec = AGENTS[identity.key.agent]
    if spec.container is not None and spec.is_contained(path):
        file = path.rpartition("#")[0].removesuffix(spec.container.suffix)
        return tuple(found for suffix in spec.container.suffixes if (found := _stat(f"{file}{suffix}"))) or None
    source = stat_source(spec, path)
    return (tuple(source[1]),) if source is not None else None


def _stat(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_size, changed_ns(status), status.st_dev, status.st_ino


class SessionWatch:
    """Knows the files of a session, and waits for changes. `close` ends the watcher's threads."""

    def __init__(self, key: SessionKey, roots: Iterable[Root], log: EventLog, *, watch: bool) -> None:
        self._key = key
        self._roots = [root for root in roots if root.agent == key.agent]
        self._files: dict[str, Identity] = {}
        self._hints = Hints([AGENTS[key.agent]])
        self._watcher = Watcher(self._hints, log)
        self._swept = -SWEEP_EVERY
        if watch:
            self._watcher.start()

    def files(self) -> list[tuple[str, Identity]]:
        """Return the files that the session has, or had, in the order in which they were found."""
        now = time.monotonic()
        if now - self._swept >= SWEEP_EVERY:
            self._swept = now
            found = find_sessions(self._roots, {}).get(self._key)
            self._files |= {path: identity for path, identity, _ in found.files} if found else {}
            self._watcher.renew([(folder, False) for folder in {self._folder(path) for path in self._files}])
        return list(self._files.items())

    def wait(self) -> None:
        """Return after a second, or at a hint; take up the files of the session that hints name."""
        time.sleep(_PAUSE)
        self._hints.wait(LOOK_EVERY - _PAUSE)
        paths, lost = self._hints.take()
        spec = AGENTS[self._key.agent]
        for path in sorted(paths - self._files.keys()):
            identity = spec.identify(Path(path))
            if identity is not None and identity.key == self._key:
                self._files[path] = identity
        if lost:
            self._swept = min(self._swept, time.monotonic() - SWEEP_EVERY + LOOK_EVERY)

    def close(self) -> None:
        """Stop watching."""
        self._watcher.stop()

    def _folder(self, path: str) -> Path:
        return Path(path.rpartition("#")[0] if AGENTS[self._key.agent].is_contained(path) else path).parent
