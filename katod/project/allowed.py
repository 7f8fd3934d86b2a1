"""The projects' files: where they are, which of them the person allowed, and what those say now."""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

from katod.errors import ConfigError
from katod.project.form import LARGEST, NAME, ProjectFile, parse_project
from katod.shell import pasted
from katod.smallfile import read_small, write_small
from katod.write.safe import is_transient

STORE: Final = "allowed.json"
_NEW: Final = "it is not allowed, and changes nothing"
_CHANGED: Final = "it has changed since you allowed it, and counts for nothing"
_MOST: Final = 4 * 1024 * 1024  # bytes of the store


class Look(NamedTuple):
    """A project's file as it is now: what it says if it is allowed, or why nothing of it counts."""

    path: Path
    file: ProjectFile | None = None
    problem: str = ""
    digest: str = ""  # of its content, if that can count

    @property
    def advice(self) -> str:
        """What to do about the problem."""
        allow = f"`katod allow {pasted(str(self.path.parent))}`"
        return f"read it, then run {allow}" if self.digest else f"correct or remove it, then run {allow}"


class Allowed:
    """What the person allowed: the path of each file and the hash of its content, in a private file."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def read(self) -> dict[str, str]:
        """Return the hash of each file by its path; nothing if the store is damaged. Raises OSError if busy."""
        try:
            row = json.loads(read_small(self._state / STORE, _MOST, own=True))
        except (OSError, ValueError, RecursionError) as error:
            _require_lasting(error)
            return {}
        return {path: digest for path, digest in row.items() if isinstance(digest, str)} if type(row) is dict else {}

    def allow(self, path: Path, data: bytes) -> None:
        """Allow a file as long as this is its content. Raises OSError."""
        self._state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._change(lambda known: known | {str(path): _digest(data)})

    def remove(self, path: Path) -> bool:
        """Allow a file no longer; return whether it was allowed. Raises OSError."""
        if str(path) not in self.read():
            return False
        self._change(lambda known: {other: digest for other, digest in known.items() if other != str(path)})
        return True

    def _change(self, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
        with _locked(self._state):
            write_small(self._state / STORE, json.dumps(change(self.read()), indent=1, sort_keys=True).encode())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process is in such a block."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def places(directory: str, home: Path) -> list[Path]:
    """Return where the file of a project may be, nearest first: in a directory or above, below home or `/`.

    Paths have no links, so that a project is the same by whatever name it is reached.
    """
    if not os.path.isabs(directory) or "\0" in directory:
        return []
    real, ends = Path(os.path.realpath(directory)), (Path(os.path.realpath(home)), Path("/"))
    return [folder / NAME for folder in takewhile(lambda folder: folder not in ends, (real, *real.parents))]


def nearest(directory: str, home: Path) -> Path | None:
    """Return the nearest file that there is, whatever it is."""
    return next(filter(os.path.lexists, places(directory, home)), None)


def read_project(path: Path) -> bytes:
    """Return the content of a project's file. Raises FileNotFoundError, or ConfigError if it cannot count."""
    try:
        return read_small(path, LARGEST, own=True)
    except FileNotFoundError:
        raise
    except OSError as error:
        _require_lasting(error)
        raise ConfigError(f"nothing of it counts: {error.strerror}", path=path) from error


def look(path: Path, known: dict[str, str]) -> Look | None:
    """Return what a project's file is now, None if there is none. Raises OSError if the machine is too busy.

    It is read once: what counts is the content whose hash was compared.
    """
    if not os.path.lexists(path):
        return None
    try:
        data = read_project(path)
        digest = _digest(data)
        if known.get(str(path)) == digest:
            return Look(path, parse_project(data, path), digest=digest)
    except FileNotFoundError:
        return None
    except ConfigError as error:
        return Look(path, problem=error.what)
    return Look(path, problem=_CHANGED if str(path) in known else _NEW, digest=digest)


def look_around(directories: Iterable[str], home: Path, known: dict[str, str]) -> list[Look]:
    """Return every file that counts or might count in some directories, and every other one that was allowed."""
    paths = {path for directory in directories for path in places(directory, home)}
    return [found for path in sorted(paths | set(map(Path, known))) if (found := look(path, known)) is not None]


def in_effect(directory: str, home: Path, allowed: Allowed) -> list[ProjectFile]:
    """Return the allowed files that count in a directory, the outermost first. No other file is opened."""
    known = allowed.read()
    found = [look(path, known) for path in places(directory, home) if str(path) in known] if known else []
    return [one.file for one in reversed(found) if one is not None and one.file is not None]


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _require_lasting(error: Exception) -> None:
    """Raise an error that is due to the present state of the machine: a file must not stop counting for that."""
    if isinstance(error, OSError) and is_transient(error):
        raise error
