"""A request ends in time, and after so many bytes, whatever the server sends, and however slowly."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from time import monotonic

import httpx
import pytest

from katod.delivery import bounds
from katod.delivery.http import HttpAnswer, HttpServer
from katod.errors import DeliveryError

Say = Callable[[socket.socket, threading.Event], None]


@contextmanager
def serving(say: Say) -> Iterator[HttpServer]:
    """Yield a client of a server that answers every connection in one way, until it is over."""
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    connection.recv(65536)
                    say(connection, over)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        server = HttpServer(httpx, "the server", f"http://127.0.0.1:{listening.getsockname()[1]}", {})
        with closing(server):
            yield server
        over.set()
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def again(start: bytes, part: bytes) -> Say:
    """Return what sends a start, and then a part again and again, with hardly a pause."""

    def say(to: socket.socket, over: threading.Event) -> None:
        to.sendall(start)
        while not over.wait(0.005):
            to.sendall(part)

    return say


def flood(to: socket.socket, over: threading.Event) -> None:
    """Send interim answers as fast as they are read."""
    while not over.is_set():
        to.sendall(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000)


SLOW = {
    "a header": again(b"HTTP/1.1 200 OK\r\nX: ", b"a"),
    "interim answers": again(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "a body": again(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"a"),
    "extensions of a chunk": again(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a"),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", SLOW)
def test_a_request_ends_in_time_whatever_drips(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read is quick, and all of them together are not."""
    monkeypatch.setattr(bounds, "_LONGEST", 0.3)
    with serving(SLOW[name]) as server:
        began = monotonic()
        with pytest.raises(DeliveryError, match=r"answer does not end|cannot be reached: ReadTimeout"):
            server.ask("POST", "/", b"x")
        assert monotonic() - began < 5


def test_a_server_that_floods_is_not_read_for_long() -> None:
    """By bytes, long before the time is over."""
    with serving(flood) as server, pytest.raises(DeliveryError, match=r"answer is too large"):
        server.ask("POST", "/", b"x")


def silence(_to: socket.socket, over: threading.Event) -> None:
    """Neither read nor say anything."""
    over.wait(30)


def test_a_request_that_is_not_read_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network takes the beginning of it at once."""
    monkeypatch.setattr(bounds, "_LONGEST", 0.3)
    monkeypatch.setattr(bounds, "_SLOWEST", 2**40)
    ends = pytest.raises(DeliveryError, match=r"cannot be reached: WriteTimeout|does not end")
    with serving(silence) as server, ends:
        server.ask("POST", "/", bytes(64 * 1024 * 1024))


def test_a_large_upload_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as it takes over a slow line."""
    monkeypatch.setattr(bounds, "_LONGEST", 0.0)

    def say(to: socket.socket, over: threading.Event) -> None:
        left = 1024 * 1024 - 65536  # besides what was read before
        while left > 0:
            left -= len(to.recv(65536))
        to.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        over.wait(30)

    with serving(say) as server:
        assert server.ask("POST", "/", bytes(1024 * 1024)) == HttpAnswer(200, b"ok")
        with pytest.raises(DeliveryError):
            server.ask("GET", "/")


def test_each_request_of_a_connection_has_bounds_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes of those before it do not count; a large body arrives whole."""
    monkeypatch.setattr(bounds, "_LARGEST_HEAD", 70_000)
    connections = []

    def say(to: socket.socket, _over: threading.Event) -> None:
        connections.append(to)
        to.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + bytes(300_000))
        to.recv(65536)
        to.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with serving(say) as server:
        assert len(server.ask("GET", "/").body) == 300_000
        assert server.ask("GET", "/") == HttpAnswer(200, b"ok")
    assert len(connections) == 1
