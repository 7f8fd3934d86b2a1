"""What the ledger says of sessions: which were recorded, which are about to be, which were forgotten."""

from contextlib import closing
from pathlib import Path
from typing import Final

from katod.formats.stream import bridge
from katod.model import SessionKey
from katod.serve.known import File, Known
from katod.serve.stats import Numbers, numbers_of, stat_of
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.tombstones import Tombstones

_LEDGER: Final = (LEDGER_NAME, f"{LEDGER_NAME}-wal")


class Recorded:
    """The ledger in a state directory, read again whenever it has changed."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._signature: Numbers | None = None
        self._begun: frozenset[str] = frozenset()
        self._forgotten = Tombstones(())

    def is_begun(self, name: str) -> bool:
        """Return whether a session is being recorded, but waits for the words that name its transcript."""
        return name in self._begun

    def is_forgotten(self, key: SessionKey) -> bool:
        """Return whether a session was forgotten, or the one that it is a sub-agent of."""
        return any(self._forgotten.of_session(one) is not None for one in {key, key._replace(subagent="")})

    def take(self, known: dict[str, Known]) -> list[Known] | None:
        """Bring up to date what is known, if the ledger has changed; return which sessions are new, None if it has not.

        Those that are no longer recorded are left out, and those that were forgotten. Raises LedgerError.
        """
        signature = numbers_of(self._state / name for name in _LEDGER)
        if signature == self._signature:
            return None
        recorded, new = set[str](), dict[int, Known]()
        self._begun = frozenset()
        if (ledger := Ledger.read(self._state)) is not None:
            with closing(ledger):
                recorded, self._begun = _compare(ledger, known, new)
                _read(ledger, new)
                self._forgotten = ledger.tombstones if ledger.has_tombstones() else Tombstones(())
        for name, one in list(known.items()):
            if name not in recorded and (one.number or self.is_forgotten(one.key)):
                del known[name]
        self._signature = signature
        return list(new.values())


def _compare(ledger: Ledger, known: dict[str, Known], new: dict[int, Known]) -> tuple[set[str], frozenset[str]]:
    """Return which sessions are recorded; put those that were not among them into what is known, and what is new.

    Return the UUIDs of those whose recording waits for the words that name it, too. Raises LedgerError.
    """
    before, recorded, begun = {one.number: name for name, one in known.items() if one.number}, set[str](), set[str]()
    for number, key, is_open, is_named in ledger.recorded_sessions():
        if not is_named:
            begun |= {bridge.session_uuid(key)} if is_open else set()
            continue
        name = before.get(number, "")
        if not name or known[name].key != key:
            name = bridge.session_uuid(key)
            new[number] = known[name] = Known(key, number)
        known[name].is_open = is_open
        recorded.add(name)
    return recorded, frozenset(begun)


def _read(ledger: Ledger, new: dict[int, Known]) -> None:
    """Read what the ledger knows of sessions, by their numbers there. Raises LedgerError."""
    if not new:
        return
    first, last = min(new), max(new)
    for number, metadata, count in ledger.recorded_metadata(first, last):
        if (known := new.get(number)) is not None:
            known.count = count
            known.note(metadata)
    files: dict[int, list[File]] = {number: [] for number in new}
    for number, path, identity, seen in ledger.recorded_files(first, last):
        if number in new:
            files[number].append((path, identity, stat_of(path, identity) or seen))
    for number, known in new.items():
        known.files = files.pop(number)
