"""Which sessions are recorded, and where."""

from contextlib import suppress
from typing import NamedTuple

from katod.cli.context import Context
from katod.errors import LedgerError
from katod.model import SessionKey
from katod.record.reading import located


class Recorded(NamedTuple):
    """The outputs of one session, whether one is being written, and whether it waits for the words that name it."""

    now: bool = False
    outputs: tuple[str, ...] = ()
    waits: bool = False


def recorded_by_session(context: Context) -> dict[SessionKey, Recorded]:
    """Return the sessions that were recorded, none if the ledger cannot be read."""
    with suppress(LedgerError), context.reading() as ledger:
        rows = located(ledger.outputs()) if ledger else []
        keys = {number: ledger.session(number).key for number in {row.session for row in rows}} if ledger else {}
        found: dict[SessionKey, Recorded] = {}
        for row in rows:
            now, outputs, waits = found.get(keys[row.session], Recorded())
            made = () if row.held is not None else (str(row.path),)
            found[keys[row.session]] = Recorded(now or row.open, (*outputs, *made), waits or row.held is not None)
        return found
    return {}
