"""Desktop notifications on a session bus."""

import os
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from queue import Queue

import pytest
from jeepney import HeaderFields, MessageType, message_bus, new_error, new_method_return
from jeepney.io.blocking import open_dbus_connection

from katod.service import desktop
from katod.service.desktop import Desktop
from tests.support.live import until


class Server:
    """A notification server on a session bus of its own, and what it was asked to show."""

    def __init__(self, address, *, fails=False):
        self.shown, self._fails = Queue(), fails
        self._connection = open_dbus_connection(address)
        self._connection.send_and_get_reply(message_bus.RequestName(desktop._SERVER))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def end(self):
        """Leave the bus."""
        self._thread.join(5)
        self._connection.close()

    def _serve(self):
        with suppress(OSError):  # the bus has ended
            while True:
                self._answer(self._connection.receive())

    def _answer(self, message):
        if message.header.message_type == MessageType.method_call:
            self.shown.put((message.header.fields[HeaderFields.member], message.body))
            answer = new_error(message, "x.Broken") if self._fails else new_method_return(message, "u", (1,))
            self._connection.send(answer)


@pytest.fixture
def bus(monkeypatch):
    """Return a function that starts a notification server on a session bus."""
    if shutil.which("dbus-daemon") is None:
        pytest.skip("dbus-daemon is not installed")
    command = ["dbus-daemon", "--session", "--nofork", "--print-address=1"]
    daemon = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    address = daemon.stdout.readline().strip()
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
    monkeypatch.setattr(sys, "platform", "linux")
    servers = []

    def serve(**options):
        servers.append(Server(address, **options))
        return servers[-1]

    yield serve
    daemon.kill()
    daemon.communicate()
    for server in servers:
        server.end()


def test_a_notification_is_shown_as_it_is(bus):
    """In order, with what looks like markup in the text escaped: servers may interpret it."""
    server, shown = bus(), Desktop(lambda _problem: None)
    shown.show("auto", "katod: recording", "shop, <b>a & b</b>.md")
    shown.show(True, "katod: stopped", "")
    method, body = server.shown.get(timeout=5)
    assert (method, body[0], body[3], body[4]) == (
        "Notify", "katod", "katod: recording", "shop, &lt;b&gt;a &amp; b&lt;/b&gt;.md",
    )  # fmt: skip
    assert server.shown.get(timeout=5)[1][3] == "katod: stopped"


@pytest.mark.parametrize("broken", ["no server", "no bus", "a server that fails"])
def test_without_a_desktop_auto_is_silent(bus, monkeypatch, broken):
    """With `true`, the reason is said, once; katod goes on in either case."""
    if broken == "no bus":
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    if broken == "a server that fails":
        bus(fails=True)
    said = []
    shown = Desktop(said.append)
    for mode in ("auto", True, True, "auto"):
        shown.show(mode, "title", "text")
    until(shown._waiting.empty, "the last notification")
    until(lambda: said, "the reason")
    assert len(said) == 1
    assert desktop.failure() == said[0]
    if broken == "no bus":
        assert said[0].startswith("D-Bus is missing: no session bus answers at unix:path=/nowhere")


def test_a_desktop_that_is_there_is_recognised(bus):
    """Without showing anything."""
    server = bus()
    assert desktop.failure() == ""
    assert server.shown.get(timeout=5)[0] == "GetServerInformation"


def test_where_nothing_is_wanted_nothing_is_started():
    """With `false` there is not even a thread."""
    shown = Desktop(pytest.fail)
    shown.show(False, "title", "text")
    assert shown._thread is None


def test_macos_gets_the_text_as_arguments(tmp_path, monkeypatch):
    """Whatever a name is, it is no option and no script."""
    program, told = tmp_path / "osascript", tmp_path / "told"
    program.write_text(f"#!/bin/sh\nshift 2\nprintf '%s\\n' \"$@\" > {told}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "darwin")
    desktop._show("--title", "$(touch x); text")
    assert told.read_text().splitlines() == ["--title", "$(touch x); text"]


def test_the_bus_is_where_systemd_puts_it(monkeypatch):
    """A service may have been started without the variable."""
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    assert desktop._bus() == f"unix:path=/run/user/{os.getuid()}/bus"


def test_a_failure_does_not_repeat_what_should_have_been_shown(monkeypatch):
    """The log gets the reason: the message of a program that failed has all of its arguments."""

    def fail(title, text):
        raise subprocess.CalledProcessError(1, ["osascript", title, text])

    said = []
    monkeypatch.setattr(desktop, "_show", fail)
    Desktop(said.append).show(True, "katod: recording", "shop, quagga.md")
    assert until(lambda: said, "the failure") == ["the desktop refused the notification (CalledProcessError)"]
