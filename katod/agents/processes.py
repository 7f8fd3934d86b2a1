"""Signs that the client of a session still runs, read from /proc on Linux.

A sign that is missing says that the client has ended only if katod would have seen it. What it cannot see is a client
of another user, as in some containers, and one that runs under another name; then the answer is None.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from katod.metadata import SessionStart
from katod.smallfile import read_small

PROC: Final = Path("/proc")
_KEPT: Final = 2.0  # seconds for which one look counts, so that many sessions cost one
_LARGEST: Final = 64 * 1024
_ALL_USERS: Final = [b"0", b"0", b"4294967295"]  # outside of any user namespace
_INTERPRETERS: Final = frozenset({"bun", "node"})  # what they execute is their first argument


class Process(NamedTuple):
    """A program: its number, what it is called, and the folder that it works in (empty: that is not said)."""

    number: str
    names: frozenset[str]
    folder: str

    def is_in(self, folder: str) -> bool:
        """Return whether it works in a folder, which may be named by a link."""
        return self.folder in (folder, os.path.realpath(folder))


def runs_in(folder: str, names: frozenset[str]) -> bool | None:
    """Return whether a client with one of these names works in a folder; None if unknown."""
    if not folder or not can_be_seen():
        return None
    there = [one for one in _processes() if one.is_in(folder)]
    if any(names & one.names for one in there):
        return True
    is_unnamed = any(one.names <= _INTERPRETERS for one in there)
    return None if is_unnamed or _is_hidden(names) else False


def has_open(path: str, names: frozenset[str], folder: str = "") -> bool | None:
    """Return whether a client with one of these names has a file open, in this folder if one is given.

    None if unknown: there is no such file, something else has it open, or a client in another folder has.
    """
    if not can_be_seen() or not os.path.exists(path):
        return None
    holders = [one for one in _processes() if _has_open(one.number, path)]
    if any(names & one.names and one.is_in(folder or one.folder) for one in holders):
        return True
    return None if holders or _is_hidden(names) else False


def client_in_folder(names: frozenset[str], _path: Path, _session: str, start: SessionStart) -> bool | None:
    """Return whether a client with one of these names works in the session's folder; None if unknown."""
    return runs_in(start.cwd, names)


def client_with_file(names: frozenset[str], path: Path, _session: str, _start: SessionStart) -> bool | None:
    """Return whether a client with one of these names has the session's file open; None if unknown."""
    return has_open(str(path), names)


def _is_hidden(names: frozenset[str]) -> bool:
    """Return whether a client with one of these names runs, of which nothing else is known."""
    return any((names | _INTERPRETERS) & one.names and not one.folder for one in _processes())


def can_be_seen() -> bool:
    """Return whether there is anything to look at: in a user namespace, other programs of the user are hidden."""
    try:
        return read_small(PROC / "self/uid_map", _LARGEST).split() == _ALL_USERS
    except OSError:
        return False


def _has_open(number: str, path: str) -> bool:
    """Return whether a program has a file open, whatever the folder is called where it runs.

    Only a file of the same name is asked for more: that may take long, where it is on another machine.
    """
    name = os.path.basename(path)
    with suppress(OSError):
        stat = os.stat(path)
        places = (place for place, opened in _opened(number, _look()) if opened == name)
        return any(_is_same(place, stat) for place in places)
    return False


def _is_same(place: str, stat: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.stat(place), stat)
    return False


@lru_cache(maxsize=4096)
def _opened(number: str, _look: int) -> tuple[tuple[str, str], ...]:
    """Return what a program has open: the place in /proc, and the name of the file."""
    found: list[tuple[str, str]] = []
    with suppress(OSError), os.scandir(PROC / number / "fd") as entries:
        for entry in entries:
            with suppress(OSError):
                found.append((entry.path, os.path.basename(os.readlink(entry.path))))
    return tuple(found)


def _look() -> int:
    return int(time.monotonic() / _KEPT)


def _processes() -> tuple[Process, ...]:
    return _read(_look())


@lru_cache(maxsize=1)
def _read(_look: int) -> tuple[Process, ...]:
    """Return the programs that run; katod itself, which reads the files of agents, is none of them."""
    numbers: list[str] = []
    with suppress(OSError):
        numbers = [name for name in os.listdir(PROC) if name.isdecimal() and name != str(os.getpid())]
    return tuple(one for number in numbers if (one := _process(number)))


def _process(number: str) -> Process | None:
    """Return a program, only its name if it is another user's. None if it has ended, even if it is still listed."""
    place = PROC / number
    try:
        name = read_small(place / "comm", _LARGEST).decode("utf-8", "replace").strip()
        program = os.path.basename(os.readlink(place / "exe").removesuffix(" (deleted)"))
        names = {program, *_executed(place)} if program in _INTERPRETERS else {program, name}
        return Process(number, frozenset(names), os.readlink(place / "cwd"))
    except PermissionError:
        return Process(number, frozenset({name}), "")
    except OSError:
        return None


def _executed(place: Path) -> Iterator[str]:
    """Yield what an interpreter executes, or what that calls itself: then nothing else is in its arguments."""
    first, *arguments = read_small(place / "cmdline", _LARGEST).decode("utf-8", "replace").split("\0")
    named = (one for one in arguments if one and not one.startswith("-"))
    yield os.path.basename(next(named, first)).strip()
