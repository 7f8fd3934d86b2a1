"""One katod per state directory: an advisory lock that ends with its process, however that ends."""

import errno
import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Final

from katod import durable
from katod.errors import AlreadyRunning, LedgerError
from katod.store.statefolder import is_open, require_private, trouble_with

LOCK_NAME: Final = "lock"
_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MODE: Final = 0o700
_TAKEN: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)  # by another process; any other one says: no locks here
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
            _prepare(directory)
            fd = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        except OSError as error:
            raise _unusable(directory, error) from error
        if not _is_regular(fd):
            os.close(fd)
            raise LedgerError("the lock is not a regular file", path=directory / LOCK_NAME, hint="remove it")
        try:
            locked = _locked(fd)
        except OSError as error:
            os.close(fd)
            raise LedgerError(
                f"its file system has no locks: {error.strerror}",
                path=directory,
                hint="set `KATOD_STATE_DIR` to a directory on a local disk",
            ) from error
        if not locked:
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


def _prepare(directory: Path) -> None:
    """Make the state directory, for its owner alone; so becomes one that its owner cannot write to, or an empty one.

    An empty one does if others can write to it. Any other one stays as it is. Raises OSError, LedgerError.
    """
    is_new = not directory.exists()
    durable.make_own_folder(directory)
    require_private(directory)
    if is_new or is_open(directory) or directory.stat().st_mode & _MODE != _MODE:
        os.chmod(directory, _MODE)  # whatever a umask took from it


def _unusable(directory: Path, error: OSError) -> LedgerError:
    """Return what is wrong with a state directory, as far as that can be seen."""
    if (trouble := trouble_with(directory)) is not None:
        return LedgerError(f"the state directory {trouble.what}", path=trouble.path, hint=trouble.hint)
    return LedgerError(
        f"the state directory cannot be used: {error.strerror}", path=directory, hint="check its owner and mode"
    )


def _is_regular(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)


def _locked(fd: int) -> bool:
    """Take the lock, with a few retries: `holder` takes it for an instant. Raises OSError where there are no locks."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
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
    except OSError as error:
        if error.errno not in _TAKEN:
            return None  # there are no locks here, so that no katod can run
        text = os.pread(fd, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)
    return None
