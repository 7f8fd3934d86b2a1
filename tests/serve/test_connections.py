"""Connections of a server, which runs in this process: their limits, and its end."""

import gc
import logging
import os
import signal
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from starlette.types import Receive, Scope, Send
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from katod.serve import server
from katod.serve.access import limits
from katod.serve.access.guard import ABORT
from katod.serve.server import listening, listening_at, run

T = TypeVar("T")
PATIENCE = 20.0  # seconds
_END = b"."
Open = Callable[[], socket.socket]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer requests with their path; one for `/abort` is ended. A WebSocket repeats what it is told."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await _repeat(receive, send)
    elif scope["path"] == "/abort":
        scope["extensions"][ABORT]()
    else:
        body = f"{scope['path']}{_END.decode()}".encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _repeat(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] != "websocket.disconnect":
        await send({"type": "websocket.send", "text": message["text"]})


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have limits that are soon reached, and nothing in this process that stays."""
    monkeypatch.setattr(limits, "CONNECTIONS", 3)
    monkeypatch.setattr(limits, "PIECES", 3)
    monkeypatch.setattr(limits, "FRAME", 1000)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr(server, "preload", lambda: None)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Return where the socket of a server is: a short path, as the system wants it."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield Path("s")
    os.chdir(before)


def served(place: Path, work: Callable[[Open], T]) -> T:
    """Return the result of some work with a server, which gets SIGTERM after that."""
    results: list[Any] = []

    def opened() -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE)
        client.connect(str(place))
        return client

    def act() -> None:
        try:
            results.append(work(opened))
        except BaseException as error:  # noqa: BLE001 - it is raised in the test's own thread
            results.append(error)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=act)
    listener = listening_at(place)
    thread.start()
    run(app, listener)
    thread.join()
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]  # type: ignore[no-any-return]


def asked(client: socket.socket, path: str = "/x") -> bytes:
    """Return the answer to a request, empty if the connection is ended."""
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return _heard(client)


def _heard(client: socket.socket) -> bytes:
    data = b""
    try:
        while not data.endswith(_END):
            if not (more := client.recv(1000)):
                break
            data += more
    except ConnectionResetError:
        return b""
    return data


def test_an_answer_says_nothing_of_the_server(place: Path) -> None:
    """Neither what it is nor when it was sent. At its end its socket is removed."""

    def work(opened: Open) -> bytes:
        assert place.lstat().st_mode & 0o077 == 0
        with opened() as client:
            first = asked(client)
            assert asked(client) == first
            return first

    said = served(place, work)
    assert said.startswith(b"HTTP/1.1 200")
    assert said.endswith(b"\r\n\r\n/x.")
    assert b"server:" not in said.lower()
    assert b"date:" not in said.lower()
    assert not place.exists()


def test_the_application_may_end_a_connection(place: Path) -> None:
    """At once, without an answer."""

    def work(opened: Open) -> bytes:
        with opened() as client:
            return asked(client, "/abort")

    assert served(place, work) == b""


def test_a_connection_that_asks_for_nothing_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a request does not put that off; one that has asked for something stays longer."""
    monkeypatch.setattr(limits, "FIRST", 0.3)

    def work(opened: Open) -> tuple[bytes, bytes]:
        with opened() as one, opened() as two, opened() as three:
            with suppress(BrokenPipeError):  # where the machine is that slow, it has ended
                one.sendall(b"GET / HT")
            assert asked(three).startswith(b"HTTP/1.1 200")
            ended = _heard(one), _heard(two)
            assert asked(three).startswith(b"HTTP/1.1 200")
            return ended

    assert served(place, work) == (b"", b"")


def test_a_connection_too_many_ends_the_oldest(place: Path) -> None:
    """So idle ones keep no client out."""

    def work(opened: Open) -> list[bytes]:
        with opened() as one, opened() as two, opened() as three:
            answers = [asked(client)[:12] for client in (one, two, three)]
            with opened() as four:
                answers += [asked(four)[:12], _heard(one), asked(two)[:12]]
            return answers

    good = b"HTTP/1.1 200"
    assert served(place, work) == [good, good, good, good, b"", good]


def test_a_connection_too_many_ends_no_socket(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A WebSocket is in use although it is older."""
    failed: list[Any] = []
    monkeypatch.setattr(logging.getLogger("asyncio"), "error", lambda *said, **_: failed.append(said))

    def work(opened: Open) -> list[bytes]:
        with connect("ws://x/", sock=opened(), compression=None, open_timeout=PATIENCE) as client:
            with opened() as one, opened() as two:
                answers = [asked(one)[:12], asked(two)[:12]]
                with opened() as three:
                    answers += [asked(three)[:12], _heard(one)]
            client.send("hello")
            assert client.recv(PATIENCE) == "hello"
            return answers

    good = b"HTTP/1.1 200"
    assert served(place, work) == [good, good, good, b""]
    assert failed == []


def test_a_message_on_a_socket_has_so_many_pieces_and_bytes(place: Path) -> None:
    """One that has more, of either, ends the connection; no other one is compressed or lost."""

    @contextmanager
    def dialled(opened: Open) -> Iterator[ClientConnection]:
        stack = ExitStack()
        client = connect("ws://x/", sock=opened(), compression=None, open_timeout=PATIENCE, close_timeout=PATIENCE)
        yield stack.enter_context(client)
        with suppress(ConnectionClosed):  # how it ends is not what is looked at
            stack.close()

    def refused(opened: Open, message: Any) -> bool:
        with dialled(opened) as client:
            try:
                client.send(message)  # the end may come while it is sent
                client.recv(PATIENCE)
            except ConnectionClosed:
                return True
            return False

    def work(opened: Open) -> None:
        with dialled(opened) as client:
            for said in ("hello", "x" * 1000):
                client.send(said)
                assert client.recv(PATIENCE) == said
            client.send(["a", "b", "c"])
            assert client.recv(PATIENCE) == "abc"
            assert client.ping().wait(PATIENCE)
        assert refused(opened, "x" * 1001)
        assert refused(opened, ["a", "b", "c", "d", "e"])

    served(place, work)


def test_an_address_that_is_taken_is_named(place: Path) -> None:
    """A dead socket is replaced, one that listens is not."""
    with listening("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(server.ServeError, match=f"cannot listen on 127.0.0.1:{port}: .*in use") as raised:
            listening("127.0.0.1", port)
        assert "--port" in str(raised.value.hint)
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
    listening_at(place).close()
    with listening_at(place), pytest.raises(server.ServeError, match="cannot listen on this socket"):
        listening_at(place)


def test_a_socket_is_private_and_other_files_are_what_they_were(place: Path) -> None:
    """Only while it is made, files of this process are the user's alone."""
    before = os.umask(0o022)
    try:
        with listening_at(place):
            assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0
            assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
