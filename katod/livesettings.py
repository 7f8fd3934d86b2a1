"""What people ask of a running katod: the settings in effect, the file that they are from, requests, and the pause."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from katod import config
from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import Root, find_roots
from katod.errors import ConfigError
from katod.model import changed_ns
from katod.record.policy import Policy
from katod.service import pause
from katod.service.control import Inbox
from katod.smallfile import read_small

EVERY: Final = 1.0  # seconds between two looks at the file, at least
STILL: Final = 10.0  # seconds for which a file has to be as it is, until it is read
STILL_CUT: Final = (
    60.0  # likewise, if it has only lost its end: what writes it may have been held up, or the disk be full
)
# Its device, inode, size and times; None if there is no file, empty before the first look.
_Stamp = tuple[int, ...] | None


class LiveSettings:
    """The settings in effect, and what else people ask of katod while it runs."""

    def __init__(self, settings: Settings, path: Path, state: Path) -> None:
        self.now = settings
        self.problem: ConfigError | None = None  # what is wrong with the file; the settings are then older ones
        self.path = path
        self.state = state
        self.inbox = Inbox(state)
        self._required = path.exists()  # if a file that existed is gone, that is a mistake, not a wish for the defaults
        self._file = SettledFile(path)

    def has_changed(self, now: float) -> bool:
        """Return, once, whether the file may say something else by now (monotonic)."""
        return self._file.has_changed(now)

    def reload(self) -> bool:
        """Reload the file, and return whether this makes a difference. If it is wrong, the old settings stay."""
        before = self.now, str(self.problem)
        try:
            self.now, self.problem = config.load(self.path, required=self._required), None
            self._required = self.path.exists()
        except ConfigError as error:
            self.problem = error
            if isinstance(error.__cause__, OSError):
                self._file.forget()  # it may be possible to read it later, and it does not change by that
        return before != (self.now, str(self.problem))

    @property
    def paused(self) -> bool:
        """Whether katod is paused."""
        return bool(pause.paused_since(self.state))

    def pause(self, time: str) -> None:
        """Record nothing from now on."""
        pause.pause(self.state, time)

    def resume(self) -> None:
        """Record again."""
        pause.resume(self.state)

    def roots(self) -> list[Root]:
        """Return the agents' roots."""
        return find_roots(self.now, AGENTS)

    def policy(self, roots: list[Root], worktrees: Mapping[str, str]) -> Policy:
        """Return the part of the settings that decides about recordings."""
        return Policy.here(self.now, roots, self.state, pause.paused_since(self.state), worktrees)


class SettledFile:
    """A file that is read again once it has changed, and does not change any more: somebody may still be writing it.

    At first it may have changed since it was read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._looks_at = 0.0
        self._read: _Stamp = ()
        self._seen: _Stamp = ()
        self._since = 0.0  # since when it has been as it is
        self._content = _content(path)

    def forget(self) -> None:
        """Take the file for one that was not read yet."""
        self._read = ()

    def has_changed(self, now: float) -> bool:
        """Return, once, whether the file is another one than before, and has not changed for some time."""
        if now < self._looks_at:
            return False
        self._looks_at = now + EVERY
        before, self._seen = self._seen, _stamp(self._path)
        if self._seen != before:
            self._since = now
        if self._seen == self._read or now < self._since + STILL:
            return False
        content = _content(self._path)
        if self._is_cut(content) and now < self._since + STILL_CUT:
            return False
        self._read, self._content = self._seen, content
        return True

    def _is_cut(self, content: bytes | None) -> bool:
        """Return whether this is what the file had when it was read, without its end."""
        before = self._content
        if before is None or content is None:
            return False
        return len(content) < len(before) and before.startswith(content)


def _content(path: Path) -> bytes | None:
    try:
        return read_small(path, config.LARGEST)
    except OSError:
        return None


def _stamp(path: Path) -> _Stamp:
    try:
        now = os.stat(path)
    except OSError:
        return None
    return now.st_dev, now.st_ino, now.st_size, changed_ns(now), now.st_ctime_ns
