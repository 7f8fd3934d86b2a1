"""The files of a data set: in a directory here, in a bucket in `bucket`."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol

from katod import durable
from katod.archive.machine import Machine
from katod.errors import OutputError, TablesError, TargetRefused
from katod.tables.address import PART
from katod.write.output import OutputPath
from katod.write.remove import remove_empty, remove_output
from katod.write.safe import make_root, open_parent, open_to_read
from katod.write.whole import FileStamp, UnfinishedFile, drafted, remove_draft, stamp_at

_DRAFT: Final = ".katod-tables-{}.tmp"
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DEEPEST: Final = 4  # folders above a file: of the table, the machine, the agent and the month


class PartDraft(Protocol):
    """A file that is being written, and has no name yet."""

    def write(self, data: bytes) -> object:
        """Append data."""

    def publish(self, name: str, expected: FileStamp | None) -> FileStamp:
        """Give it its name, in place of a file with this stamp, None for none; return its stamp.

        Raises OutputError or OSError, and what was there stays.
        """


class TablesPlace(Protocol):
    """Where the files are. Errors that concern all of them are `TablesError`, those of one `OutputError`."""

    def address(self, name: str) -> str:
        """Return the whole name of a file, to be shown."""

    def stamp(self, name: str) -> FileStamp | None:
        """Return the stamp of what has a name, None if nothing has."""

    def opened(self, name: str) -> AbstractContextManager[Any | None]:
        """Open a file for reading; None if there is none. Raises OutputError for links and other unusual files."""

    def draft(self) -> AbstractContextManager[PartDraft]:
        """Return an empty draft, of which nothing stays unless it is published."""

    def remove(self, name: str) -> None:
        """Delete a file that katod wrote, and the folders around it that are empty then."""

    def parts(self, folder: str) -> list[str]:
        """Return the names of all files below a folder that may be parts."""


class DirectoryPlace:
    """A directory. Links in it are not followed."""

    def __init__(self, root: Path, machine: Machine) -> None:
        self._root = root
        self._draft = _DRAFT.format(machine.id[:8])

    def address(self, name: str) -> str:
        """Return the path of a file."""
        return str(self._root / name)

    def stamp(self, name: str) -> FileStamp | None:
        """Return the stamp of what has a name, None if nothing has. Raises OSError."""
        return stamp_at(None, os.path.join(self._root, name))

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes] | None]:
        """Open a file; None if there is none. Raises OutputError for anything but a regular file of this user."""
        try:
            with open_parent(self._root, tuple(name.split("/")), make=False) as parent:
                fd = open_to_read(parent, PART)
        except FileNotFoundError:
            yield None
            return
        except TargetRefused as error:
            raise OutputError(error.what, path=self.address(name), hint="remove it") from error
        except OSError as error:
            raise OutputError(f"cannot be read: {error.strerror}", path=self.address(name)) from error
        with open(fd, "rb") as file:
            yield file

    def is_deleted(self) -> bool:
        """Return whether it is empty, or not there while the directory that it was in is. Raises OSError."""
        try:
            return not os.listdir(self._root)
        except FileNotFoundError:
            return self._root.parent.is_dir()

    def tidy(self) -> None:
        """Remove a draft: a complete one may be a second name of a file. Raises TablesError or TargetRefused."""
        try:
            fd = os.open(self._root, _FOLDER)
        except FileNotFoundError:
            return  # there is no directory yet
        except OSError as error:
            raise TablesError(f"cannot be used: {error.strerror}", path=self._root) from error
        try:
            remove_draft(fd, self._draft)
        finally:
            os.close(fd)

    @contextmanager
    def draft(self) -> Iterator["_DirectoryDraft"]:
        """Yield an empty draft. Raises TablesError or OSError."""
        try:
            make_root(self._root)
            fd = os.open(self._root, _FOLDER)
        except OSError as error:
            raise TablesError(f"cannot be used: {error.strerror}", path=self._root) from error
        try:
            with durable.naming(self._root / self._draft), drafted(fd, self._draft) as draft:
                yield _DirectoryDraft(self._root, draft)
        finally:
            os.close(fd)

    def remove(self, name: str) -> None:
        """Delete a file, and the folders around it that are empty then. Raises OutputError."""
        parts = tuple(name.split("/"))
        remove_output(OutputPath(self._root, parts))
        for length in range(len(parts) - 1, len(parts) - 1 - _DEEPEST, -1):
            remove_empty(OutputPath(self._root, parts[:length]))

    def parts(self, folder: str) -> list[str]:
        """Return the names of all parts below a folder."""
        found = os.walk(self._root / folder)
        return sorted(os.path.relpath(os.path.join(at, PART), self._root) for at, _, files in found if PART in files)


class _DirectoryDraft:
    """A draft in the directory."""

    def __init__(self, root: Path, draft: UnfinishedFile) -> None:
        self._root = root
        self._draft = draft
        self.write = draft.write

    def publish(self, name: str, expected: FileStamp | None) -> FileStamp:
        """Give it its name. Raises OutputError or OSError."""
        stamp = self._draft.complete()
        try:
            self._draft.publish(self._root, tuple(name.split("/")), expected)
        except TargetRefused as error:
            raise OutputError(error.what, path=self._root / name, hint="remove it") from error
        return stamp
