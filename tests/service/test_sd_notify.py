"""Notifications to the service manager, if there is one."""

import os
import socket
import sys

import pytest

from katod.service.sd_notify import sd_notify, watchdog_interval
from tests.support.live import Live, until


@pytest.fixture
def manager(tmp_path, monkeypatch):
    """Yield the socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield channel


def test_the_service_manager_gets_all_lines_at_once(manager):
    """All lines of one call are sent in one datagram."""
    sd_notify("READY=1", "STATUS=grüße")
    assert manager.recv(4096).decode() == "READY=1\nSTATUS=grüße"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="abstract sockets are Linux's")
def test_an_abstract_socket_is_reached(monkeypatch):
    """An address that begins with `@` is an abstract socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind("")  # the kernel chooses an abstract address
        channel.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{channel.getsockname()[1:].decode()}")
        sd_notify("WATCHDOG=1")
        assert channel.recv(4096) == b"WATCHDOG=1"


@pytest.mark.parametrize("address", ["", "/nowhere/notify"])
def test_without_a_service_manager_nothing_happens(monkeypatch, address):
    """A missing address, or one that nobody listens on, is not an error."""
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    sd_notify("READY=1")


@pytest.mark.slow
def test_the_daemon_tells_when_it_is_ready_and_when_it_stops(world, manager):
    """The daemon sends READY=1 once it watches for changes, and STOPPING=1 at the end."""
    world.variables["NOTIFY_SOCKET"] = manager.getsockname()
    with Live(world):
        assert manager.recv(4096).startswith(b"READY=1\nSTATUS=following 0 sessions")
    until(lambda: manager.recv(4096) == b"STOPPING=1", "STOPPING=1")


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({}, float("inf")),
        ({"WATCHDOG_USEC": "4000000"}, 2.0),
        ({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "1"}, float("inf")),
        ({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": str(os.getpid())}, 2.0),
        ({"WATCHDOG_USEC": "soon"}, float("inf")),
        ({"WATCHDOG_USEC": "0"}, float("inf")),
        ({"WATCHDOG_USEC": "-5"}, float("inf")),
        ({"WATCHDOG_USEC": "9" * 400}, float("inf")),
        ({"WATCHDOG_USEC": "1"}, 1.0),
    ],
)
def test_the_watchdog_is_told_twice_in_its_patience(monkeypatch, variables, seconds):
    """As long as it is meant for this process."""
    for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert watchdog_interval() == seconds
