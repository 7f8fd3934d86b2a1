"""Opens a path without following anything that someone else may have put there.

The path is walked from an allowed root, component by component, with directory descriptors and O_NOFOLLOW:
O_NOFOLLOW on the whole path protects only its last component.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from katod import durable
from katod.errors import TargetRefused

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TRANSIENT: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
PRIVATE_DIRECTORY: Final = 0o700
PRIVATE_FILE: Final = 0o600


@contextmanager
def open_parent(root: Path, parts: tuple[str, ...], *, make: bool, marker: str = "") -> Iterator[int]:
    """Yield a descriptor of the folder of the last part. Raises OSError, or TargetRefused for links.

    `make` creates missing folders below the root. The root itself must exist and contain the marker, if one is given.
    """
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if marker:
            os.stat(marker, dir_fd=fd, follow_symlinks=False)
        for part in parts[:-1]:
            fd = _step(fd, part, make=make)
        yield fd
    finally:
        os.close(fd)


def make_root(root: Path) -> None:
    """Create a root and its missing parents, each on disk before the next. Raises OSError."""
    durable.make_folders(root, PRIVATE_DIRECTORY)


def _step(fd: int, part: str, *, make: bool) -> int:
    """Open a subfolder and close its parent."""
    if make:
        _make(fd, part)
    try:
        below = os.open(part, _DIRECTORY, dir_fd=fd)
    except OSError as error:
        if stat.S_ISLNK(_mode(fd, part)):
            raise TargetRefused(f"{part} is a symbolic link") from error
        if isinstance(error, NotADirectoryError):
            raise TargetRefused(f"{part} is not a directory") from error
        raise
    os.close(fd)
    return below


def _make(fd: int, part: str) -> None:
    try:
        durable.make_folder(part, PRIVATE_DIRECTORY, folder=fd)
    except FileExistsError:
        durable.sync_names(fd)  # a katod that was killed may have made it


def open_file(parent: int, name: str, *, create: bool) -> int:
    """Open a file for appending, a new one exclusively. Raises OSError; TargetRefused if it is not a regular file."""
    return _open_plain(parent, name, _FILE, create=create)


def open_to_read(parent: int, name: str) -> int:
    """Open a file for reading, under the same conditions. Raises OSError; TargetRefused."""
    return _open_plain(parent, name, _READ)


def _open_plain(parent: int, name: str, flags: int, *, create: bool = False) -> int:
    try:
        if create:
            fd = durable.create(name, flags, PRIVATE_FILE, folder=parent)
        else:
            fd = os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        mode = _mode(parent, name)
        if mode and not stat.S_ISREG(mode):
            raise TargetRefused(f"{name} is not a regular file") from error
        raise
    try:
        require_plain_file(os.fstat(fd), name)
    except TargetRefused:
        os.close(fd)
        raise
    return fd


def require_plain_file(status: os.stat_result, name: str) -> None:
    """Raise TargetRefused unless this is a regular file of this user with a single link."""
    if not stat.S_ISREG(status.st_mode):
        raise TargetRefused(f"{name} is not a regular file")
    if status.st_uid != os.getuid():
        raise TargetRefused(f"{name} belongs to another user")
    if status.st_nlink != 1:
        raise TargetRefused(f"{name} has more than one hard link")


Condition = Literal["new", "empty", "taken"]


def examine(root: Path, parts: tuple[str, ...]) -> Condition:
    """Return what is at a path now, without writing. Raises TargetRefused for links and other unusual files."""
    try:
        with open_parent(root, parts, make=False) as parent:
            status = os.stat(parts[-1], dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return "new"
    except NotADirectoryError as error:
        raise TargetRefused("a part of the path is not a directory") from error
    except OSError as error:
        if is_transient(error):
            raise
        raise TargetRefused(f"cannot be accessed: {error.strerror}") from error
    if stat.S_ISLNK(status.st_mode):
        raise TargetRefused(f"{parts[-1]} is a symbolic link")
    require_plain_file(status, parts[-1])
    return "taken" if status.st_size else "empty"


def is_transient(error: OSError) -> bool:
    """Return whether an error is due to the machine's present state rather than the path."""
    return error.errno in _TRANSIENT


def _mode(parent: int, name: str) -> int:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except OSError:
        return 0
