"""Signals: noted for the main loop, which is woken."""

import os
import signal

import pytest

from katod.service.signals import Signals
from tests.support.world import in_new_process


@pytest.fixture
def orders():
    """Yield the signals that this process receives, until the end of the test."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    yield Signals.install()
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_is_noted_by_its_name(orders, number):
    """The name of the signal is noted, and the loop is woken."""
    woken = []
    orders.on_arrival(lambda: woken.append(orders.stop))
    signal.raise_signal(number)
    assert (orders.stop, orders.reload) == (number.name, False)
    assert woken == [number.name]


def test_a_hang_up_asks_for_the_settings(orders):
    """SIGHUP does not stop katod; it is noted until the loop has reloaded the settings."""
    woken = []
    orders.on_arrival(lambda: woken.append(orders.reload))
    signal.raise_signal(signal.SIGHUP)
    assert (orders.stop, orders.reload) == ("", True)
    assert woken == [True]


def test_a_second_signal_to_stop_ends_the_process_at_once():
    """A second signal does not wait for the current step: the exit code is 1."""

    def asked_twice():
        Signals.install()
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)

    assert in_new_process(asked_twice, ends=(0, 1)) == 1
