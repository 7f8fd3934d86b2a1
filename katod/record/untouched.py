"""Which transcripts are as katod wrote them: what is recorded in these, and in no others, counts as recorded."""

from collections.abc import Iterable, Iterator
from typing import Final

from katod.model import SessionKey
from katod.record.outputfile import is_as_written
from katod.record.reading import located
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow

_TRIES: Final = 3  # while katod goes on writing


def untouched(ledger: Ledger) -> list[tuple[SessionKey, OutputRow]]:
    """Return the recordings and copies whose files are as katod wrote them.

    katod may be writing to one at this moment: its row is read once more then, and not that of any other.
    """
    keys = {row.id: row.key for row in ledger.sessions()}
    rows = ledger.outputs()
    found = dict(_untouched(rows))
    for _ in range(_TRIES):
        later = [row for row in rows if row.id not in found and (row.open or row.intent is not None)]
        rows = [row for old in later for row in ledger.outputs(old.session) if row.id == old.id and row != old]
        found |= _untouched(rows)
    return [(keys[row.session], row) for _, row in sorted(found.items())]


def _untouched(rows: Iterable[OutputRow]) -> Iterator[tuple[int, OutputRow]]:
    """Yield those of these outputs that are untouched. Of one that is being made, the row says so a little later."""
    begun = [row for row in rows if row.held is None and row.ino and (row.made or row.intent is not None)]
    yield from ((row.id, row) for row in located(begun) if is_as_written(row))
