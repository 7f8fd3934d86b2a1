"""What lists of exports and data sets claim of sessions, and what is believed: a list may come from elsewhere."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from katod.agents import AGENTS
from katod.archive.drop import ListedFile, names_of_others
from katod.archive.manifest import Entry
from katod.discover.found import FoundSession
from katod.metadata import SessionMetadata, SessionStart
from katod.model import SessionKey
from katod.record.beginning import read_beginning
from katod.record.spawned import spawner_of, with_started
from katod.store.ledger import Ledger


class Evidence(NamedTuple):
    """What is asked about a session before a list is."""

    found: Callable[[], Mapping[SessionKey, FoundSession]]  # the sessions that are there
    saved: Container[SessionKey]  # those that katod saved from deletion
    ledger: Ledger | None


class ClaimedSessions(NamedTuple):
    """The sessions in the lists of exports, by their folders, and of data sets, and which one started each."""

    copies: Mapping[Path, list[Entry]]
    rows: Mapping[SessionKey, str]  # the id of the session that started it, empty if none did

    @property
    def parents(self) -> dict[SessionKey, str]:
        """Each session in a list, with the id of the one that started it, if that is noted."""
        return {**self.rows, **{entry.slot[0]: entry.parent for entries in self.copies.values() for entry in entries}}

    def sessions(self) -> Iterator[SessionKey]:
        """Yield the sessions in the lists, and those that started them.

        So what could not be deleted can be tried again, whatever else has forgotten the session that is named.
        """
        for key, parent in self.parents.items():
            yield from (key, SessionKey(key.agent, parent or key.id))

    def started_by(self, known: set[SessionKey], witnesses: Evidence) -> list[SessionKey]:
        """Return the sessions that belong to those that are known, as only lists say, and are believed to."""
        parents = self.parents
        claimed = with_started(known, parents) - known
        named = {key: "" for key in claimed if key.subagent}  # their name says whose they are
        believed = self._believed({key: parents[key] for key in claimed - named.keys()}, witnesses)
        return sorted(with_started(known, named | {key: parents[key] for key in believed}) - known)

    def _believed(self, claimed: Mapping[SessionKey, str], witnesses: Evidence) -> Iterable[SessionKey]:
        """Yield those of these sessions that were started as lists claim.

        The records of a session say who started it, while they are there, and then its copies, or the list of a data
        set, which is katod's own. No list decides about a session that was recorded or saved, or of which its person
        says something.
        """
        there = witnesses.found() if claimed else {}
        for key, parent in claimed.items():
            if not AGENTS[key.agent].names_parents:
                continue
            if key in there:
                is_so = spawner_of(read_beginning(there[key])[0].start) == parent
            else:
                is_kept = key in witnesses.saved or _is_known(key, parent, witnesses.ledger)
                is_so = not is_kept and (self.rows.get(key) == parent or parent in self._parents_in_copies(key))
            if is_so:
                yield key

    def _parents_in_copies(self, key: SessionKey) -> Iterator[str]:
        """Yield which session the copies of a session say that it was started from."""
        for root, entries in self.copies.items():
            others = names_of_others(entries, key.__eq__)
            for entry in (one for one in entries if one.slot[0] == key):
                yield from (file.parent(others) for file in ListedFile.of(root, entry))


def _is_known(key: SessionKey, parent: str, ledger: Ledger | None) -> bool:
    """Return whether the ledger has outputs or words of a session, or another session that started it."""
    if ledger is None:
        return False
    row = ledger.find_session(key)
    start = SessionMetadata(key, row.metadata).start if row and row.metadata else SessionStart()
    is_anothers = bool(start.session) and spawner_of(start) != parent
    return is_anothers or not ledger.personal.of(key).is_empty or bool(row and ledger.outputs(row.id))
