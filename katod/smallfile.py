"""Small files: read where a FIFO, a device or something without an end may stand in their place; written whole."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from katod import durable

_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_PRIVATE: Final = 0o600
_OTHERS: Final = 0o077


def read_small(path: Path, limit: int, *, own: bool = False, linked: bool = False, private: bool = False) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; links are followed.

    `own` takes only a file of this user, and neither a symbolic nor, unless `linked`, a hard link. `private` takes only
    a file of this user that nobody else has access to, wherever links lead.
    Never waits. Raises OSError whose `strerror` says what is wrong: EINVAL if it is not a regular file or a link, EPERM
    if it belongs to another user or is not private, EFBIG if it is larger.
    """
    fd = _open(path, own=own)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if own:
            _require_own(status, path, linked=linked)
        if private:
            _require_private(status, path)
        data = b""
        while piece := os.read(fd, limit + 1 - len(data)):
            data += piece
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"it is larger than {limit} bytes", str(path))
        return data
    finally:
        os.close(fd)


def open_regular(path: str | Path) -> int:
    """Return a descriptor of a file that is read; never waits. Raises OSError: EINVAL unless it is a regular file."""
    fd = os.open(path, _READ | os.O_NOFOLLOW)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_part(path: Path, begin: int, most: int) -> bytes:
    """Return at most so many bytes of a regular file from an offset on; a negative one counts from its end.

    Never waits. Raises OSError as `open_regular` does.
    """
    fd = open_regular(path)
    try:
        return os.pread(fd, most, begin if begin >= 0 else max(0, os.fstat(fd).st_size + begin))
    finally:
        os.close(fd)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block, to read a small file in a folder and replace it. Raises OSError.

    Where a file system has no locks, nothing is waited for.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _open(path: Path, *, own: bool) -> int:
    try:
        return os.open(path, _READ | os.O_NOFOLLOW if own else _READ)
    except OSError as error:
        if own and os.path.islink(path):
            raise OSError(errno.EINVAL, "it is a symbolic link", str(path)) from error
        raise


def _require_own(status: os.stat_result, path: Path, *, linked: bool) -> None:
    if status.st_uid != os.getuid():
        raise OSError(errno.EPERM, "it belongs to another user", str(path))
    if status.st_nlink > 1 and not linked:
        raise OSError(errno.EINVAL, "it has more than one hard link", str(path))


def _require_private(status: os.stat_result, path: Path) -> None:
    _require_own(status, path, linked=True)
    if status.st_mode & _OTHERS:
        mode = f"others have access to it (mode {stat.S_IMODE(status.st_mode):04o})"
        raise OSError(errno.EPERM, mode, str(path))


def create_small(path: Path, data: bytes, mode: int) -> None:
    """Write a new file; on return, its content is on disk. Raises OSError: FileExistsError if anything is there."""
    fd = durable.create(path, os.O_WRONLY, mode)
    try:
        with durable.naming(path):
            durable.write_all(fd, data)
            durable.sync(fd)
    except BaseException:
        durable.remove(path, missing_ok=True)
        raise
    finally:
        os.close(fd)


def write_small(path: Path, data: bytes) -> None:
    """Replace a private file as a whole; on return, that is on disk. For one writer at a time. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    durable.remove(part, missing_ok=True)
    create_small(part, data, _PRIVATE)
    durable.rename(part, path)
    durable.sync_names(path.parent)
