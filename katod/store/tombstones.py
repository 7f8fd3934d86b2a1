"""Tombstones of forgotten sessions: found by the path or the identity of a file, from which they cannot be read."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from katod.model import Cursor, Identity, SessionKey, Stat
from katod.store.rows import SourceRow, TombstoneRow
from katod.store.tables import encode_json

_SALT: Final = 16
_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class BuriedSource:
    """What a source contained when its session was forgotten: all of it is history."""

    seen: Stat
    history: int
    baseline: int | None
    cursor: Cursor
    read_ns: int
    commands: list[str] = field(default_factory=list)  # the dedup keys of all commands in it
    said: list[str] = field(default_factory=list)  # what identifies these and its first message in a copy of it


class Tombstones:
    """All tombstones of a ledger."""

    def __init__(self, rows: Iterable[TombstoneRow]) -> None:
        self._rows: dict[bytes, TombstoneRow] = {}
        self._identities: dict[bytes, TombstoneRow] = {}
        self._sessions: dict[bytes, TombstoneRow] = {}
        self._salt = b""
        self._reopened: set[bytes] = set()
        for row in rows:
            self.add(row)

    def add(self, row: TombstoneRow) -> None:
        """Add one, in place of that of the same path."""
        self._salt = row.salt
        self._reopened.discard(row.session)
        self._rows[row.path] = self._identities[row.identity] = self._sessions[row.session] = row

    def make(self, source: SourceRow, rest: BuriedSource, forgotten_ns: int) -> TombstoneRow:
        """Return a new one for a source, which is not added yet."""
        self._salt = self._salt or os.urandom(_SALT)
        return TombstoneRow(
            path=self._hash(source.path),
            identity=self._hash(encode_json(source.identity)),
            session=self._hash(encode_json(source.identity.key)),
            salt=self._salt,
            seen=rest.seen,
            history=rest.history,
            baseline=rest.baseline,
            cursor=rest.cursor,
            read_ns=rest.read_ns,
            forgotten_ns=forgotten_ns,
        )

    def of_source(self, path: str, identity: Identity) -> TombstoneRow | None:
        """Return the one of a file, wherever in its root it is now; None if it belongs to no forgotten session."""
        if not self._rows:
            return None
        return self._rows.get(self._hash(path)) or self._identities.get(self._hash(encode_json(identity)))

    def of_session(self, key: SessionKey) -> TombstoneRow | None:
        """Return one of a session, None if it was not forgotten."""
        return self._sessions.get(self._hash(encode_json(key))) if self._rows else None

    def reopen(self, key: SessionKey) -> None:
        """Let katod know a session again, because a person asks for it; what was said before stays history."""
        self._reopened.add(self._hash(encode_json(key)))

    def is_reopened(self, row: TombstoneRow) -> bool:
        """Return whether a person asked for the session of a tombstone since this process began."""
        return row.session in self._reopened

    def mark(self, said: str) -> str:
        """Return what the ledger keeps of something that was said in a forgotten session, empty if there is none."""
        return f"forgotten:{self._hash(said).hex()}" if self._salt and said else ""

    def _hash(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST, key=self._salt).digest()
