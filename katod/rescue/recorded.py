"""Which sessions lose nothing when their agents delete them: those of which all is recorded."""

from collections.abc import Iterable
from pathlib import Path

from katod.model import SessionKey
from katod.store.rows import OutputRow, SessionRow


def recorded_whole(sessions: Iterable[SessionRow], outputs: Iterable[OutputRow]) -> set[SessionKey]:
    """Return the sessions that are recorded from their beginning on without an end, in a file that has text."""
    known = {row.id: row.key for row in sessions}
    return {known[row.session] for row in outputs if _records_all(row) and _has_text(row.path)}


def _records_all(row: OutputRow) -> bool:
    """Return whether all of a session is recorded in an output, with what is still to come."""
    if not row.made or row.is_copy or row.problem or len(row.ranges) != 1:
        return False
    return not row.ranges[0].start and not row.ranges[0].end


def _has_text(path: Path) -> bool:
    try:
        return path.lstat().st_size > 0
    except OSError:
        return False
