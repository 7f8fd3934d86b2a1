"""What the ledger knows of edits within recorded ranges: keyed hashes of lines and of paths, and ids of events.

No path, no line and no word of a session is in it. It says nothing to whoever does not have the file.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from katod.store.keyedhash import KeyedHash
from katod.store.rows import EditKeyRow, EditRow
from katod.store.tables import EDIT_KEYS, EDITS

_HERE: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'edits'"
_ADD_KEY: Final = EDIT_KEYS.insert.replace("INSERT", "INSERT OR IGNORE", 1)
# A second recording may have the prompt that the first one had not.
_ADD: Final = (
    f"{EDITS.insert} ON CONFLICT DO UPDATE SET prompt = excluded.prompt, answer = excluded.answer WHERE prompt = ''"
)
_MOST: Final = 500  # of one statement


class RecordedEdits:
    """The table of edits. Writes happen within a transaction of the ledger."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @cached_property
    def hashes(self) -> KeyedHash:
        """The hashes of this ledger; a reader of one that has none yet gets others."""
        row = self._db.execute(EDIT_KEYS.select).fetchone() if self._is_here else None
        return KeyedHash(EDIT_KEYS.read(row).key) if row else KeyedHash.random()

    @property
    def _is_here(self) -> bool:
        return self._db.execute(_HERE).fetchone() is not None  # one that is only read may lack the table

    def add(self, rows: Iterable[EditRow]) -> None:
        """Add edits whose results have not come yet; one that is known is not added again."""
        self._db.execute(_ADD_KEY, EDIT_KEYS.values(EditKeyRow(1, self.hashes.key)))
        self._db.executemany(_ADD, map(EDITS.values, rows))

    def end(self, session: int, event: int, *, went_well: bool) -> None:
        """Note that a call did what it was asked to, by the hash of its event; if it did not, it edited nothing."""
        what = "UPDATE edits SET done = 1" if went_well else "DELETE FROM edits"
        self._db.execute(f"{what} WHERE session = ? AND event = ?", (session, event))

    def of(self, files: Iterable[int]) -> list[EditRow]:
        """Return the edits of files with these names, by their hashes, that went well, oldest first."""
        wanted = sorted(set(files)) if self._is_here else []
        rows = [row for at in range(0, len(wanted), _MOST) for row in self._of(wanted[at : at + _MOST])]
        return sorted(rows, key=lambda row: (row.time, row.session, row.number))

    def _of(self, files: list[int]) -> Iterator[EditRow]:
        marks = ", ".join("?" * len(files))
        return map(EDITS.read, self._db.execute(f"{EDITS.select} WHERE file IN ({marks}) AND done", files))
