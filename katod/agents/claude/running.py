"""Claude Code: what it says of a running session in `sessions/<pid>.json`, rewritten at each change.

A process that ended badly leaves its file, and its number may belong to another one by now. So a file counts only if
the process began when the file says; where that cannot be checked (without /proc), none does: a session would be
working for ever.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from katod.agents.fields import text_of
from katod.lifecycle import Report, State
from katod.smallfile import read_small

PROC: Final = Path("/proc")
REPORTS: Final = "sessions"  # the folder
_LARGEST: Final = 64 * 1024
_MOST: Final = 256  # files
_START: Final = 22 - 3  # the field of a process's start, counted after its name in parentheses
_STATES: Final = {"idle": State.IDLE, "shell": State.IDLE, "busy": State.WORKING, "waiting": State.BLOCKED}
_OWN_DIALOG: Final = "dialog open"  # of the client itself, before any turn


def reported(path: Path, session: str) -> Report | None:
    """Return what the client says of a session, given its file; None if it says nothing, or does not run."""
    if "projects" not in path.parts:
        return None
    root = Path(*path.parts[: path.parts.index("projects")])
    reports = [report for row in _rows(root / REPORTS) if (report := _report(row, session)) is not None]
    return max(reports, key=lambda report: report.since, default=None)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the content of the files; one that is being written, or has vanished, is left out."""
    with suppress(OSError):
        for name in sorted(os.listdir(folder))[:_MOST]:
            if name.endswith(".json"):
                with suppress(OSError, orjson.JSONDecodeError):
                    row = orjson.loads(read_small(folder / name, _LARGEST))
                    if isinstance(row, dict):
                        yield row


def _report(row: dict[str, Any], session: str) -> Report | None:
    state = _STATES.get(text_of(row.get("status")))
    pid, began, since = row.get("pid"), text_of(row.get("procStart")), row.get("statusUpdatedAt")
    if state is None or row.get("sessionId") != session or row.get("waitingFor") == _OWN_DIALOG:
        return None
    if not isinstance(pid, int) or not began or _start_of(pid) != began:
        return None
    return Report(state, since / 1000 if isinstance(since, int) else 0.0)


def _start_of(pid: int) -> str:
    """Return when a process began, in the machine's own count; empty if there is none, or it cannot be told."""
    try:
        status = read_small(PROC / str(pid) / "stat", _LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    fields = status.rpartition(")")[2].split()  # the name may contain blanks and parentheses
    return fields[_START] if len(fields) > _START else ""
