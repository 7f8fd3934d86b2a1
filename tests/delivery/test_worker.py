"""The sending thread: what it does when a homeserver, or one recording, fails, and what it reports."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from katod.delivery.exchange import Exchange, Progress, SentAlready, SentQuery, Stopping
from katod.delivery.progress import ProgressReporter
from katod.delivery.reader import SentFormat
from katod.delivery.worker import Worker
from katod.errors import DeliveryError, DeliveryStopped
from katod.log import EventLog
from katod.store.rows import DestinationRow
from tests.delivery.delivering import offered
from tests.looping import each

FORM: SentFormat[Any] = SentFormat("matrix", lambda _text: iter(()), releases=True)
Act = Callable[[], Any]


class Katod:
    """What a worker talks to; it is to end when there is nothing more to do, and after so many pauses."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.did: list[Any] = []
        self.acts: dict[str, list[Act]] = {}  # what the next calls do, by name
        self.logged: list[tuple[str, dict[str, Any]]] = []
        self.exchange: Any = Exchange(lambda: None)
        self.exchange.wait = lambda _seen, seconds: self._ends(f"wait {seconds:.0f}")
        self.exchange.pause = lambda seconds: self.call("pause", seconds)
        self.exchange.ask = self._asked
        self.exchange.end = lambda: self.did.append("end")
        log = EventLog(lambda _, name, fields: self.logged.append((name, fields)))
        progress = ProgressReporter("matrix", "!room", self.exchange, log)
        self.worker = Worker(progress, lambda: self, FORM, self.exchange, log)  # type: ignore[arg-type,return-value]
        self.readers: Any = self.worker._readers
        self.accepted = 0

    def offer(self, *numbers: int) -> None:
        self.exchange._offered = {number: offered(number, session=7) for number in numbers}

    def call(self, name: str, *told: Any) -> Any:
        self.did.append(" ".join(map(str, (name, *told))))
        acts = self.acts.get(name, [])
        return acts.pop(0)() if acts else None

    def _ends(self, name: str) -> None:
        self.call(name)
        raise Stopping

    def _asked(self, question: SentQuery) -> SentAlready:
        self.did.append(question)
        return SentAlready({}, {}, "last")

    def open(self) -> None:
        self.user()
        self.check()

    def user(self) -> None:
        self.call("user")

    def check(self) -> None:
        self.call("check")

    def close(self) -> None:
        self.did.append("close")

    def send_some(self, reader: Any, *, quiet: bool) -> bool:
        return bool(self.call("send", reader.recording.row.id, quiet)) or bool(self.call("more"))

    def run(self) -> list[Any]:
        self.worker.run()
        return self.did

    def reports(self) -> list[Any]:
        return self.exchange.take()[0]  # type: ignore[no-any-return]

    def names(self) -> list[str]:
        return [name for name, _ in self.logged]


def made(patch: pytest.MonkeyPatch) -> Katod:
    """Return what a worker talks to; a position in a recording is the recording."""
    katod = Katod(patch)
    patch.setattr(katod.readers, "of", lambda one: katod.call("of") or SimpleNamespace(recording=one, problem=""))
    return katod


@pytest.fixture
def katod(monkeypatch: pytest.MonkeyPatch) -> Katod:
    """Return what a worker of this test talks to."""
    return made(monkeypatch)


def fails(error: Exception) -> Act:
    """Return what raises an error."""

    def act() -> None:
        raise error

    return act


def test_it_checks_the_account_and_the_room_before_it_sends(katod: Katod) -> None:
    """Once; the connection is closed at the end, and katod is told that the thread ends."""
    katod.offer(1, 2)
    katod.acts["more"] = [lambda: True]
    assert katod.run() == [
        "user", "check", "of", "send 1 False", "more", "of", "send 2 False", "more", "of", "send 1 False", "more",
        "of", "send 2 False", "more", "wait 60", "close", "end",
    ]  # fmt: skip
    assert katod.names() == ["delivery.started"]
    assert katod.reports() == [DestinationRow("!room")]
    assert (katod.worker.name, katod.worker.daemon) == ("matrix", True)


def test_what_is_not_offered_any_more_is_not_kept(katod: Katod, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time it looks for something to send."""
    kept: list[list[int]] = []
    monkeypatch.setattr(katod.readers, "keep", lambda offered: kept.append(list(offered)))
    katod.offer(1)
    katod.acts["more"] = [lambda: katod.offer(2) or True]  # type: ignore[func-returns-value]
    katod.run()
    assert kept == [[1], [2]]


def test_a_homeserver_that_fails_is_asked_again_from_the_beginning(katod: Katod) -> None:
    """After a pause that grows; one that asks to wait has not failed."""
    errors = [DeliveryError("down"), DeliveryError("down"), DeliveryError("limit", wait=7)]
    katod.acts["user"] = [fails(errors[0])]
    katod.acts["check"] = [fails(errors[1])]
    katod.acts["of"] = [fails(errors[2])]
    katod.offer(1)
    assert katod.run() == [
        "user", "pause 1.0", "user", "check", "pause 2.0", "user", "check", "of", "pause 7", "of", "send 1 False", "more",
        "wait 60", "close", "end",
    ]  # fmt: skip
    assert katod.names() == ["delivery.waits", "delivery.waits", "delivery.resumed"]
    reports = katod.reports()
    assert [(row.problem, bool(row.since), row.stopped) for row in reports] == [
        ("down", True, False), ("limit", True, False), ("", False, False),
    ]  # fmt: skip


def test_a_recording_that_fails_alone_waits_while_others_are_sent(katod: Katod) -> None:
    """The room is checked first; what fails twice in a row is reported."""
    katod.acts["send"] = [fails(DeliveryError("no")), lambda: True, fails(ValueError("secret"))]
    katod.offer(1, 2)
    done = katod.run()
    assert done[:6] == ["user", "check", "of", "send 1 False", "check", "of"]
    assert katod.names() == ["delivery.started", "delivery.postponed", "delivery.postponed"]
    problems = [fields["problem"] for name, fields in katod.logged if name == "delivery.postponed"]
    assert problems == ["what is next cannot be sent; katod tries again: no", "internal error: ValueError"]
    reported = [one for one in katod.reports() if isinstance(one, Progress)]
    assert [(one.recording.row.id, one.done, one.problem) for one in reported] == [
        (1, False, "internal error: ValueError")
    ]


@each(("accepted", "reported"), [(0, 1), (1, 0)])
def test_what_was_sent_of_a_recording_makes_its_failures_begin_anew(accepted: int, reported: int) -> None:
    """Two in a row are reported: not two with something sent in between, but with nothing to send."""
    with pytest.MonkeyPatch.context() as patch:
        katod = made(patch)

        def send() -> bool:
            katod.accepted += accepted
            return True

        failed, other = fails(DeliveryError("no")), lambda: True
        katod.acts["send"] = [failed, other, send, other, failed]
        katod.offer(1, 2)
        katod.run()
        problems = [one.problem for one in katod.reports() if isinstance(one, Progress)]
        assert len(problems) == reported


def test_a_room_that_takes_nothing_more_is_no_fault_of_a_recording(katod: Katod) -> None:
    """Then all of it waits."""
    katod.acts["send"] = [fails(DeliveryError("no"))]
    katod.acts["check"] = [lambda: None, fails(DeliveryError("down"))]
    katod.offer(1)
    assert "pause 1.0" in katod.run()
    assert "delivery.postponed" not in katod.names()


STOP = DeliveryStopped("the token is not accepted", hint="get another")


@each(
    ("name", "error", "problem"),
    [
        ("user", STOP, "the token is not accepted (get another)"),
        ("user", DeliveryStopped("encrypted"), "encrypted"),
        ("user", ValueError("secret"), "internal error: ValueError"),
        ("send", STOP, "the token is not accepted (get another)"),
    ],
)
def test_what_cannot_go_on_stops_the_delivery(name: str, error: Exception, problem: str) -> None:
    """With its reason, and the connection is closed."""
    with pytest.MonkeyPatch.context() as patch:
        katod = made(patch)
        katod.acts[name] = [fails(error)]
        katod.offer(1)
        assert katod.run()[-2:] == ["close", "end"]
        [row] = [one for one in katod.reports() if one.stopped]
        assert (row.destination, row.problem, bool(row.since)) == ("!room", problem, True)
        assert katod.logged[-1] == ("delivery.stopped", {"to": "matrix", "problem": problem})


def test_what_was_sent_last_of_a_recording_is_asked(katod: Katod) -> None:
    """Of its session and its number."""
    katod.offer(3)
    [recording] = katod.exchange._offered.values()
    assert katod.worker._last(recording) == "last"
    assert katod.did == [SentQuery(7, 3)]
