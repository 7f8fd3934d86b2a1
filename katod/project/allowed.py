"""The projects' files: where they are, which of them the user allowed, and what those say now."""

import json
import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from katod import durable
from katod.errors import ConfigError
from katod.model import Tools
from katod.project.form import LARGEST, NAME, ProjectFile, parse_project
from katod.shell import pasted
from katod.smallfile import locked, read_small, write_small
from katod.write.safe import is_transient

STORE: Final = "allowed.json"
_NEW: Final = "it is not allowed, and has no effect"
_CHANGED: Final = "it has changed since you allowed it"
_GONE: Final = "it no longer exists"
_STILL: Final = "only what it excluded stays excluded"
_MOST: Final = 4 * 1024 * 1024  # bytes of the store


class Allowance(NamedTuple):
    """What the user allowed of a file: its content, by its hash, and what that leaves out of transcripts."""

    digest: str
    exclude: bool = False
    hides_thinking: bool = False
    tools: Tools | None = None

    @classmethod
    def of(cls, data: bytes, path: Path) -> "Allowance":
        """Return that of a file with this content. Raises ConfigError."""
        file = parse_project(data, path)
        return cls(_digest(data), file.exclude, file.hides_thinking, file.tools)

    @property
    def leaves_out(self) -> bool:
        """Whether it leaves out anything."""
        return self != Allowance(self.digest)

    def file(self, path: Path) -> ProjectFile:
        """Return a file that only leaves out what this does."""
        return ProjectFile(path, exclude=self.exclude, hides_thinking=self.hides_thinking, tools=self.tools)


Allowances = dict[str, Allowance]  # by the path of the file


class CheckedFile(NamedTuple):
    """A project's file as it is now: what counts of it, and why that is not all of it.

    Of one that is no longer what was allowed, what it left out goes on counting: agents may write to the project, and
    must not get recorded what the user excluded.
    """

    path: Path
    file: ProjectFile | None = None
    problem: str = ""
    digest: str = ""  # of its content, if that can count

    @property
    def changes(self) -> list[str]:
        """What counts of it, in words."""
        return self.file.changes() if self.file else []

    @property
    def refused(self) -> tuple[str, ...]:
        """What is refused of it."""
        return self.file.refused if self.file else ()

    @property
    def advice(self) -> str:
        """What to do about the problem."""
        folder = pasted(str(self.path.parent))
        if self.problem.startswith(_GONE):
            return f"put it back, or run `katod allow --remove {folder}`"
        return f"{'read it' if self.digest else 'correct or remove it'}, then run `katod allow {folder}`"


class Allowed:
    """What the user allowed, by the path of each file, in a private file."""

    def __init__(self, state: Path) -> None:
        self.path = state / STORE

    def read(self) -> Allowances:
        """Return what was allowed. Raises ConfigError if the store is damaged, OSError if the machine is too busy."""
        try:
            # A backup may have made a hard link to it: nobody else can write to the state directory.
            row = json.loads(read_small(self.path, _MOST, own=True, linked=True))
            return {path: _allowance(entry) for path, entry in row.items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            _require_lasting(error)
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            what = f"the list of allowed files cannot be read, so no project's file has an effect: {reason}"
            hint = "move it away, then run `katod allow` in each project again"
            raise ConfigError(what, path=self.path, hint=hint) from error

    def allow(self, path: Path, data: bytes) -> None:
        """Allow a file as long as this is its content. Raises ConfigError, OSError."""
        allowance = Allowance.of(data, path)
        durable.make_own_folder(self.path.parent)
        self._change(lambda known: known | {str(path): allowance})

    def remove(self, path: Path) -> bool:
        """Allow a file no longer; return whether it was allowed. Raises ConfigError, OSError."""
        if str(path) not in self.read():
            return False
        self._change(lambda known: {other: allowance for other, allowance in known.items() if other != str(path)})
        return True

    def _change(self, change: Callable[[Allowances], Allowances]) -> None:
        with locked(self.path.parent):
            rows = {path: allowance._asdict() for path, allowance in change(self.read()).items()}
            write_small(self.path, json.dumps(rows, indent=1, sort_keys=True).encode())


def _allowance(row: dict[str, Any]) -> Allowance:
    """Return an entry of the store. Raises TypeError, ValueError."""
    found = Allowance(**row)
    kinds = (type(found.digest), type(found.exclude), type(found.hides_thinking))
    if kinds != (str, bool, bool) or found.tools not in (None, *get_args(Tools)):
        raise ValueError
    return found


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
        raise ConfigError(f"it has no effect: {error.strerror}", path=path) from error


def look(path: Path, known: Allowances) -> CheckedFile | None:
    """Return what a project's file is now, None if nothing is there that counts or could. Raises OSError if busy.

    It is read once: what counts is the content whose hash was compared.
    """
    allowed = known.get(str(path))
    if not os.path.lexists(path):
        return _unlike(path, allowed, _GONE)
    try:
        data = read_project(path)
        digest = _digest(data)
        if allowed is not None and allowed.digest == digest:
            return CheckedFile(path, parse_project(data, path), digest=digest)
    except FileNotFoundError:
        return _unlike(path, allowed, _GONE)
    except ConfigError as error:
        return _unlike(path, allowed, error.what) or CheckedFile(path, problem=error.what)
    problem = _NEW if allowed is None else f"{_CHANGED}, and has no effect"
    return (_unlike(path, allowed, _CHANGED) or CheckedFile(path, problem=problem))._replace(digest=digest)


def _unlike(path: Path, allowed: Allowance | None, why: str) -> CheckedFile | None:
    """Return what goes on counting of a file that is not what was allowed, None if nothing does."""
    if allowed is None or not allowed.leaves_out:
        return None
    return CheckedFile(path, allowed.file(path), f"{why}; {_STILL}")


def look_around(directories: Iterable[str], home: Path, known: Allowances) -> list[CheckedFile]:
    """Return every file that counts or might count in some directories, and every other one that was allowed."""
    paths = {path for directory in directories for path in places(directory, home)}
    return [found for path in sorted(paths | set(map(Path, known))) if (found := look(path, known)) is not None]


def in_effect(directory: str, home: Path, allowed: Allowed) -> list[ProjectFile]:
    """Return the allowed files that count in a directory, the outermost first. No other file is opened.

    There is none while it is not known what was allowed: `katod status` and `katod doctor` say so.
    """
    try:
        known = allowed.read()
    except ConfigError:
        return []
    found = [look(path, known) for path in places(directory, home) if str(path) in known] if known else []
    return [one.file for one in reversed(found) if one is not None and one.file is not None]


def may_exclude(allowed: Allowed) -> bool:
    """Return whether some project is excluded by its allowed file, or may be, as it is not known what was allowed."""
    try:
        return any(one.exclude for one in allowed.read().values())
    except ConfigError:
        return True


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _require_lasting(error: Exception) -> None:
    """Raise an error that is due to the present state of the machine: a file must not stop counting for that."""
    if isinstance(error, OSError) and is_transient(error):
        raise error
