"""Files that are written as a whole: a draft in the root first, which takes the file's name when it is complete.

Whoever has the old file open keeps reading it, whole; nobody ever sees half of the new one.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple

from katod import durable
from katod.errors import OutputReplaced, TargetRefused
from katod.model import changed_ns
from katod.write.safe import PRIVATE_FILE, open_parent

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_AT_ONCE: Final = 1024 * 1024
_HEAD: Final = 64 * 1024


class FileStamp(NamedTuple):
    """What a stat says of a file: while it is the same, so is the file."""

    size: int
    mtime_ns: int


def stamp(status: os.stat_result) -> FileStamp:
    """Return the stamp in a stat."""
    return FileStamp(status.st_size, changed_ns(status))


def stamp_at(root: int | None, name: str) -> FileStamp | None:
    """Return the stamp of what has a name below a root, whatever it is, without opening it; None if nothing has."""
    try:
        return stamp(os.stat(name, dir_fd=root, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None


def digest_at(root: Path, parts: tuple[str, ...]) -> str:
    """Return the hash of a regular file, empty for anything else. Raises OSError; TargetRefused for links."""
    with _opened(root, parts) as file:
        if file is None:
            return ""
        hashed = hasher()
        while data := file.read(_AT_ONCE):
            hashed.update(data)
    return hashed.hexdigest()


def head_at(root: Path, parts: tuple[str, ...]) -> bytes:
    """Return the beginning of a regular file, nothing for anything else. Raises OSError; TargetRefused for links."""
    with _opened(root, parts) as file:
        return b"" if file is None else file.read(_HEAD)


def ends_at(root: Path, parts: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Return the beginning and the end of a regular file, as `head_at` does its beginning."""
    with _opened(root, parts) as file:
        if file is None:
            return b"", b""
        head = file.read(_HEAD)
        file.seek(max(0, os.fstat(file.fileno()).st_size - _HEAD))
        return head, file.read(_HEAD)


@contextmanager
def _opened(root: Path, parts: tuple[str, ...]) -> Iterator[FileIO | None]:
    with open_parent(root, parts, make=False) as parent:
        is_file = stat.S_ISREG(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode)
        fd = os.open(parts[-1], _READ, dir_fd=parent) if is_file else None
    if fd is None:
        yield None
        return
    with open(fd, "rb", buffering=0) as file:
        yield file


class UnfinishedFile:
    """A file that is being written, under a name of its own in the root."""

    def __init__(self, root: int, name: str, fd: int) -> None:
        self._root = root
        self._name = name
        self._file = open(fd, "wb", buffering=_AT_ONCE)  # noqa: SIM115 - closed by `drafted`
        self._hash = hasher()

    @property
    def digest(self) -> str:
        """The hash of what was written."""
        return self._hash.hexdigest()

    @property
    def fd(self) -> int:
        """Its descriptor."""
        return self._file.fileno()

    def write(self, data: bytes) -> None:
        """Append data. Raises OSError."""
        self._hash.update(data)
        self._file.write(data)

    def complete(self) -> FileStamp:
        """Write everything to the disk; return the stamp, which a new name does not change. Raises OSError."""
        self._file.flush()
        durable.sync(self.fd)
        return stamp(os.fstat(self.fd))

    def publish(self, root: Path, parts: tuple[str, ...], expected: FileStamp | None) -> None:
        """Give the complete draft its name, in place of a file with the expected stamp; None: there must be no file.

        Raises OutputReplaced if that is not what is there, OSError, and TargetRefused for links.
        """
        with open_parent(root, parts, make=True) as parent:
            if stamp_at(parent, parts[-1]) != expected:
                raise OutputReplaced("was changed while it was exported", path=root.joinpath(*parts))
            if expected is None and self._linked(parent, parts[-1]):
                durable.remove(self._name, folder=self._root)
            else:
                durable.rename(self._name, parts[-1], folder=self._root, into=parent)
            durable.sync_names(parent)

    def _linked(self, parent: int, name: str) -> bool:
        """Give the draft a second name, which cannot replace a file; return whether this file system has links."""
        try:
            durable.link(self._name, name, folder=self._root, into=parent)
        except FileExistsError:
            raise OutputReplaced("was created while it was exported", path=name) from None
        except (OSError, NotImplementedError):
            return False
        return True

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # what could not be written was said by `write` or `complete`
            self._file.close()


@contextmanager
def drafted(root: int, name: str) -> Iterator[UnfinishedFile]:
    """Yield an empty draft; what a killed run left under its name is removed, and so is what is not published."""
    remove_draft(root, name)
    draft = UnfinishedFile(root, name, durable.create(name, os.O_WRONLY, PRIVATE_FILE, folder=root))
    try:
        yield draft
    finally:
        draft.close()
        remove_draft(root, name)


def remove_draft(root: int, name: str) -> None:
    """Remove a draft, if there is one. Raises TargetRefused if it cannot be one."""
    try:
        durable.remove(name, folder=root, missing_ok=True)
    except (IsADirectoryError, PermissionError) as error:
        raise TargetRefused(f"{name} is not a file of katod's") from error


def hasher() -> blake2b:
    """Return the hash of files, of nothing yet."""
    return blake2b(digest_size=16)
