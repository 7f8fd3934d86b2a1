"""One katod per state directory: an advisory lock that ends with its process, however that ends."""

import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Final

from katod.errors import AlreadyRunning, LedgerError
from katod.smallfile import sync_folder

LOCK_NAME: Final = "lock"
_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_TRIES: Final = 20
_BETWEEN_TRIES: Final = 0.01


class Lock:
    """The lock, held until `release`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def take(cls, directory: Path) -> "Lock":
        """Create the state directory if necessary and lock it. Raises AlreadyRunning or LedgerError."""
        try:
            _make(directory)
            os.chmod(directory, 0o700)
            fd = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        except OSError as error:
            raise LedgerError(
                f"the state directory cannot be used: {error.strerror}", path=directory, hint="check its owner and mode"
            ) from error
        if not _is_regular(fd):
            os.close(fd)
            raise LedgerError("the lock is not a regular file", path=directory / LOCK_NAME, hint="remove it")
        if not _locked(fd):
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip()
            os.close(fd)
            raise AlreadyRunning(
                f"another katod is running{f' (PID {holder})' if holder else ''}",
                path=directory,
                hint="run `katod status` to see what it is doing",
            )
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return cls(fd)

    @property
    def identity(self) -> tuple[int, int]:
        """The device and the inode of the file that is locked, wherever it is by now."""
        status = os.fstat(self._fd)
        return status.st_dev, status.st_ino

    def release(self) -> None:
        """Release the lock."""
        os.close(self._fd)


def _make(directory: Path) -> None:
    """Create the state directory, with its name on disk: a sync of the ledger does not promise that. Raises OSError."""
    missing = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in reversed(missing):
        sync_folder(folder.parent)


def _is_regular(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)


def _locked(fd: int) -> bool:
    """Take the lock, with a few retries: `holder` takes it for an instant."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_BETWEEN_TRIES)
        else:
            return True
    return False


def holder(directory: Path) -> int | None:
    """Return the process id of the katod running on a state directory (0: unknown), None if there is none."""
    try:
        fd = os.open(directory / LOCK_NAME, os.O_RDONLY | _FLAGS)
    except OSError:
        return None
    try:
        if not _is_regular(fd):
            return None
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(fd, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)
    return None
