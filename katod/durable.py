"""The calls through which katod changes what has to outlive lost power. Nothing else in katod syncs a file or a folder.

The order, wherever two things depend on each other:

1. A folder is made and its name is on disk before anything is put into it (`make_folder`).
2. A file that grows is made, and its name is on disk, before the ledger says that it is there.
3. A file that is written as a whole is on disk under another name first, and then takes its own (`sync`, `rename`,
   `sync_names`): whoever finds the name finds the whole content.
4. The ledger says what is about to be appended before it is (an intent), and that it was only after it is on disk. So
   the ledger may be behind the files, and finds in them how far it got; it is never ahead of them.
5. What is deleted loses its name, and that is on disk, before the ledger forgets that it was there.

SQLite keeps its own order for the ledger, which is synced with every transaction (`synchronous = FULL`).

macOS: `fsync` leaves data in the drive's cache, from which lost power takes it; `F_FULLFSYNC` does not (`man 2 fsync`).
Not every file system has it, so `fsync` follows where it fails.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

Name = str | Path
_FULL: Final = getattr(fcntl, "F_FULLFSYNC", None)
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PRIVATE: Final = 0o700
_OTHERS_WRITE: Final = 0o022
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def naming(path: Name) -> Iterator[None]:
    """Have the errors of the system within name this file: of a descriptor they name none, in a folder only its name.

    Raises OSError.
    """
    try:
        yield
    except OSError as error:
        if not error.errno or (isinstance(error.filename, str) and os.path.isabs(error.filename)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def create(name: Name, access: int, mode: int, *, folder: int | None = None) -> int:
    """Return a descriptor of a new file. Raises OSError: FileExistsError if anything has the name."""
    return os.open(name, access | _NEW, mode, dir_fd=folder)


def write(fd: int, data: bytes | memoryview) -> int:
    """Write to a file, where it is open; return how many bytes were taken, which may be fewer. Raises OSError."""
    return os.write(fd, data)


def write_at(fd: int, data: bytes, at: int) -> int:
    """Write to a file at an offset; return how many bytes were taken, which may be fewer. Raises OSError."""
    return os.pwrite(fd, data, at)


def write_all(fd: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[write(fd, view) :]


def truncate(fd: int, size: int) -> None:
    """Cut a file to a size in bytes. Raises OSError."""
    os.ftruncate(fd, size)


def sync(fd: int) -> None:
    """On return, the content and the size of a file are on disk; its name need not be. Raises OSError."""
    if _FULL is not None:
        _sync_fully(fd)
    else:
        getattr(os, "fdatasync", os.fsync)(fd)


def sync_names(folder: int | Path) -> None:
    """On return, the names in a folder are on disk. Raises OSError."""
    if isinstance(folder, int):
        _sync_folder(folder)
        return
    fd = os.open(folder, _FOLDER)
    try:
        with naming(folder):
            _sync_folder(fd)
    finally:
        os.close(fd)


def _sync_folder(fd: int) -> None:
    if _FULL is not None:
        _sync_fully(fd)
    else:
        os.fsync(fd)


def _sync_fully(fd: int) -> None:
    try:
        fcntl.fcntl(fd, _FULL or 0)
    except OSError:  # a file system without it
        os.fsync(fd)


def rename(old: Name, new: Name, *, folder: int | None = None, into: int | None = None) -> None:
    """Give a file a new name, in place of what has it; on disk once the names are synced. Raises OSError."""
    os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder if into is None else into)


def link(old: Name, new: Name, *, folder: int | None = None, into: int | None = None) -> None:
    """Give a file a second name. Raises OSError: FileExistsError if anything has it."""
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder if into is None else into, follow_symlinks=False)


def remove(name: Name, *, folder: int | None = None, missing_ok: bool = False) -> None:
    """Take a name away from a file. Raises OSError."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        if not missing_ok:
            raise


def remove_folder(name: Name, *, folder: int | None = None) -> None:
    """Delete an empty folder. Raises OSError."""
    os.rmdir(name, dir_fd=folder)


def make_folder(name: Name, mode: int, *, folder: int) -> None:
    """Make a folder in another one; on return, its name is on disk. Raises OSError: FileExistsError if it is there."""
    os.mkdir(name, mode, dir_fd=folder)
    sync_names(folder)


def make_folders(path: Path, mode: int) -> None:
    """Make a folder and its missing parents, each on disk before the next. Raises OSError."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        try:
            os.mkdir(folder, mode)
        except FileExistsError:
            if not folder.is_dir():
                raise
        sync_names(folder.parent)


def make_own_folder(path: Path) -> None:
    """Make a folder for its owner alone, with its missing parents; `claim_folder` one that is there. Raises OSError.

    So whatever katod writes first into its state directory makes it private, not only `katod run`.
    """
    make_folders(path, _PRIVATE)
    claim_folder(path)


def claim_folder(path: Path) -> None:
    """Take from others the right to write to a folder of this user that is empty: nobody uses it. Raises OSError.

    Any other one stays as it is.
    """
    status = path.stat()
    if status.st_mode & _OTHERS_WRITE and status.st_uid == os.geteuid() and not os.listdir(path):
        path.chmod(_PRIVATE)
