"""One katod a state directory: an advisory lock that ends with its process, however that ends."""

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from katod.errors import AlreadyRunning, LedgerError

FILE_NAME: Final = "lock"
_TRIES: Final = 20
_BETWEEN_TRIES: Final = 0.01


class Lock:
    """The lock, held until `release`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def take(cls, directory: Path) -> "Lock":
        """Make the state directory if need be and lock it; raises AlreadyRunning or LedgerError."""
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.chmod(directory, 0o700)
            fd = os.open(directory / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise LedgerError(
                f"the state directory cannot be used: {error.strerror}", path=directory, hint="check its owner and mode"
            ) from error
        if not _locked(fd):
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip()
            os.close(fd)
            raise AlreadyRunning(
                f"another katod is running{f' (process {holder})' if holder else ''}",
                path=directory,
                hint="run `katod status` to see what it is doing",
            )
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return cls(fd)

    def release(self) -> None:
        """Let others run."""
        os.close(self._fd)


def _locked(fd: int) -> bool:
    """Take the lock, over a moment: whoever asks for the holder has it for an instant."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_BETWEEN_TRIES)
        else:
            return True
    return False


def holder(directory: Path) -> int | None:
    """Return the process id of the katod that runs on a state directory, None if none does."""
    try:
        fd = os.open(directory / FILE_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(fd, 32, 0).decode(errors="replace").strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)
    return None
