"""The process of `katod serve`: sockets that listen, connections with limits, and an end within two seconds."""

import asyncio
import ctypes
import errno
import gc
import os
import signal
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from katod.errors import ServeError
from katod.formats.redact import filter  # noqa: A004 - a module
from katod.serve import limits
from katod.serve.guard import ABORT

_GRACE: Final = 1  # seconds that answers may still take when the server ends
_BACKLOG: Final = 64
_PRIVATE: Final = 0o077
_MEMORY: Final = ((-8, 1), (-1, 64 * 1024), (-3, 128 * 1024))  # arenas; bytes that are kept; bytes that are mapped


class _Connection(H11Protocol):
    """One connection: not one too many, and ended if nothing is asked for, or nothing is read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > limits.CONNECTIONS:
            transport.abort()
        else:
            self.loop.call_later(limits.FIRST, self._end_if_idle)

    def _end_if_idle(self) -> None:
        if self.cycle is None and self in self.connections:
            self.transport.abort()

    def handle_events(self) -> None:
        super().handle_events()
        if isinstance(self.scope, dict):  # there is none before the first request
            _offer(self.scope, self.transport)


class _Socket(WebSocketsSansIOProtocol):
    """One WebSocket, which can be ended although the client reads nothing."""

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # there is none if the handshake failed
            _offer(self.scope, self.transport)


def _offer(scope: Any, transport: asyncio.Transport) -> None:
    """Let the application end a connection at once."""
    scope.setdefault("extensions", {})[ABORT] = transport.abort


class _Server(uvicorn.Server):
    """A server that leaves signals to the loop, so that its end is no failure."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address of this machine. Raises ServeError."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return _bound(family, address)
    except OSError as error:
        hint = "another program listens there: choose another --port" if error.errno == errno.EADDRINUSE else ""
        raise ServeError(f"cannot listen at {host}:{port}: {error.strerror or error}", hint=hint) from error


def listening_at(path: Path) -> socket.socket:
    """Return a UNIX socket that only this user can reach; one that nobody listens at is replaced. Raises ServeError."""
    try:
        if path.exists() and stat.S_ISSOCK(path.lstat().st_mode) and _is_dead(path):
            path.unlink()
        before = os.umask(_PRIVATE)
        try:
            return _bound(socket.AF_UNIX, str(path))
        finally:
            os.umask(before)
    except OSError as error:
        raise ServeError(f"cannot listen there: {error.strerror or error}", path=path) from error


def _bound(family: int, address: Any) -> socket.socket:
    # The protocol is named, as only then the loop has each answer sent at once: else, parts of it wait for 40 ms.
    protocol = 0 if family == socket.AF_UNIX else socket.IPPROTO_TCP
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        if family != socket.AF_UNIX:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def _is_dead(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) != 0


def keep_small() -> None:
    """Have the C library give memory back, and redaction take less: a server reads much at times. Before any thread."""
    filter.keep_small()
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in _MEMORY:
            mallopt(option, value)


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; a second one ends without waiting for answers."""
    config = uvicorn.Config(
        app, http=_Connection, ws=_Socket, loop="asyncio", lifespan="on", log_config=None, log_level="critical",
        access_log=False, proxy_headers=False, server_header=False, date_header=False, backlog=_BACKLOG,
        ws_max_size=limits.FRAME, ws_per_message_deflate=False, h11_max_incomplete_event_size=limits.HEAD,
        timeout_graceful_shutdown=_GRACE,
    )  # fmt: skip
    gc.collect()
    gc.freeze()  # all that is loaded stays: to look through it again and again would take most of the time of lists
    try:
        _Server(config).run([listener])
    finally:
        with suppress(OSError):
            if listener.family == socket.AF_UNIX:
                os.unlink(listener.getsockname())
