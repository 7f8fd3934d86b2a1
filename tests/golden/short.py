"""Short sessions, each about a few rules of translation, and all that their records give."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from katod.agents import AGENTS
from katod.agents.base import Adapter, Origin
from katod.errors import AgentFailed
from katod.events import Event
from katod.model import Identity, Record, SessionKey
from tests.golden.cases import FIXTURES
from tests.golden.facts import FACTS, digest_of

SHORT: Final = FIXTURES / "short"  # a file for each agent, with a session in each line
_PLACE: Final = Path("/nowhere/s")
_EVERY: Final = 1000  # bytes from one record to the next
Row = dict[str, Any]
Place = tuple[str | int, ...]
Field = tuple[str, str, str]  # an agent, a kind of its records, and a field of them


class Session(NamedTuple):
    """The records of one session."""

    agent: str
    number: int
    rows: list[Row]

    def __str__(self) -> str:
        return f"{self.agent}, line {self.number}"

    def facts(self, varied: set[Field]) -> Row:
        """Return all events of the session, those of a sub-agent with these records, and what is typed.

        And what becomes of it without each of its fields that are not `varied` yet, or with other values, as a digest.
        """
        return {
            "events": list(map(_shown, self.events())),
            "as a sub-agent": [[event.kind, event.payload] for event in self.events("a1")],
            "typed": self.typed(),
            "for usage": digest_of([[event.kind, event.payload] for event in self._used()]),
            "varied": digest_of([_told(other) for other in self._varied(varied)]),
        }

    def events(self, subagent: str = "") -> list[Event]:
        """Return the events of the session, read by an adapter that is restarted before each record."""
        origin = Origin(Identity(SessionKey(self.agent, "s", subagent)), _PLACE)
        adapter: Adapter = AGENTS[self.agent].adapter(origin, None)
        found = []
        for number, row in enumerate(self.rows):
            found += adapter.feed(Record(number * _EVERY, row))
            adapter = AGENTS[self.agent].adapter(origin, orjson.loads(orjson.dumps(adapter.state())))
        return [*found, *adapter.finish()]

    def typed(self) -> list[Any]:
        """Return the texts that may have been typed."""
        adapter = AGENTS[self.agent].adapter
        return [list(text) for row in self.rows for text in adapter.typed_texts(row)]

    def _used(self) -> Iterator[Event]:
        """Yield what is translated for `katod usage`."""
        adapter: Adapter = AGENTS[self.agent].adapter(Origin(Identity(SessionKey(self.agent, "s")), _PLACE), None)
        for number, row in enumerate(self.rows):
            yield from adapter.feed_usage(Record(number * _EVERY, row))

    def _varied(self, varied: set[Field]) -> Iterator["Session"]:
        for number, row in enumerate(self.rows):
            for place in _places(row):
                field = self.agent, str(row.get("type", row.get("role"))), _named(place)
                if field not in varied:
                    varied.add(field)
                    for changed in _changed(row, place):
                        yield self._replace(rows=[*self.rows[:number], changed, *self.rows[number + 1 :]])


def _told(session: Session) -> Any:
    try:
        return [list(map(_shown, session.events())), *session.typed()]
    except AgentFailed:
        return "failed"


def _places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Yield where the fields of a value are, at any depth."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*at, key)
            yield from _places(part, (*at, key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _places(part, (*at, number))


def _named(place: Place) -> str:
    return ".".join("[]" if isinstance(key, int) else key for key in place)


def _changed(value: Any, place: Place) -> list[Any]:
    """Return a value without the field at a place, and with others of the same and of another type in it."""
    first, rest = place[0], place[1:]
    if rest:
        return [_with(value, first, part) for part in _changed(value[first], rest)]
    kept = {key: part for key, part in value.items() if key != first}
    return [kept, *(_with(value, first, other) for other in _others(value[first]))]


def _with(value: Any, at: str | int, part: Any) -> Any:
    if isinstance(value, list):
        assert isinstance(at, int)
        return [*value[:at], part, *value[at + 1 :]]
    return value | {at: part}


def _others(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, str):
        return [f"{value} x", "", ["x"]]
    return [0, -1, "x"] if isinstance(value, int | float) else [None, "x", [], {}]


def sessions() -> list[Session]:
    """Return all short sessions."""
    return [
        Session(path.stem, number, orjson.loads(line))
        for path in sorted(SHORT.glob("*.jsonl"))
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
    ]


def _shown(event: Event) -> list[Any]:
    """Return an event without what all events of a session share, and without what it does not have."""
    more = {
        "time": event.time, "turn": event.turn, "model": event.model, "typed": event.typed, "dedup": event.dedup_key,
        "parent": event.session.parent, "session": event.session.id, "blobs": event.blobs,
    }  # fmt: skip
    own = {"session": "s", "dedup": event.id}
    return [
        event.id, event.kind, event.payload, event.source,
        {name: fact for name, fact in more.items() if fact and fact != own.get(name)},
    ]  # fmt: skip


def texts() -> dict[Path, bytes]:
    """Return what the golden file of each agent contains: a line for each session."""
    found: dict[Path, bytes] = {}
    varied: set[Field] = set()
    for session in sessions():
        path = golden(session.agent)
        found[path] = found.get(path, b"") + orjson.dumps(session.facts(varied)) + b"\n"
    return found


def golden(agent: str) -> Path:
    """Return the golden file of an agent's short sessions."""
    return FACTS / "short" / f"{agent}.jsonl"
