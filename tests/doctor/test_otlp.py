"""What the doctor says of a collector: the headers, what it takes, and what is not complete there."""

from contextlib import closing

import pytest

from katod.doctor import otlp
from katod.store.ledger import Ledger
from katod.store.rows import SentRow
from tests.otlp.receiver import Receiver
from tests.support.records import Claude, user


@pytest.fixture
def receiver():
    """Return a collector on loopback."""
    with Receiver() as found:
        yield found


def test_without_an_endpoint_nothing_is_said(home):
    """And no connection is made."""
    assert home.examined(otlp.examine) == {}


def test_the_collector_is_asked(home, receiver):
    """By a request without spans; what is wrong is said with what to do."""
    receiver.configure(home)
    finding = home.examined(otlp.examine)["otlp.collector"]
    assert (finding.level, "without anything that was said" in finding.text) == ("ok", True)
    assert receiver.seen == [0]
    receiver.configure(home, **{"otlp.content": True})
    assert "with what was said" in home.examined(otlp.examine)["otlp.collector"].text
    for fault, advice in (("401", "headers_file"), ("404", "otlp.endpoint"), ("503", "nothing is lost")):
        receiver.fault = lambda _spans, fault=fault: fault
        finding = home.examined(otlp.examine)["otlp.collector"]
        assert (finding.level, advice in finding.advice) == ("problem", True)


def test_what_the_collector_lacks_is_named(home, receiver):
    """Refused spans, and recordings that cannot be completed."""
    receiver.configure(home)

    Claude(home).say(user("hello"))
    home.process()
    with closing(Ledger.open(home.state, None)) as ledger, ledger.transaction():
        ledger.deliveries.add_sent([SentRow(1, receiver.url, "t", "")])
        ledger.deliveries.begin(7, 0, receiver.url)
        ledger.deliveries.note_problem(7, receiver.url, "gone")
    found = home.with_ledger(otlp.examine)
    assert found["otlp.refused"].text == "the collector refused 1 span"
    assert found["otlp.incomplete"].text == "recording 7 is not delivered completely: gone"


def test_recordings_that_say_what_is_said_are_named(home, receiver):
    """They go on as the settings were when they began."""
    receiver.configure(home, **{"otlp.content": True})
    home.process()
    Claude(home).say(user("::start\nhello"))
    home.process()
    assert "otlp.content" not in home.with_ledger(otlp.examine)
    receiver.configure(home)
    assert home.with_ledger(otlp.examine)["otlp.content"].data == {"ids": [1]}


def test_recordings_for_another_collector_are_named(home, receiver):
    """Whether one is set or none, and nothing is said of rooms."""
    home.process()
    with closing(Ledger.open(home.state, None)) as ledger, ledger.transaction():
        ledger.deliveries.begin(7, 0, "http://127.0.0.1:9")
        ledger.deliveries.begin(8, 0, "!room:localhost")
    said = "not sent: 1 recording, started for another endpoint (http://127.0.0.1:9)"
    assert home.with_ledger(otlp.examine)["otlp.elsewhere"].text == said
    receiver.configure(home)
    found = home.with_ledger(otlp.examine)["otlp.elsewhere"]
    assert (found.level, found.text, found.data) == ("warning", said, {"ids": [7]})
