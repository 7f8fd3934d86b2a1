"""OpenCode: whether a client is running that may be working on a session."""

from pathlib import Path
from typing import Final

from katod.agents.processes import has_open
from katod.metadata import SessionStart

_PROGRAMS: Final = frozenset({"opencode", "opencode.exe", ".opencode"})


def runs(path: Path, _session: str, start: SessionStart) -> bool | None:
    """Return whether a client in the session's folder has the database open, as it has as long as it runs."""
    database_path = str(path).rpartition("#")[0]
    return has_open(database_path, _PROGRAMS, start.cwd) if database_path else None
