"""What a room should have of the recordings in a world, and what it has."""

from typing import Any

import orjson

from katod.log import EventLog
from katod.matrix.lines import RoomEvent, lines_of
from katod.record.export import Stretch, replay
from katod.record.ranges import RangePrinter
from katod.store.ledger import Ledger
from tests.matrix.homeserver import Homeserver
from tests.support.world import World


def expected(world: World) -> list[RoomEvent]:
    """Return the lines of all recordings, one after the other, as the format has them."""
    ledger = Ledger.read(world.state)
    assert ledger is not None
    lines: list[RoomEvent] = []
    try:
        for row in ledger.outputs():
            printer = RangePrinter("matrix", row.options, row.ranges)
            stretches = [Stretch(one.path, one.identity, row.limit(one)) for one in ledger.sources_of(row.session)]
            key = ledger.session(row.session).key
            for event, metadata in replay(key, stretches, EventLog()):
                lines += lines_of(printer.take(event, metadata))
    finally:
        ledger.close()
    return lines


def assert_complete(world: World, server: Homeserver) -> int:
    """Assert that the room has each line of the recordings, once and in order; return how many there are."""
    wanted = [(line.type, bare(line.content)) for line in expected(world)]
    found = [(event["type"], bare(event["content"])) for event in server.events]
    assert found == wanted
    server.assert_each_once()
    return len(wanted)


def bare(content: dict[str, Any]) -> bytes:
    """Return a content without what delivery changes in it."""
    return orjson.dumps(_without(content), option=orjson.OPT_SORT_KEYS)


def _without(value: Any) -> Any:
    """Return a value without relations and addresses, wherever they are in it."""
    if isinstance(value, dict):
        return {name: _without(inner) for name, inner in value.items() if name not in ("m.relates_to", "mxc_uri")}
    return [_without(inner) for inner in value] if isinstance(value, list) else value
