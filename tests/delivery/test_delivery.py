"""What the ledger has of a delivery: what is offered of it, and what is written of what was sent."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest import mock

import pytest

from katod.delivery import delivery as delivery_
from katod.delivery.delivery import RecordingDelivery
from katod.delivery.exchange import Exchange, Progress
from katod.destinations import MatrixSettings
from katod.log import EventLog
from katod.matrix.kind import MATRIX_DELIVERY
from katod.model import Options, Range, SessionKey
from katod.store.ledger import Ledger
from katod.store.rows import DestinationRow, OutputRow
from tests.looping import each
from tests.support.parts import memory_ledger

ROOM = "!room:localhost"


class Known:
    """A ledger that notes what is written to it, and a policy."""

    def __init__(self) -> None:
        self.wrote: list[Any] = []
        self.deliveries = self
        self.excluded: bool | OSError = False
        self.settings = SimpleNamespace()

    def finish(self, *told: Any) -> None:
        self.wrote.append(("finish", *told))

    def note_problem(self, *told: Any) -> None:
        self.wrote.append(("problem", *told))

    def find_session(self, key: str) -> Any:
        return SimpleNamespace(id=7) if key == "known" else None

    def in_project(self, _cwd: str) -> "Known":
        return self

    def excludes(self, _cwd: str) -> bool:
        if isinstance(self.excluded, OSError):
            raise self.excluded
        return self.excluded


def of(known: Known) -> Any:
    """Return a delivery with this ledger and policy."""
    delivery = object.__new__(RecordingDelivery)
    delivery.__dict__.update(_ledger=known, _policy=known, _to=SimpleNamespace(destination="!room"))
    return delivery


def offering(ledger: Ledger, known: Known) -> Any:
    """Return a delivery with this ledger to a room, as this policy says."""
    delivery = of(known)
    delivery._ledger, delivery._offers, delivery._to = ledger, delivery_._Offers(), SimpleNamespace(destination=ROOM)
    return delivery


def offered(session: int, key: str) -> Any:
    return SimpleNamespace(session=session, key=key, row=SimpleNamespace(id=3), last=5)


def test_progress_is_written_as_it_is_reported() -> None:
    """All of a recording was sent, or the rest cannot be."""
    known = Known()
    of(known)._progress(Progress(offered(7, "known"), True))
    of(known)._progress(Progress(offered(7, "known"), False, "no end"))
    assert known.wrote == [("finish", 3, "!room", 5), ("problem", 3, "!room", "no end")]


def test_nothing_is_known_of_a_session_that_was_forgotten() -> None:
    """Nor of another one under the same key."""
    found = [of(Known())._is_known(offered(*one)) for one in ((7, "known"), (8, "known"), (7, "other"))]
    assert found == [True, False, False]


def test_a_project_is_not_sent_while_it_is_not_known_whether_it_is_excluded() -> None:
    """Without a policy, or on a machine that is too busy to read what excludes it."""
    known = Known()
    found = []
    for known.excluded in (False, True, OSError()):
        found.append(of(known)._excluded("/p"))
    delivery = of(known)
    delivery._policy = None
    assert [*found, delivery._excluded("/p")] == ["", delivery_._EXCLUDED, delivery_._UNREADABLE, delivery_._EXCLUDED]


def waiting_for_the_room() -> tuple[Ledger, int]:
    """Return a ledger with a recording whose second range is delivered, and the number of the recording."""
    ledger = memory_ledger()
    session = ledger.add_session(SessionKey("claude", "s"))
    head = {"key": ["claude", "s", ""], "metadata": {}}
    ranges = (Range("a", end="b"), Range("c"))
    row = OutputRow(0, session.id, Path("/o"), Path("/o/a.md"), "markdown", 1, Options(), head, ranges=ranges)
    row = ledger.save_output(ledger.add_output(row))
    ledger.deliveries.begin(row.id, 1, ROOM)
    return ledger, row.id


def test_only_ranges_that_began_for_the_room_are_offered() -> None:
    """What was recorded before is not sent."""
    ledger, output = waiting_for_the_room()
    delivery, exchange = offering(ledger, Known()), Exchange(lambda: None)
    delivery._offer(exchange)
    recording = exchange.offered()[output]
    assert ([one.start for one in recording.row.ranges], recording.last) == (["c"], 1)


def test_what_waits_is_withheld_as_soon_as_its_project_is_excluded() -> None:
    """And sent once it is not; `katod status` says why it is not sent. Nothing has to be said in it."""
    ledger, output = waiting_for_the_room()
    known, exchange, found = Known(), Exchange(lambda: None), []
    delivery = offering(ledger, known)
    for known.excluded in (False, True, OSError(), False):
        delivery._offer(exchange)
        found.append((list(exchange.offered()), ledger.deliveries.summary(ROOM).problems))
    why = [[], [(output, delivery_._EXCLUDED)], [(output, delivery_._UNREADABLE)], []]
    assert found == list(zip([[output], [], [], [output]], why, strict=True))


def test_what_an_earlier_katod_withheld_is_sent_again() -> None:
    """It is not excluded any more, and `katod status` does not say so; what else it says of a recording stays."""
    for noted, said in ((delivery_._EXCLUDED, []), ("gone", [(1, "gone")])):
        ledger, output = waiting_for_the_room()
        ledger.deliveries.note_problem(output, ROOM, noted)
        offering(ledger, Known())._offer(Exchange(lambda: None))
        assert ledger.deliveries.summary(ROOM).problems == said


def test_projects_are_looked_at_again_while_something_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some seconds, although the ledger is as it was."""
    now = [1000.0]
    monkeypatch.setattr(delivery_, "monotonic", lambda: now[0])
    ledger, output = waiting_for_the_room()
    known, exchange = Known(), Exchange(lambda: None)
    delivery = offering(ledger, known)
    delivery._thread = SimpleNamespace(), exchange
    delivery.look()
    known.excluded = True
    delivery.look()
    assert (list(exchange.offered()), delivery.deadline()) == ([output], 1005.0)
    now[0] = 1005.0
    delivery.look()
    assert exchange.offered() == {}


class Thread:
    """A thread that only says what it was started with."""

    started: ClassVar[list[Any]] = []

    def __init__(self, _progress: Any, _connect: Any, _form: Any, exchange: Exchange, _log: EventLog) -> None:
        self.exchange = exchange

    def start(self) -> None:
        self.started.append(self.exchange)


def test_a_thread_that_begins_is_offered_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what the one before it was still offered after the settings had changed."""
    monkeypatch.setattr(delivery_, "Worker", Thread)
    monkeypatch.setattr(Thread, "started", [])
    ledger = memory_ledger()
    session = ledger.add_session(SessionKey("claude", "s"))
    head = {"key": ["claude", "s", ""], "metadata": {}}
    row = OutputRow(0, session.id, Path("/o"), Path("/o/a.md"), "markdown", 1, Options(), head, ranges=[Range("a")])
    ledger.deliveries.begin(ledger.save_output(ledger.add_output(row)).id, 0, ROOM)
    policy: Any = Known()
    policy.settings = SimpleNamespace(deliveries={"matrix": MatrixSettings("https://x", "/token", ROOM)})
    room = RecordingDelivery(MATRIX_DELIVERY, ledger, lambda: None, EventLog())
    room.use(policy)
    room.use(policy)
    room.look(at_once=True)
    [first] = Thread.started
    assert len(first._offered) == 1
    first.is_over = True
    room.look(at_once=True)
    [_, second] = Thread.started
    assert second._offered == first._offered


def test_a_thread_that_does_not_end_is_left_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one begins after a while, and nothing that the first one says counts any more."""
    monkeypatch.setattr(delivery_, "Worker", Thread)
    monkeypatch.setattr(Thread, "started", [])
    logged: list[Any] = []
    policy: Any = Known()
    policy.settings = SimpleNamespace(deliveries={"matrix": MatrixSettings("https://x", "/token", ROOM)})
    ledger = memory_ledger()
    log = EventLog(lambda _, name, fields: logged.append((name, fields)))
    room = RecordingDelivery(MATRIX_DELIVERY, ledger, lambda: None, log)
    room.use(policy)
    room.use(policy)
    assert (len(Thread.started), logged) == (1, [])
    due = room.deadline()
    assert due is not None
    with mock.patch.object(delivery_, "monotonic", return_value=due):
        room.look()
    first, second = Thread.started
    assert (first.is_stopping, second.is_stopping, logged) == (True, False, [("delivery.abandoned", {"to": "matrix"})])
    first.report([DestinationRow(ROOM, "2026-02-10T22:31:00Z", "hangs")])
    room.look(at_once=True)
    assert ledger.deliveries.summary(ROOM).destination == DestinationRow(ROOM)


@each("seconds, wait", [(0.0, 0.5), (0.04, 0.5), (0.06, 0.6), (2.0, 20.0)])
def test_what_takes_long_is_done_less_often(seconds: float, wait: float) -> None:
    """Looking for what is to be offered takes a tenth of the time, at most."""
    ledger, times = memory_ledger(), iter([100.0, 100.0 + seconds])
    room = RecordingDelivery(MATRIX_DELIVERY, ledger, lambda: None, EventLog())
    with mock.patch.multiple(delivery_, monotonic=lambda: next(times), _OFFER_EVERY=0.5):
        room._offer(Exchange(lambda: None))
    assert room._offers.due - 100.0 - seconds == pytest.approx(wait)
