"""Whether the restrictions of the unit hold for a process, as far as /proc tells: some systems ignore them silently."""

import os
from pathlib import Path
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_FILTERED: Final = "2"  # the mode of a process whose system calls are filtered


class Sandbox(NamedTuple):
    """What holds for a process; None where it cannot be seen."""

    hardened: bool | None = None  # it can gain no privileges, and its system calls are filtered
    confined: bool | None = None  # all but some directories is read-only for it


def sandbox(pid: int) -> Sandbox:
    """Return what can be seen of the restrictions of a process."""
    return Sandbox(_is_hardened(pid), _is_confined(pid))


def _is_hardened(pid: int) -> bool | None:
    try:
        lines = (_PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:
        return None
    rows = dict(line.partition(":")[::2] for line in lines)
    if "NoNewPrivs" not in rows or "Seccomp" not in rows:
        return None
    return rows["NoNewPrivs"].strip() == "1" and rows["Seccomp"].strip() == _FILTERED


def _is_confined(pid: int) -> bool | None:
    """Return whether its root is read-only, in a view of the file systems of its own."""
    try:
        if os.readlink(_PROC / str(pid) / "ns" / "mnt") == os.readlink(_PROC / "self" / "ns" / "mnt"):
            return False
        mounts = [line.split() for line in (_PROC / str(pid) / "mountinfo").read_text(errors="replace").splitlines()]
    except OSError:
        return None
    roots = [row[5].split(",") for row in mounts if len(row) > 5 and row[4] == "/"]
    return bool(roots) and "ro" in roots[-1]
