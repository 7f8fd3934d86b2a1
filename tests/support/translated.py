"""Records of one session as events, without files: in one go, and with a restart after each record."""

from pathlib import Path
from typing import Any

import orjson

from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.events import Event
from katod.model import Identity, Record, SessionKey

Row = dict[str, Any]


def translated(
    agent: str, *records: Row, identity: Identity | None = None, path: Path = Path("/nowhere/s")
) -> list[Event]:
    """Return the events of these records. They are the same however often the adapter is restarted."""
    origin = Origin(identity or Identity(SessionKey(agent, "s")), path)
    make = AGENTS[agent].adapter
    rows = [Record(n * 100, row) for n, row in enumerate(records)]
    adapter, events = make(origin), []
    for row in rows:
        events += adapter.feed(row)
    again: list[Event] = []
    state = None
    for row in rows:
        restarted = make(origin, state)
        assert state is None or orjson.loads(orjson.dumps(restarted.state())) == state, "what is remembered is taken up"
        again += restarted.feed(row)
        state = orjson.loads(orjson.dumps(restarted.state()))
    assert again == events
    return events


def payloads(events: list[Event], kind: str) -> list[Row]:
    """Return the payloads of the events of one kind."""
    return [event.payload for event in events if event.kind == kind]


def kinds(events: list[Event]) -> list[str]:
    """Return the kinds of events, in order."""
    return [event.kind for event in events]
