"""Reads and replaces the small files of an agent: only regular files of this user, through no link unless asked."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from katod import durable
from katod.errors import SetupError, TargetRefused
from katod.write.safe import PRIVATE_FILE, open_parent, require_plain_file

LARGEST: Final = 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_OWN_GROUP: Final = -1  # the group that a new file gets
_LINKS: Final = "use --follow-links to change the target"


class FoundFile(NamedTuple):
    """A file as it is: its content, its mode and its group."""

    data: bytes
    mode: int
    group: int = _OWN_GROUP


class Change(NamedTuple):
    """What is to become of a file; None is a file that does not exist. `note` replaces a long text in a preview."""

    path: Path
    before: bytes | None
    after: bytes | None
    mode: int = PRIVATE_FILE
    note: str = ""
    group: int = _OWN_GROUP


class Files:
    """The files below the home directory, or in a directory that the user named elsewhere."""

    def __init__(self, *, follow: bool = False) -> None:
        self._follow = follow

    def read(self, path: Path) -> FoundFile | None:
        """Return a file, None if it does not exist. Raises SetupError for what is not a plain file of this user."""
        try:
            with self._opened(path, make=False) as (parent, name):
                return _read(parent, name)
        except FileNotFoundError:
            return None

    def change(self, change: Change) -> None:
        """Replace, create or remove a file as a whole. Raises SetupError, also if it is not any more as it was."""
        with self._opened(change.path, make=True) as (parent, name):
            _require_own(os.fstat(parent))
            found = _found(parent, name)
            if (found.data if found else None) != change.before:
                raise SetupError("it was changed in the meantime", hint="run the command again")
            if change.after is None:
                durable.remove(name, folder=parent)
            else:
                kept = found or FoundFile(b"", change.mode, change.group)
                _replace(parent, name, kept._replace(data=change.after))
            durable.sync_names(parent)

    @contextmanager
    def _opened(self, path: Path, *, make: bool) -> Iterator[tuple[int, str]]:
        """Yield the folder of a file, and its name in it; whatever goes wrong is a SetupError with the path."""
        real = Path(os.path.realpath(path)) if self._follow else Path(os.path.abspath(path))
        root = _root(real)
        try:
            _require_own(os.stat(root))
            with open_parent(root, real.relative_to(root).parts, make=make) as parent:
                yield parent, real.name
        except TargetRefused as error:
            hint = _LINKS if "link" in error.what and "hard" not in error.what else ""
            raise SetupError(error.what, path=path, hint=hint) from error
        except SetupError as error:
            raise SetupError(error.what, path=path, hint=error.hint) from error
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SetupError(f"it cannot be used: {error.strerror}", path=path) from error


def _root(path: Path) -> Path:
    """Return where the walk to a file begins: at home, or elsewhere in the last folder that there is."""
    home = Path.home()
    return home if path.is_relative_to(home) else next(folder for folder in path.parents if os.path.isdir(folder))


def _require_own(folder: os.stat_result) -> None:
    """Raise SetupError for the folder of another user, as root would find it in a user's home."""
    if folder.st_uid != os.getuid():
        raise SetupError("its directory belongs to another user")


def _found(parent: int, name: str) -> FoundFile | None:
    try:
        return _read(parent, name)
    except FileNotFoundError:
        return None


def _read(parent: int, name: str) -> FoundFile:
    """Return a file. Raises TargetRefused, SetupError, or FileNotFoundError."""
    if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        raise TargetRefused(f"{name} is a symbolic link")
    fd = os.open(name, _READ, dir_fd=parent)
    try:
        status = os.fstat(fd)
        require_plain_file(status, name)
        data = b""
        while piece := os.read(fd, LARGEST + 1 - len(data)):
            data += piece
    finally:
        os.close(fd)
    if len(data) > LARGEST:
        raise SetupError(f"it is larger than {LARGEST} bytes")
    return FoundFile(data, stat.S_IMODE(status.st_mode), status.st_gid)


def _replace(parent: int, name: str, made: FoundFile) -> None:
    """Write a file beside another one, and rename it into its place; its group is kept, so that it is read by them."""
    part = f".{name}.katod-{os.getpid()}"
    fd = durable.create(part, os.O_WRONLY, PRIVATE_FILE, folder=parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(made.data)
            file.flush()
            os.fchown(fd, -1, made.group)
            os.fchmod(fd, made.mode)
            durable.sync(fd)
        durable.rename(part, name, folder=parent)
    except BaseException:
        with suppress(OSError):
            durable.remove(part, folder=parent)
        raise
