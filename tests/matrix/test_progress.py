"""What is told of how the delivery is going."""

from types import SimpleNamespace
from typing import Any

import pytest

from katod.errors import DeliveryError
from katod.log import EventLog
from katod.matrix.exchange import Exchange, Progress
from katod.matrix.progress import Progresses


@pytest.fixture
def exchange() -> Exchange:
    """Return an exchange of which the other end sleeps."""
    return Exchange(lambda: None)


@pytest.fixture
def progress(exchange: Exchange) -> Progresses:
    """Return the progress of a room."""
    return Progresses("!room", exchange, EventLog())


def test_a_limit_without_a_time_makes_no_busy_loop(progress: Progresses) -> None:
    """At least a second, and longer each time; as long as the server asks if that is more."""
    assert [progress.wait(DeliveryError("limit", wait=0)) for _ in range(4)] == [1, 2, 4, 8]
    assert progress.wait(DeliveryError("limit", wait=100)) == 100
    progress.sent()
    assert progress.wait(DeliveryError("limit", wait=0.1)) == 1


def test_the_first_state_of_a_recording_is_always_told(progress: Progresses, exchange: Exchange) -> None:
    """An earlier katod may have told of a problem that is over."""
    reader: Any = SimpleNamespace(recording=SimpleNamespace(row=SimpleNamespace(id=1), last=0), done=False, problem="")
    progress.note(reader)
    progress.note(reader)
    assert exchange.take()[0] == [Progress(reader.recording, False, "")]
    reader.problem = "gone"
    progress.note(reader)
    assert exchange.take()[0] == [Progress(reader.recording, False, "gone")]


def test_one_failure_is_not_told_to_people(progress: Progresses, exchange: Exchange) -> None:
    """The next try may just work; the second one in a row is a problem of the recording."""
    recording: Any = SimpleNamespace(row=SimpleNamespace(id=1), last=0)
    progress.postponed(recording, "broken", 1, failures=1)
    assert exchange.take()[0] == []
    progress.postponed(recording, "broken", 1, failures=2)
    progress.postponed(recording, "broken", 1, failures=3)
    assert exchange.take()[0] == [Progress(recording, False, "broken")]
