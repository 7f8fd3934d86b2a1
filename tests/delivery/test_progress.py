"""What is told of how the delivery is going."""

from types import SimpleNamespace
from typing import Any

import pytest

from katod.delivery.exchange import Exchange, Progress
from katod.delivery.progress import ProgressReporter
from katod.errors import DeliveryError
from katod.log import EventLog


@pytest.fixture
def exchange() -> Exchange:
    """Return an exchange of which the other end sleeps."""
    return Exchange(lambda: None)


@pytest.fixture
def logged() -> list[tuple[str, dict[str, Any]]]:
    """Return what is logged, by name."""
    return []


@pytest.fixture
def progress(exchange: Exchange, logged: list[tuple[str, dict[str, Any]]]) -> ProgressReporter:
    """Return the progress of a room."""
    return ProgressReporter(
        "matrix", "!room", exchange, EventLog(lambda _, name, fields: logged.append((name, fields)))
    )


def test_a_limit_without_a_time_makes_no_busy_loop(progress: ProgressReporter) -> None:
    """At least a second, and longer each time; as long as the server asks if that is more."""
    assert [progress.wait(DeliveryError("limit", wait=0)) for _ in range(4)] == [1, 2, 4, 8]
    assert progress.wait(DeliveryError("limit", wait=100)) == 100
    progress.sent()
    assert progress.wait(DeliveryError("limit", wait=0.1)) == 1


def test_the_first_state_of_a_recording_is_always_told(progress: ProgressReporter, exchange: Exchange) -> None:
    """An earlier katod may have told of a problem that is over."""
    reader: Any = SimpleNamespace(recording=SimpleNamespace(row=SimpleNamespace(id=1), last=0), done=False, problem="")
    progress.note(reader)
    progress.note(reader)
    assert exchange.take()[0] == [Progress(reader.recording, False, "")]
    reader.problem = "gone"
    progress.note(reader)
    assert exchange.take()[0] == [Progress(reader.recording, False, "gone")]


def test_one_failure_is_not_told_to_people(progress: ProgressReporter, exchange: Exchange) -> None:
    """The next try may just work; the second one in a row is a problem of the recording."""
    recording: Any = SimpleNamespace(row=SimpleNamespace(id=1), last=0)
    progress.postponed(recording, "broken", 1, failures=1)
    assert exchange.take()[0] == []
    progress.postponed(recording, "broken", 1, failures=2)
    assert exchange.take()[0] == [Progress(recording, False, "broken")]
    progress.postponed(recording, "broken", 1, failures=3)
    assert exchange.take()[0] == []


def test_a_recording_that_was_withheld_is_reported_again(progress: ProgressReporter, exchange: Exchange) -> None:
    """What was said of it before was taken back; what is said of the others stays."""
    one, other = (SimpleNamespace(row=SimpleNamespace(id=number), last=0) for number in (1, 2))
    for recording in (one, other, one, other):
        progress.postponed(recording, "broken", 1, failures=2)
    assert len(exchange.take()[0]) == 2
    progress.keep({2: other})
    for recording in (one, other):
        progress.postponed(recording, "broken", 1, failures=3)
    assert exchange.take()[0] == [Progress(one, False, "broken")]


def rows(exchange: Exchange) -> list[tuple[str, str, bool, bool]]:
    """Return what was reported of the room: its id, why events wait, whether they do, and whether that is for good."""
    return [(row.destination, row.problem, bool(row.since), row.stopped) for row in exchange.take()[0]]


def test_an_outage_is_reported_once(progress: ProgressReporter, exchange: Exchange, logged: list[Any]) -> None:
    """When it begins, when there is another reason for it, and when nothing waits any more."""
    progress.started()
    for problem in ("no answer", "no answer", "limit"):
        progress.wait(DeliveryError(problem))
    assert rows(exchange) == [
        ("!room", "", False, False), ("!room", "no answer", True, False), ("!room", "limit", True, False)
    ]  # fmt: skip
    progress.started()
    assert rows(exchange) == []  # events wait until one was sent
    progress.idle()
    progress.idle()
    assert rows(exchange) == [("!room", "", False, False)]
    assert logged == [
        ("delivery.started", {"to": "matrix", "destination": "!room"}),
        ("delivery.waits", {"to": "matrix", "problem": "no answer", "retry_seconds": 1.0}),
        ("delivery.waits", {"to": "matrix", "problem": "limit", "retry_seconds": 4.0}),
        ("delivery.resumed", {"to": "matrix"}),
    ]


def test_a_homeserver_is_well_again_after_a_minute_without_failure(
    progress: ProgressReporter, exchange: Exchange, logged: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event that was sent says little: the next one may fail again."""
    now = [1000.0]
    monkeypatch.setattr("katod.delivery.progress.monotonic", lambda: now[0])
    progress.wait(DeliveryError("limit"))
    exchange.take()
    for seconds in (30, 30, 1):
        assert rows(exchange) == []
        now[0] += seconds
        progress.sent()
    assert rows(exchange) == [("!room", "", False, False)]
    assert logged[-1] == ("delivery.resumed", {"to": "matrix"})


def test_what_was_sent_last_is_reported_when_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though other reports are only read at times, so that a long recording does not wake the daemon at each event."""
    woken: list[int] = []
    exchange = Exchange(lambda: woken.append(1))
    monkeypatch.setattr("katod.delivery.exchange._WAKE_EVERY", 3600.0)
    exchange.report(())
    exchange.report(())
    before = len(woken)
    ProgressReporter("matrix", "!room", exchange, EventLog()).idle()
    assert (before, len(woken)) == (1, 2)


def test_an_end_is_reported(progress: ProgressReporter, exchange: Exchange, logged: list[Any]) -> None:
    """With the reason, and that only other settings help."""
    progress.stop("the room is encrypted")
    assert rows(exchange) == [("!room", "the room is encrypted", True, True)]
    assert logged == [("delivery.stopped", {"to": "matrix", "problem": "the room is encrypted"})]


def test_what_became_of_a_recording_is_logged(
    progress: ProgressReporter, exchange: Exchange, logged: list[Any]
) -> None:
    """All of it was sent, or it cannot be; while neither is so, nothing is logged."""
    reader: Any = SimpleNamespace(recording=SimpleNamespace(row=SimpleNamespace(id=1), last=0), done=False, problem="")
    progress.note(reader)
    assert logged == []
    reader.problem = "gone"
    progress.note(reader)
    reader.done, reader.problem = True, ""
    progress.note(reader)
    progress.note(reader)
    assert logged == [
        ("delivery.incomplete", {"to": "matrix", "output": 1, "problem": "gone"}), ("delivery.completed", {"to": "matrix", "output": 1}),
    ]  # fmt: skip
    assert exchange.take()[0] == [
        Progress(reader.recording, False, ""), Progress(reader.recording, False, "gone"),
        Progress(reader.recording, True, ""),
    ]  # fmt: skip
