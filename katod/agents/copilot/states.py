"""Copilot CLI: what a session is doing, by records other than messages and calls."""

from pathlib import Path
from typing import Any, Final

from katod.agents.processes import has_open
from katod.metadata import SessionStart

_AUTOPILOT: Final = "autopilot"  # the mode in which the client sends the next prompt itself, until the work is done
COMPLETE: Final = "complete"  # what is remembered as the mode after that: the model said that it is
_PROGRAMS: Final = frozenset({"copilot"})


def goes_on(mode: str) -> dict[str, Any]:
    """Return what the end of an answer says, given the mode of its prompt: whether the client goes on by itself.

    That it does after calls goes without saying; but not after the call that says that all is done.
    """
    return {"goesOn": mode == _AUTOPILOT} if mode in (_AUTOPILOT, COMPLETE) else {}


def runs(path: Path, _session: str, _start: SessionStart) -> bool | None:
    """Return whether a client has open what it keeps in the session's folder: a file for each client, named by it.

    One that is killed leaves its file (seen with 1.0.102). What older ones have there says nothing.
    """
    found = [has_open(str(hold), _PROGRAMS) for hold in path.parent.glob("inuse.*.hold")]
    return True if True in found else None if None in found or not found else False
