"""Sessions as the ledger has them: which are recorded, which are about to be, which were forgotten."""

from contextlib import closing
from pathlib import Path
from typing import Final

from katod.formats.stream import bridge
from katod.model import SessionKey
from katod.serve.index.entry import File, Numbers, SessionEntry, numbers_of, stat_of
from katod.store.collections import Tombstones
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import PersonalRow

_LEDGER: Final = (LEDGER_NAME, f"{LEDGER_NAME}-wal")


class LedgerSessions:
    """The sessions in the ledger of a state directory, which is read again whenever it has changed."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._signature: Numbers | None = None
        self._begun: frozenset[str] = frozenset()
        self._forgotten = Tombstones(())
        self._said: dict[SessionKey, PersonalRow] = {}

    def said(self, key: SessionKey) -> PersonalRow:
        """Return what the user says of a session."""
        return self._said.get(key) or PersonalRow(key)

    def is_begun(self, name: str) -> bool:
        """Return whether a recording of a session has started, but its transcript is not named yet."""
        return name in self._begun

    @property
    def forgotten(self) -> frozenset[bytes]:
        """What the sessions that were forgotten are known by."""
        return self._forgotten.sessions

    def is_forgotten(self, key: SessionKey) -> bool:
        """Return whether a session, or the one that it is a sub-agent of, was forgotten."""
        return self._forgotten.covers(key)

    def take(self, entries: dict[str, SessionEntry]) -> list[SessionEntry] | None:
        """Update `entries` if the ledger has changed; return those that are new, None if it has not changed.

        Sessions that are no longer recorded, or were forgotten, are removed. Raises LedgerError.
        """
        signature = numbers_of(self._state / name for name in _LEDGER)
        if signature == self._signature:
            return None
        recorded, new = set[str](), dict[int, SessionEntry]()
        begun, said, forgotten = frozenset[str](), dict[SessionKey, PersonalRow](), Tombstones(())
        if (ledger := Ledger.read(self._state)) is not None:
            with closing(ledger):
                recorded, begun = _compare(ledger, entries, new)
                _read(ledger, new)
                said = ledger.personal.all()
                forgotten = ledger.tombstones if ledger.has_tombstones() else forgotten
        self._begun, self._said, self._forgotten = begun, said, forgotten
        for name, entry in list(entries.items()):
            if name not in recorded and (entry.number or self.is_forgotten(entry.key)):
                del entries[name]
        self._signature = signature
        return list(new.values())


def _compare(
    ledger: Ledger, entries: dict[str, SessionEntry], new: dict[int, SessionEntry]
) -> tuple[set[str], frozenset[str]]:
    """Add sessions that were not recorded before to `entries` and `new`.

    Returns the UUIDs of all that are recorded, and of those whose transcript is not named yet. Raises LedgerError.
    """
    before, recorded, begun = (
        {entry.number: name for name, entry in entries.items() if entry.number},
        set[str](),
        set[str](),
    )
    for number, key, is_open, is_named in ledger.recorded_sessions():
        if not is_named:
            begun |= {bridge.session_uuid(key)} if is_open else set()
            continue
        name = before.get(number, "")
        if not name or entries[name].key != key:
            name = bridge.session_uuid(key)
            new[number] = entries[name] = SessionEntry(key, number)
        entries[name].set_recording(is_open)
        recorded.add(name)
    return recorded, frozenset(begun)


def _read(ledger: Ledger, new: dict[int, SessionEntry]) -> None:
    """Read metadata and files of sessions, which are given by their numbers in the ledger. Raises LedgerError."""
    if not new:
        return
    first, last = min(new), max(new)
    for number, metadata, count in ledger.recorded_metadata(first, last):
        if (entry := new.get(number)) is not None:
            entry.set_count(count)
            entry.set_metadata(metadata)
    files: dict[int, list[File]] = {number: [] for number in new}
    for number, path, identity, seen in ledger.recorded_files(first, last):
        if number in new:
            files[number].append((path, identity, stat_of(path, identity) or seen))
    for number, entry in new.items():
        entry.take(files.pop(number))
