"""A history that is written once more, as some clients do: under other ids, at other times, whole or in part."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from katod.agents import AGENTS
from katod.log import EventLog
from katod.model import Identity, Line, SessionKey
from katod.record.export import Stretch
from katod.record.stream import LocalDedup, NoDedup, SessionStream

_IDS: Final = ("id", "uuid", "parentUuid", "parentId", "messageId", "promptId", "toolCallId", "call_id", "tool_use_id")
_TIMES: Final = ("timestamp", "time", "created_at", "ts")
_PLACE: Final = "/nowhere/s"
Row = dict[str, Any]


def written_again(agent: str, rows: list[Row]) -> list[list[str]]:
    """Return the names of the events of a session in each way in which all of it, or a part, is written again."""
    last, half = _last_time(rows), len(rows) // 2
    same, late = [[_renewed(row, time) for row in rows] for time in (None, last)]
    ways = (same, late[:half], [*late[half:], *rows[-1:]], [*late[:half], *late[half + 1 :]])
    return [_names(agent, rows, way) for way in ways]


def _names(agent: str, rows: list[Row], more: list[Row]) -> list[str]:
    """Return the kinds and places of the events of records, and of more, in the middle of which katod is restarted."""
    seen = LocalDedup() if AGENTS[agent].nature.has_native_ids else NoDedup()
    source = Stretch(_PLACE, Identity(SessionKey(agent, "s")))
    lines, middle = list(_lines([*rows, *more])), len(rows) + len(more) // 2
    stream = SessionStream(source.identity.key, seen, EventLog())
    found = list(stream.events(source, lines[:middle]))
    kept, state = orjson.loads(orjson.dumps([stream.state(), stream.open(source).state()]))
    stream = SessionStream(source.identity.key, seen, EventLog(), kept)
    stream.open(source, state)
    found += [*stream.events(source, lines[middle:]), *stream.rest(source, None), *stream.settle(source)]
    return [f"{event.kind} {event.id}" for event in found]


def _lines(rows: Iterable[Row]) -> Iterator[Line]:
    at = 0
    for row in rows:
        data = orjson.dumps(row)
        yield Line(at, at + len(data) + 1, data)
        at += len(data) + 1


def _renewed(value: Any, time: Any, key: str = "") -> Any:
    """Return a record with other ids, and another time if one is given."""
    if isinstance(value, dict):
        return {name: _renewed(part, time, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_renewed(part, time) for part in value]
    if key in _IDS and isinstance(value, str):
        return f"{value}-2"
    return time if key in _TIMES and time is not None and type(value) is type(time) else value


def _last_time(rows: list[Row]) -> Any:
    times = (row[key] for row in reversed(rows) for key in _TIMES if isinstance(row.get(key), str | int))
    return next(times, None)
