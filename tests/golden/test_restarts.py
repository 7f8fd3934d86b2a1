"""Whatever is remembered between the records of a fixture survives a restart."""

from typing import Any, Final

import orjson
import pytest

from katod.agents import AGENTS
from katod.events import Event
from katod.log import EventLog
from katod.model import Cursor
from katod.record.export import Stretch
from katod.record.stream import LocalDedup, NoDedup, SessionStream
from tests.golden.cases import Case, cases
from tests.looping import each

CASES: Final = [case for case in cases() if len(case.paths) == 1]


@pytest.mark.breaks
@each("case", CASES, ids=str)
def test_a_restart_after_each_line_changes_no_event(case: Case) -> None:
    """A session and its adapter go on from their states, as JSON, and give the events of one process."""
    assert _restarted(case) == [event for event, _ in case.events()]


def _restarted(case: Case) -> list[Event]:
    [path] = case.paths
    spec = AGENTS[case.agent]
    stretch = Stretch(str(path), spec.named(path))
    seen = LocalDedup() if spec.nature.has_native_ids else NoDedup()
    kept: Any = None
    state: Any = None
    found: list[Event] = []
    with spec.open(str(path)) as file:
        batch = file.read(Cursor(), path.stat().st_size)
        rest = file.rest(batch.cursor.offset)
    for line in batch.lines:
        stream, translation = _taken_up(stretch, seen, kept, state)
        found += stream.events(stretch, [line])
        kept, state = orjson.loads(orjson.dumps([stream.state(), translation.state()]))
    stream, _ = _taken_up(stretch, seen, kept, state)
    return [*found, *stream.rest(stretch, rest), *stream.settle(stretch)]


def _taken_up(stretch: Stretch, seen: Any, kept: Any, state: Any) -> Any:
    stream = SessionStream(stretch.identity.key, seen, EventLog(), kept)
    return stream, stream.open(stretch, state)
