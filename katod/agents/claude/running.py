"""Claude Code: what it says of a running session in `sessions/<pid>.json`, rewritten at each change.

A process that ended badly leaves its file, and its number may belong to another one by now. So what a file says counts
only if the process began when the file says. Where that can be checked (with /proc, in the same container), a file of a
process that has ended says that nobody works at the session any more; so does, after a while, that no client has a file
for it, if all of its version do.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from katod.agents.claude.places import REPORTS
from katod.agents.fields import text_of
from katod.metadata import SessionStart
from katod.smallfile import read_small
from katod.states import Report, State
from katod.tail.decode import loads

PROC: Final = Path("/proc")
_LARGEST: Final = 64 * 1024
_MOST: Final = 256  # files of processes that run
_CLIENT: Final = "cli"  # the client that people use; programs that use it as a library have no files
_FIRST: Final = (2, 1, 330)  # the version from which on it is known to have one as long as it runs
_QUIET: Final = 60.0  # seconds since the session last changed
_VERSION: Final = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")
_START: Final = 22 - 3  # the field of a process's start, counted after its name in parentheses
_STATES: Final = {"idle": State.IDLE, "shell": State.IDLE, "busy": State.WORKING, "waiting": State.BLOCKED}
_OWN_DIALOG: Final = "dialog open"  # of the client itself, before any turn
_NEEDS: Final[dict[str, Literal["permission", "question"]]] = {
    "permission prompt": "permission", "input needed": "question"
}  # fmt: skip


class _File(NamedTuple):
    """What a client wrote of itself, when it did, and whether it runs (None: unknown)."""

    row: dict[str, Any]
    written: float  # seconds since 1970
    runs: bool | None


def reported(path: Path, session: str, start: SessionStart) -> Report | None:
    """Return what the client says of a session, given its file and how it began; None if it says nothing."""
    if "projects" not in path.parts or not (PROC / "self").exists():
        return None
    folder = Path(*path.parts[: path.parts.index("projects")]) / REPORTS
    living, others = _numbers(folder)
    files = list(_files(folder, living))
    if report := max(_reports(files, session), key=lambda report: report.since, default=None):
        return report
    if len(files) < len(living) or not _is_quiet(path):  # one may just be writing
        return None
    files += _files(folder, others)
    is_gone = _is_gone([file for file in files if file.row.get("sessionId") == session])
    is_gone = _is_missed(folder, files, start) if is_gone is None else is_gone
    return Report(State.IDLE, is_gone=True) if is_gone else None


def _is_gone(own: list[_File]) -> bool | None:
    """Return whether the processes that have files for a session have ended; None if there are none."""
    return all(file.runs is False for file in own) if own else None


def _numbers(folder: Path) -> tuple[list[str], list[str]]:
    """Return the numbers of the processes that have files: those that run, and the others, the newest first."""
    numbers: list[str] = []
    with suppress(OSError):
        numbers = [name.removesuffix(".json") for name in os.listdir(folder) if name.endswith(".json")]
    living = {number for number in numbers if number.isdecimal() and (PROC / number).exists()}
    others = sorted(set(numbers) - living, key=lambda number: -_changed(folder / f"{number}.json"))
    return sorted(living)[:_MOST], others[:_MOST]


def _files(folder: Path, numbers: Iterable[str]) -> Iterator[_File]:
    """Yield what clients wrote; a file that is being written, or has vanished, is left out."""
    for number in numbers:
        path = folder / f"{number}.json"
        with suppress(OSError, ValueError):
            row = loads(read_small(path, _LARGEST))
            if isinstance(row, dict):
                yield _File(row, _changed(path), _runs(row))


def _changed(path: Path) -> float:
    """Return when a file was last written, in seconds since 1970, 0 if it has vanished."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _runs(row: dict[str, Any]) -> bool | None:
    """Return whether the process of a file runs; None if it is one of another container, or unknown."""
    pid, began = row.get("pid"), text_of(row.get("procStart"))
    if not isinstance(pid, int) or not began:
        return None
    if _start_of(pid) == began:
        return True
    with suppress(OSError):
        return False if text_of(row.get("pidDomain")).endswith(os.readlink(PROC / "self" / "ns" / "pid")) else None
    return None


def _reports(files: Iterable[_File], session: str) -> Iterator[Report]:
    """Yield what clients that run say of a session."""
    for file in files:
        state, needs = _STATES.get(text_of(file.row.get("status"))), text_of(file.row.get("waitingFor"))
        if file.runs and state is not None and needs != _OWN_DIALOG and file.row.get("sessionId") == session:
            since = file.row.get("statusUpdatedAt")
            yield Report(state, since / 1000 if isinstance(since, int) else file.written, _NEEDS.get(needs, ""))


def _is_quiet(path: Path) -> bool:
    """Return whether nothing was written to a session for a while."""
    return 0 < _changed(path) <= time.time() - _QUIET


def _is_missed(folder: Path, files: list[_File], start: SessionStart) -> bool:
    """Return whether a session's client would have a file if it ran: all of its kind do, and none is at that place."""
    version = _VERSION.match(start.version)
    if start.origin != _CLIENT or not version or tuple(map(int, version.groups())) < _FIRST or not folder.is_dir():
        return False
    return not any(file.runs is not False and file.row.get("cwd") == start.cwd for file in files)


def _start_of(pid: int) -> str:
    """Return when a process began, in the machine's own count; empty if there is none, or it is unknown."""
    try:
        status = read_small(PROC / str(pid) / "stat", _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    fields = status.rpartition(")")[2].split()  # the name may contain blanks and parentheses
    return fields[_START] if len(fields) > _START else ""
