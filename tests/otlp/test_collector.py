"""What is sent of a recording, skipped or tried again, whatever the collector takes."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from katod.delivery.exchange import Exchange, Sent, SentAlready, SentQuery, Withdrawn
from katod.delivery.progress import ProgressReporter
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.log import EventLog
from katod.otlp import collector as collectors
from katod.otlp.collector import Collector
from katod.otlp.lines import SpanLine
from tests.delivery.delivering import offered


class Asked:
    """A connection that refuses some spans, and an exchange that knows what was sent."""

    def __init__(self, refused: dict[str, int] | None = None, known: tuple[str, ...] = ()) -> None:
        self.refused, self.known = refused or {}, known
        self.sent: list[str] = []
        self.rejects = 0
        self.logged: list[tuple[str, dict[str, Any]]] = []
        self.exchange: Any = Exchange(lambda: None)
        self.exchange.ask = self._answer
        self.recording: Any = offered(3, session=7)
        self.exchange._offered = {3: self.recording}
        log = EventLog(lambda _, name, fields: self.logged.append((name, fields)))
        progress = ProgressReporter("otlp", "http://c", self.exchange, log)
        self.collector = Collector(self, self.exchange, progress, log)  # type: ignore[arg-type]

    def _answer(self, question: SentQuery) -> SentAlready:
        return SentAlready({txn: txn for txn in question.txns if txn in self.known}, {})

    def send(self, lines: list[SpanLine]) -> int:
        names = "".join(line.txn for line in lines)
        self.sent.append(names)
        for name, status in self.refused.items():
            if name in names or not name:
                raise DeliveryRefused(f"the collector answers {status}", status=status)
        return self.rejects if lines else 0

    def run(self, names: str = "abcd") -> deque[SpanLine]:
        """Send these spans; return those that are left."""
        lines = deque(SpanLine(name, {}, 1) for name in names)
        reader: Any = SimpleNamespace(
            read=lambda: bool(lines), lines=lines, recording=self.recording, done=False, problem=""
        )
        while self.collector.send_some(reader, quiet=False):
            pass
        return lines

    def reported(self) -> list[tuple[str, str]]:
        """Return what was reported of each span: its id, and whether it was taken."""
        return [(one.txn, one.event) for one in self.exchange.take()[0] if isinstance(one, Sent)]


def test_what_was_sent_before_is_not_sent_again() -> None:
    """Each other span is reported, in order."""
    asked = Asked(known=("b",))
    asked.run()
    assert asked.sent == ["acd"]
    assert asked.reported() == [("a", "a"), ("c", "c"), ("d", "d")]
    assert asked.collector.accepted == 3


def test_a_request_that_is_refused_is_halved() -> None:
    """Down to the span alone, before which it is checked that an empty request is taken."""
    asked = Asked({"c": 400})
    assert not asked.run()
    assert asked.sent == ["abcd", "ab", "cd", "c", "", "d"]
    assert asked.reported() == [("a", "a"), ("b", "b"), ("c", ""), ("d", "d")]
    assert asked.logged == [
        ("delivery.refused", {"to": "otlp", "output": 3, "txn": "c", "problem": "the collector answers 400"})
    ]


def test_a_collector_that_refuses_everything_stops_the_delivery() -> None:
    """Nothing counts as refused: the address may be that of something else."""
    asked = Asked({"": 400})
    with pytest.raises(DeliveryStopped, match="not even an empty one"):
        asked.run("a")
    assert asked.reported() == []
    asked = Asked({"": 404})
    with pytest.raises(DeliveryError, match="the collector answers 404"):
        asked.collector.open()


def test_an_answer_of_no_known_meaning_is_tried_again_before_spans_are_to_blame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then it is halved; a span alone is skipped if the collector took others since."""
    monkeypatch.setattr(collectors, "_MOST_TRIES", 3)
    asked = Asked({"c": 500})
    for _ in range(2):
        with pytest.raises(DeliveryError):
            asked.run()
    assert asked.sent == ["abcd", "abcd"]
    assert not asked.run()
    assert asked.sent[2:] == ["abcd", "ab", "cd", "c", "", "d"]
    assert asked.reported() == [("a", "a"), ("b", "b"), ("c", ""), ("d", "d")]


def test_a_span_is_not_given_up_while_nothing_else_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector may only be unable to keep anything."""
    monkeypatch.setattr(collectors, "_MOST_TRIES", 2)
    asked = Asked({"a": 500})
    for _ in range(5):
        with pytest.raises(DeliveryError):
            asked.run("a")
    assert asked.reported() == []


def test_rejected_spans_are_counted_and_their_request_is_named() -> None:
    """By its first and its last one: which of them it is about is not said."""
    asked = Asked()
    asked.rejects = 2
    asked.run()
    assert [event for _, event in asked.reported()] == ["a", "b", "", ""]
    assert asked.logged == [("delivery.rejected", {"to": "otlp", "output": 3, "count": 2, "first": "a", "last": "d"})]


def test_nothing_is_sent_of_what_is_not_wanted_any_more() -> None:
    """It was forgotten, or its project is excluded now."""
    asked = Asked()
    asked.exchange._offered = {}
    with pytest.raises(Withdrawn):
        asked.run()
    assert asked.sent == []


def test_a_span_is_not_given_up_for_what_was_taken_before_it_was_first_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what the collector takes while the span is refused says that the span is to blame."""
    monkeypatch.setattr(collectors, "_MOST_TRIES", 2)
    asked = Asked({"z": 500})
    assert not asked.run("ab")
    for _ in range(5):
        with pytest.raises(DeliveryError):
            asked.run("z")
    assert asked.reported() == [("a", "a"), ("b", "b")]
