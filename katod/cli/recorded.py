"""Which sessions are recorded, and where."""

from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

from katod.cli.context import Context
from katod.errors import LedgerError
from katod.model import SessionKey
from katod.record.reading import located
from katod.store.rows import OutputRow, transcripts


class Recorded(NamedTuple):
    """The transcripts of one session, whether one is being written, and whether it waits for the words that name it."""

    now: bool = False
    outputs: tuple[str, ...] = ()
    waits: bool = False

    @classmethod
    def of(cls, rows: Iterable[OutputRow]) -> "Recorded":
        """Return what the outputs of a session say."""
        shown = transcripts(rows)
        made = tuple(str(row.path) for row in shown if row.held is None)
        return cls(any(row.open for row in shown), made, any(row.held is not None for row in shown))


def recorded_by_session(context: Context) -> dict[SessionKey, Recorded]:
    """Return the sessions that were recorded, none if the ledger cannot be read."""
    with suppress(LedgerError), context.reading() as ledger:
        if ledger is not None:
            rows = groupby(sorted(located(ledger.outputs()), key=_session_of), _session_of)
            return {ledger.session(session).key: Recorded.of(some) for session, some in rows}
    return {}


def _session_of(row: OutputRow) -> int:
    return row.session
