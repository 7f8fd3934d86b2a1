"""What the person says of sessions, in their own words: what they call one, a star, labels."""

import sqlite3
from collections.abc import Iterable
from typing import Final

from katod.model import SessionKey
from katod.store.rows import PersonalRow
from katod.store.tables import PERSONAL, encode_json

_SET: Final = PERSONAL.insert.replace("INSERT", "INSERT OR REPLACE", 1)
_HAS_ANY: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'personal'"


class Personal:
    """The rows of all sessions of which the person said something."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def all(self) -> dict[SessionKey, PersonalRow]:
        """Return each row by its session. Raises LedgerDamaged for anything that katod did not write."""
        if self._db.execute(_HAS_ANY).fetchone() is None:  # a ledger that is only read may lack the table
            return {}
        return {row.session: row for row in map(PERSONAL.read, self._db.execute(PERSONAL.select))}

    def of(self, session: SessionKey) -> PersonalRow:
        """Return what is said of a session; an empty row if nothing is."""
        if self._db.execute(_HAS_ANY).fetchone() is None:
            return PersonalRow(session)
        row = self._db.execute(f"{PERSONAL.select} WHERE session = ?", (encode_json(session),)).fetchone()
        return PERSONAL.read(row) if row else PersonalRow(session)

    def save(self, row: PersonalRow) -> None:
        """Store what is said of a session, in place of what was."""
        if row.is_empty:
            self.forget([row.session])
        else:
            self._db.execute(_SET, PERSONAL.values(row))

    def forget(self, sessions: Iterable[SessionKey]) -> None:
        """Delete what is said of these sessions, and of their sub-agents."""
        forgotten = set(sessions)
        gone = [key for key in self.all() if forgotten & {key, key._replace(subagent="")}]
        self._db.executemany("DELETE FROM personal WHERE session = ?", ((encode_json(key),) for key in gone))
