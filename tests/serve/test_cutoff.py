"""Connections that were closed, but whose clients do not read."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from katod.serve.access import limits
from katod.serve.server import _Connection, _Server, _Socket


class Transport:
    def __init__(self, name: str, aborted: list[str], *, closing: bool) -> None:
        self.name, self.closing, self._aborted = name, closing, aborted
        self.unsent = 9

    def is_closing(self) -> bool:
        return self.closing

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self._aborted.append(self.name)


def test_a_connection_that_was_closed_some_time_ago_is_ended() -> None:
    """Counted from when that was noticed; one that is open is left alone, however long."""
    aborted: list[str] = []
    first, second = Transport("first", aborted, closing=True), Transport("second", aborted, closing=False)
    server = _Server(uvicorn.Config(lambda: None))
    connections: Any = [SimpleNamespace(transport=one) for one in (first, second)]
    server.server_state.connections = connections
    found = []
    for now in (1000.0, 1000.0 + limits.PATIENCE, 1001.0 + limits.PATIENCE):
        server._cut_off(now)
        found.append(list(aborted))
    assert found == [[], [], ["first"]]
    first.closing, second.closing = False, True
    server._cut_off(2000.0)
    first.closing = True
    server._cut_off(2000.0)
    assert aborted == ["first"]


def test_a_connection_that_was_closed_is_not_ended_while_its_client_reads() -> None:
    """However slowly; it has the same time after each byte."""
    aborted: list[str] = []
    one = Transport("slow", aborted, closing=True)
    server = _Server(uvicorn.Config(lambda: None))
    connections: Any = [SimpleNamespace(transport=one)]
    server.server_state.connections = connections
    for step in range(5):
        one.unsent = 9 - step
        server._cut_off(1000.0 + step * limits.PATIENCE)
    assert aborted == []
    server._cut_off(1001.0 + 5 * limits.PATIENCE)
    assert aborted == ["slow"]


def test_a_server_looks_after_its_connections_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each tick."""
    monkeypatch.setattr(limits, "PATIENCE", -1)
    aborted: list[str] = []
    server = _Server(uvicorn.Config(lambda: None))
    connections: Any = [SimpleNamespace(transport=Transport("one", aborted, closing=True))]
    server.server_state.connections = connections
    assert asyncio.run(server.on_tick(1)) is False
    assert aborted == ["one"]


@pytest.mark.whole
@pytest.mark.parametrize(("unread", "is_ended"), [(limits.UNREAD, False), (limits.UNREAD + 1, True)])
def test_a_client_that_asks_for_life_and_reads_nothing_is_ended(
    unread: int, is_ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answers would fill the memory; any other one is answered."""
    did: list[str] = []
    monkeypatch.setattr(WebSocketsSansIOProtocol, "handle_ping", lambda _self: did.append("answered"))
    socket: Any = _Socket.__new__(_Socket)
    socket.transport = SimpleNamespace(
        get_write_buffer_size=lambda: unread, is_closing=lambda: False, abort=lambda: did.append("ended")
    )
    socket.handle_ping()
    assert did == ["ended" if is_ended else "answered"]


def test_a_socket_whose_first_words_are_no_request_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library would wait for the rest of its head, for as long as its client likes."""
    for is_asked, ended in ((True, []), (False, ["ended"])):
        did: list[str] = []
        socket: Any = _Socket.__new__(_Socket)
        socket.handshake_initiated = False
        socket.transport = SimpleNamespace(abort=lambda did=did: did.append("ended"))
        monkeypatch.setattr(
            WebSocketsSansIOProtocol, "data_received",
            lambda self, _data, is_asked=is_asked: setattr(self, "handshake_initiated", is_asked),
        )  # fmt: skip
        socket.data_received(b"GET /ws")
        assert did == ended


def test_a_request_that_comes_in_time_is_answered_however_long_that_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end for which an idle connection waits is put off by a request, not by a part of one."""
    connection: Any = _Connection.__new__(_Connection)
    connection.transport = SimpleNamespace(abort=None, get_write_buffer_size=None)
    for scope, is_put_off in ((None, False), ({"type": "http"}, True)):
        connection.scope, waiting = None, SimpleNamespace(is_over=False)
        waiting.cancel = lambda waiting=waiting: setattr(waiting, "is_over", True)
        connection.timeout_keep_alive_task = waiting
        monkeypatch.setattr(H11Protocol, "handle_events", lambda self, scope=scope: setattr(self, "scope", scope))
        connection.handle_events()
        assert waiting.is_over is is_put_off
