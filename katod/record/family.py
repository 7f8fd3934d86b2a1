"""Which sessions belong to a session: those of its sub-agents, named after it or with ids of their own."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import SPAWNED
from katod.errors import SourceError
from katod.log import EventLog
from katod.model import SessionKey
from katod.record.export import Stretch, replay
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, SessionRow, SourceRow

_HEAD_BYTES = 64 * 1024
_HEAD_EVENTS = 10


def family(key: SessionKey, ledger: Ledger) -> list[SessionRow]:
    """Return the session with this key and the sessions of its sub-agents, as far as the ledger knows them."""
    sessions = {row.id: row for row in ledger.sessions()}
    found = {row.id for row in sessions.values() if _is_named_after(row.key, key)}
    if not found:
        return []
    others = [row for row in ledger.sources(SourceRow) if row.identity.key.agent == key.agent]
    outputs, ids = ledger.outputs(), {key.id}
    while True:
        new = _recorded_beside(outputs, found) | _spawned_by(ids, (row for row in others if row.session not in found))
        if not new - found:
            return [row for row in sessions.values() if row.id in found]
        found |= new
        ids = {sessions[number].key.id for number in new}


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


def _spawned_by(ids: set[str], sources: Iterable[SourceRow]) -> set[int]:
    """Return the sessions that one of these started, as their first records say."""
    words = [name.encode("utf-8", "replace") for name in ids]
    return {row.session for row in sources if _may_name(row, words) and _parent(row) in ids}


def _may_name(source: SourceRow, words: list[bytes]) -> bool:
    """Return whether the beginning of a file has one of these words; what is in a container has to be asked."""
    if source.gone or AGENTS[source.identity.key.agent].is_contained(source.path):
        return not source.gone
    with suppress(OSError), Path(source.path).open("rb") as file:
        head = file.read(_HEAD_BYTES)
        return any(word in head for word in words)
    return False


def _parent(source: SourceRow) -> str:
    """Return the id of the session that started another one as a sub-agent, empty if none did."""
    for event in _first_events(source):
        if event.kind == ev.SESSION_START:
            return event.session.parent if event.payload.get("origin") == SPAWNED else ""
    return ""


def _first_events(source: SourceRow) -> Iterator[ev.Event]:
    events = replay(source.identity.key, [Stretch(source.path, source.identity)], EventLog())
    with suppress(SourceError):
        yield from (event for event, _ in islice(events, _HEAD_EVENTS))
