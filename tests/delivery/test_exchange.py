"""What the daemon's loop and the thread that sends hand to each other."""

import threading

import pytest

from katod.delivery.exchange import Exchange, OfferedRecording, SentAlready, SentQuery, Stopping, Withdrawn
from katod.store.rows import DestinationRow
from tests.delivery.delivering import offered


@pytest.fixture
def woken() -> list[int]:
    """Return one entry for each time the loop was woken."""
    return []


@pytest.fixture
def exchange(woken: list[int]) -> Exchange:
    return Exchange(lambda: woken.append(1))


def test_the_loop_is_told_when_the_thread_ends(exchange: Exchange, woken: list[int]) -> None:
    """It runs until then, also while it is asked to end."""
    assert not exchange.is_over
    exchange.stop()
    assert not exchange.is_over
    exchange.end()
    assert (exchange.is_over, len(woken)) == (True, 1)


def is_wanted(exchange: Exchange, recording: OfferedRecording) -> bool:
    """Return whether a recording is still to be sent."""
    try:
        exchange.require(recording)
    except Withdrawn:
        return False
    return True


def test_a_recording_is_wanted_as_long_as_it_is_offered(exchange: Exchange) -> None:
    """With what it has by now. What began after it was forgotten may have its numbers, and another range its own."""
    one = offered(1)
    assert not is_wanted(exchange, one)
    exchange.offer({1: one})
    assert is_wanted(exchange, one)
    exchange.offer({1: one._replace(sources=(None,))})  # type: ignore[arg-type]
    assert is_wanted(exchange, one)
    others = (offered(2), offered(1, session=2), offered(1, start="later"), offered(1, ranges=2))
    assert not any(is_wanted(exchange, other) for other in others)
    exchange.offer({})
    assert not is_wanted(exchange, one)


def test_the_loop_is_woken_now_and_then_for_what_was_sent(exchange: Exchange, woken: list[int]) -> None:
    """Not for each of many reports in a row; at once for what cannot wait."""
    for _ in range(5):
        exchange.report([DestinationRow("!room")])
    assert len(woken) == 1
    exchange.report([DestinationRow("!room")], now=True)
    assert len(woken) == 2


def test_a_question_is_answered_once(exchange: Exchange, woken: list[int]) -> None:
    """The thread waits for the answer; what was reported before the question is taken with it."""
    answers: list[SentAlready] = []
    exchange.report([DestinationRow("!room")])
    question = SentQuery(1, 1, ("a",))
    thread = threading.Thread(target=lambda: answers.append(exchange.ask(question)))
    thread.start()
    while (found := exchange.take())[1] is None:
        pass
    assert found[1] == question
    exchange.answer(SentAlready({"a": "$a"}, {}))
    thread.join(10)
    assert answers == [SentAlready({"a": "$a"}, {})]
    assert exchange.take() == ([], None)
    assert len(woken) == 2  # for what was reported, and for the question


def test_whoever_waits_is_stopped(exchange: Exchange) -> None:
    """Whatever it waits for: katod ends, or its settings changed."""
    exchange.stop()
    for wait in (
        exchange.offered,
        lambda: exchange.ask(SentQuery(1, 1)),
        lambda: exchange.pause(60),
        lambda: exchange.wait({}, 60),
        lambda: exchange.require(offered(1)),
    ):
        with pytest.raises(Stopping):
            wait()


def test_waiting_ends_when_something_else_is_offered(exchange: Exchange) -> None:
    """At once if it was offered already; else after the time."""
    seen = exchange.offered()
    exchange.wait(seen, 0.01)
    exchange.offer({1: offered(1)})
    exchange.wait(seen, 60)
    exchange.pause(0.01)
