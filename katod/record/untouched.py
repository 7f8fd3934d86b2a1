"""Which transcripts are as katod wrote them: what is recorded in these, and in no others, counts as recorded."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from katod.model import SessionKey
from katod.record.outputfile import Integrity, integrity
from katod.record.reading import located
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow

_TRIES: Final = 3  # while katod goes on writing
SessionOutput = tuple[SessionKey, OutputRow]


class UntouchedOutputs(NamedTuple):
    """Recordings and copies with their sessions: `whole` ones are as katod wrote them, `unknown` ones may be.

    Those are on a disk that is not mounted, or cannot be read now. Nobody has taken them back, as far as is known.
    """

    whole: list[SessionOutput] = []  # noqa: RUF012 - never changed
    unknown: list[SessionOutput] = []  # noqa: RUF012 - likewise

    @property
    def all(self) -> list[SessionOutput]:
        """All of them, in the order in which they were begun."""
        return sorted((*self.whole, *self.unknown), key=lambda pair: pair[1].id)


def untouched(ledger: Ledger) -> UntouchedOutputs:
    """Return the outputs that nobody has changed.

    katod may be writing to one at this moment: its row is read once more then, and not that of any other.
    """
    keys = {row.id: row.key for row in ledger.sessions()}
    rows = ledger.outputs()
    judged = _judged(rows)
    for _ in range(_TRIES):
        rows = _changed(ledger, [row for row in rows if not _is_whole(judged.get(row.id))])
        judged |= _judged(rows)
    whole, unknown = (
        [(keys[row.session], row) for row, what in judged.values() if what == one] for one in ("whole", "unknown")
    )
    return UntouchedOutputs(whole, unknown)


def _changed(ledger: Ledger, rows: Iterable[OutputRow]) -> list[OutputRow]:
    """Return the rows of outputs that katod has written to since, as they are now."""
    active = [row for row in rows if row.open or row.intent is not None]
    return [row for old in active for row in ledger.outputs(old.session) if row.id == old.id and row != old]


def _judged(rows: Iterable[OutputRow]) -> dict[int, tuple[OutputRow, Integrity]]:
    """Return the outputs that have a file, by their ids. Of one that is being made, its row says so a little later."""
    begun = [row for row in rows if row.held is None and row.ino and (row.made or row.intent is not None)]
    return {row.id: (row, integrity(row)) for row in located(begun)}


def _is_whole(judged: tuple[OutputRow, Integrity] | None) -> bool:
    return judged is not None and judged[1] == "whole"
