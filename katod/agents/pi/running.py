"""Whether a client runs that may work at a session."""

from pathlib import Path
from typing import Final

from katod.agents.processes import runs_in
from katod.metadata import SessionStart

_PROGRAMS: Final = frozenset({"pi"})


def runs(_path: Path, _session: str, start: SessionStart) -> bool | None:
    """Return whether one runs in the session's folder; None if that cannot be told."""
    return runs_in(start.cwd, _PROGRAMS)
