"""Connections that were closed, but whose clients do not read."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from katod.serve.access import limits
from katod.serve.server import _Server


class Transport:
    def __init__(self, name: str, aborted: list[str], *, closing: bool) -> None:
        self.name, self.closing, self._aborted = name, closing, aborted

    def is_closing(self) -> bool:
        return self.closing

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


def test_a_server_looks_after_its_connections_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each tick."""
    monkeypatch.setattr(limits, "PATIENCE", -1)
    aborted: list[str] = []
    server = _Server(uvicorn.Config(lambda: None))
    connections: Any = [SimpleNamespace(transport=Transport("one", aborted, closing=True))]
    server.server_state.connections = connections
    assert asyncio.run(server.on_tick(1)) is False
    assert aborted == ["one"]
