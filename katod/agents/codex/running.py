"""Whether a client runs that may work at a session."""

from pathlib import Path
from typing import Final

from katod.agents.processes import has_open
from katod.metadata import SessionStart

_PROGRAMS: Final = frozenset({"codex"})


def runs(path: Path, _session: str, _start: SessionStart) -> bool | None:
    """Return whether a client has the rollout open, as it has as long as it may write to it."""
    return has_open(str(path), _PROGRAMS)
