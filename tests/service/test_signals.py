"""Signals: noted for the loop, which is woken."""

import os
import signal

import pytest

from katod.service.signals import Signals
from tests.support.world import in_new_process


@pytest.fixture
def orders():
    """Orders that this process takes, until the end of the test."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    yield Signals.install()
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_is_noted_by_its_name(orders, number):
    """The loop finds which signal it was, and is woken for it."""
    woken = []
    orders.wake = lambda: woken.append(orders.stop)
    signal.raise_signal(number)
    assert (orders.stop, orders.reload) == (number.name, False)
    assert woken == [number.name]


def test_a_hang_up_asks_for_the_settings(orders):
    """SIGHUP stops nothing; it is noted until the loop has read the settings again."""
    woken = []
    orders.wake = lambda: woken.append(orders.reload)
    signal.raise_signal(signal.SIGHUP)
    assert (orders.stop, orders.reload) == ("", True)
    assert woken == [True]


def test_a_second_signal_to_stop_ends_the_process_at_once():
    """Whoever asks twice does not wait for the step under way: exit code 1."""

    def asked_twice():
        Signals.install()
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)

    assert in_new_process(asked_twice, ends=(0, 1)) == 1
