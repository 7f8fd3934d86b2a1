"""Notices that the state directory was removed or replaced under a running katod.

Its lock and its ledger are open: without a look at their paths, katod would go on writing to files that no longer have
a name. A second katod could start meanwhile, and record the same sessions again.
"""

import os
from pathlib import Path
from typing import Final

from katod.errors import StateLost
from katod.service.lock import LOCK_NAME, Lock
from katod.store.ledger import LEDGER_NAME

_LOG: Final = f"{LEDGER_NAME}-wal"  # SQLite creates it with the first transaction, and keeps it while it is open
_ADVICE: Final = "restart katod; `katod status` lists the recordings that ended, and ::start starts them again"

Identity = tuple[int, int]  # device and inode


class OpenState:
    """The files of a state directory as this process opened them."""

    def __init__(self, state: Path, lock: Lock) -> None:
        self._state = state
        self._files: dict[str, Identity | None] = {
            LOCK_NAME: lock.identity,
            LEDGER_NAME: identity_at(state / LEDGER_NAME),
            _LOG: None,
        }

    def lost(self) -> list[str]:
        """Return the names of the files that are gone, or are other ones by now. A few calls of `stat`."""
        found = []
        for name, known in self._files.items():
            try:
                now = identity_at(self._state / name)
            except OSError:
                continue  # nobody can tell now
            if known is None:
                self._files[name] = now
            elif now != known:
                found.append(name)
        return found

    @property
    def has_ledger(self) -> bool:
        """Whether the ledger at its path is the one that is open: the next katod then goes on with its recordings."""
        return LEDGER_NAME not in self.lost()

    def require(self) -> None:
        """Raise StateLost if one of the files is no longer there."""
        if (error := self.error()) is not None:
            raise error

    def error(self) -> StateLost | None:
        """Return what `require` raises, None if all files are there."""
        if not (lost := self.lost()):
            return None
        what = f"files that katod has open were removed or replaced: {', '.join(lost)}"
        return StateLost(what, path=self._state, hint=_ADVICE)


def identity_at(path: Path) -> Identity | None:
    """Return what distinguishes a file from all others, None if there is none. Raises OSError if that is unknown."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
