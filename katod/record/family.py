"""Which sessions belong to a session: those of its sub-agents, named after it or with ids of their own."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from katod import events as ev
from katod.agents import AGENTS
from katod.errors import SourceError
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.export import Stretch, replay
from katod.record.spawned import spawner_of
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, SessionRow, SourceRow

_HEAD_BYTES = 64 * 1024
_HEAD_EVENTS = 10


def family(key: SessionKey, ledger: Ledger) -> list[SessionRow]:
    """Return the session with this key and the sessions of its sub-agents, as far as the ledger knows them.

    Sources are opened only where their records alone say who started a sub-agent, each once and at its beginning. Of
    one that is gone, it is known if the session was recorded.
    """
    sessions = {row.id: row for row in ledger.sessions()}
    found = {row.id for row in sessions.values() if _is_named_after(row.key, key)}
    if not found:
        return []
    outputs, parents = ledger.outputs(), _parents(key.agent, sessions.values(), ledger)
    while True:
        ids = {sessions[number].key.id for number in found}
        new = _recorded_beside(outputs, found) | {number for number, parent in parents.items() if parent in ids}
        if not new - found:
            return [row for row in sessions.values() if row.id in found]
        found |= new


def _is_named_after(other: SessionKey, key: SessionKey) -> bool:
    return other == key or (not key.subagent and (other.agent, other.id) == (key.agent, key.id))


def _recorded_beside(outputs: list[OutputRow], sessions: set[int]) -> set[int]:
    """Return the sessions whose outputs are in the folders for sub-agents of these sessions."""
    folders = {
        row.path.parent / row.options.subagents_folder
        for row in outputs
        if row.session in sessions and row.options.subagents_folder
    }
    return {row.session for row in outputs if row.path.parent in folders}


def _parents(agent: str, sessions: Iterable[SessionRow], ledger: Ledger) -> dict[int, str]:
    """Return the id of the session that started each of an agent's, as far as their first records name one."""
    if not AGENTS[agent].names_parents:
        return {}
    read = {row.id: SessionMetadata(row.key, row.metadata).start for row in sessions if row.metadata}
    known = {number: spawner_of(start) for number, start in read.items() if start.session}
    sources = (row for row in ledger.sources() if row.identity.key.agent == agent and not row.gone)
    found = {row.session: _parent(row) for row in sources if row.session not in known}
    return {number: parent for number, parent in (known | found).items() if parent}


def _parent(source: SourceRow) -> str:
    """Return the id of the session that started another one as a sub-agent, empty if none did."""
    metadata = SessionMetadata(source.identity.key)
    if first := next((event for event in _first_events(source) if event.kind == ev.SESSION_START), None):
        metadata.observe(first)
    return spawner_of(metadata.start)


def _first_events(source: SourceRow) -> Iterator[ev.Event]:
    is_file = not AGENTS[source.identity.key.agent].is_contained(source.path)
    head = Stretch(source.path, source.identity, _HEAD_BYTES if is_file else None)
    with suppress(SourceError):
        yield from (event for event, _ in islice(replay(source.identity.key, [head], EventLog()), _HEAD_EVENTS))
