"""Which sessions lose nothing when their agents delete them: those that are recorded completely."""

from collections import defaultdict
from collections.abc import Iterable

from katod.errors import OutputError
from katod.formatspec import FORMATS
from katod.model import SessionKey
from katod.record.outputfile import compared
from katod.store.rows import OutputRow, SessionRow


class RecordedSessions:
    """The sessions, or sub-agents, that are recorded from their beginning on without an end, in a file that is there.

    The file says what was said, and nobody saved an older copy over it, or cut it. It is opened when somebody asks.
    """

    def __init__(self, sessions: Iterable[SessionRow], outputs: Iterable[OutputRow]) -> None:
        known = {row.id: row.key for row in sessions}
        self._outputs: dict[SessionKey, list[OutputRow]] = defaultdict(list)
        for row in filter(_records_all, outputs):
            self._outputs[known[row.session]].append(row)

    def __contains__(self, key: SessionKey) -> bool:
        return any(map(_is_as_recorded, self._outputs.get(key, ())))

    def has_all(self, keys: Iterable[SessionKey | None]) -> bool:
        """Return whether nothing is lost with files of these sessions; one that is of none is recorded nowhere."""
        return all(key is not None and key in self for key in keys)


def _records_all(row: OutputRow) -> bool:
    """Return whether all of a session is recorded in an output, with what is still to come."""
    if not row.made or row.is_copy or row.problem or row.reverted or len(row.ranges) != 1:
        return False
    return FORMATS[row.format].has_words and not row.ranges[0].start and not row.ranges[0].end


def _is_as_recorded(row: OutputRow) -> bool:
    """Return whether an output still has what was written to it: one from which more was cut than was added has not."""
    try:
        seen = compared(row)
    except OutputError:
        return False
    return seen.change in ("same", "edited") and seen.known.size >= row.committed
