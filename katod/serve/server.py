"""The process of `katod serve`: sockets that listen, connections with limits, and an end within two seconds."""

import asyncio
import ctypes
import errno
import gc
import os
import signal
import socket
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from katod.errors import ServeError
from katod.formats.redact import engine
from katod.preload import preload
from katod.serve.access import limits
from katod.serve.access.guard import ABORT, UNSENT

_GRACE: Final = 1  # seconds that answers may still take when the server ends
_BACKLOG: Final = 64
_PRIVATE: Final = 0o077
_MEMORY: Final = ((-8, 1), (-1, 64 * 1024), (-3, 128 * 1024))  # arenas; bytes that are kept; bytes that are mapped


_TAKEN: Final = "if that is `katod serve`, `katod serve --url` prints its address; else choose another --port"


class _Connection(H11Protocol):
    """One connection: not one too many, and ended if nothing is asked for, or nothing is read."""

    began = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.began = self.loop.time()
        self.loop.call_later(limits.FIRST, self._end_if_idle)
        open_ones = [one for one in self.connections if not one.transport.is_closing()]
        if len(open_ones) > limits.CONNECTIONS:
            _end_oldest(open_ones)

    def data_received(self, data: bytes) -> None:
        """Take what a client sends; unlike one of uvicorn's, a part of a request does not put off the end."""
        self.conn.receive_data(data)
        self.handle_events()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked for, and nothing is to be sent."""
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and not self.transport.get_write_buffer_size()

    def _end_if_idle(self) -> None:
        if self.cycle is None and self in self.connections:
            self.transport.abort()

    def handle_events(self) -> None:
        before = self.scope
        super().handle_events()
        if self.scope is not before:  # something was asked for
            self._unset_keepalive_if_required()
        if isinstance(self.scope, dict):  # there is none before the first request
            _offer(self.scope, self.transport)


def _end_oldest(connections: Iterable[Any]) -> None:
    """End the oldest connection on which nothing is asked for: idle ones keep no client out."""
    idle = [one for one in connections if one.is_idle]
    min(idle, key=lambda one: one.began).transport.abort()  # the new one at least is idle


class _Socket(WebSocketsSansIOProtocol):
    """One WebSocket, which can be ended although the client reads nothing."""

    is_idle = False  # it is asked for as long as it is open

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # there is none if the handshake failed
            _offer(self.scope, self.transport)

    def data_received(self, data: bytes) -> None:
        """Take what a client sends; the first is the head of its request."""
        super().data_received(data)
        if not self.handshake_initiated:
            self.transport.abort()

    def handle_cont(self, event: Any) -> None:
        """Take another piece of a message, of which there may be so many; the library counts their bytes only."""
        super().handle_cont(event)
        if len(self.frames) > limits.PIECES:
            self.transport.abort()

    def handle_ping(self) -> None:
        """Answer, unless the client does not read the answers."""
        if self.transport.get_write_buffer_size() > limits.UNREAD:
            self.transport.abort()
        elif not self.transport.is_closing():
            super().handle_ping()


def _offer(scope: Any, transport: asyncio.Transport) -> None:
    """Let the application end a connection at once, and know how much of what it sent waits for the client."""
    scope.setdefault("extensions", {}).update({ABORT: transport.abort, UNSENT: transport.get_write_buffer_size})


class _Server(uvicorn.Server):
    """A server that leaves signals to the loop, so that its end is no failure, and closes what is to be closed."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        # Connections that are being closed: what is unsent, and since when it has been as much.
        self._closing: dict[asyncio.Transport, tuple[int, float]] = {}

    async def on_tick(self, counter: int) -> bool:
        """Look after the server now and then."""
        self._cut_off(time.monotonic())
        return await super().on_tick(counter)

    def _cut_off(self, now: float) -> None:
        """End connections that were closed, but for what their clients do not read."""
        transports = (one.transport for one in self.server_state.connections)
        before, self._closing = self._closing, {}
        for transport in (one for one in transports if one.is_closing()):
            left = transport.get_write_buffer_size()
            unsent, since = before.get(transport, (left, now))
            self._closing[transport] = (unsent, since) if left >= unsent else (left, now)
            if now - self._closing[transport][1] > limits.PATIENCE:
                transport.abort()

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
    """Return a socket that listens at an address of this machine. Raises ServeError."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return _bound(family, address)
    except OSError as error:
        hint = _TAKEN if error.errno == errno.EADDRINUSE else ""
        raise ServeError(f"cannot listen on {host}:{port}: {error.strerror or error}", hint=hint) from error


def listening_at(path: Path) -> socket.socket:
    """Return a UNIX socket that only this user can reach; a dead one is replaced. Raises ServeError."""
    try:
        if path.exists() and stat.S_ISSOCK(path.lstat().st_mode) and _is_dead(path):
            path.unlink()
        before = os.umask(_PRIVATE)
        try:
            return _bound(socket.AF_UNIX, str(path))
        finally:
            os.umask(before)
    except OSError as error:
        raise ServeError(f"cannot listen on this socket: {error.strerror or error}", path=path) from error


def _bound(family: int, address: Any) -> socket.socket:
    # The protocol is named, as only then the loop has each answer sent at once: else, parts of it wait for 40 ms.
    protocol = 0 if family == socket.AF_UNIX else socket.IPPROTO_TCP
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    try:
        if family != socket.AF_UNIX:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)  # at once: an address that is only bound can be taken by another user
    except OSError:
        listener.close()
        raise
    return listener


def _is_dead(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) != 0


def keep_small() -> None:
    """Have the C library give memory back, and redaction take less: a server reads much at times. Before any thread."""
    engine.keep_small()
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in _MEMORY:
            mallopt(option, value)


class _SocketFile(NamedTuple):
    """The file of a UNIX socket, as it was when the socket was bound to it."""

    path: str
    identity: tuple[int, int]

    @classmethod
    def of(cls, path: str) -> "_SocketFile":
        """Return the file at a path. Raises OSError if there is none."""
        return cls(path, _identity(path))

    def remove(self) -> None:
        """Remove it, unless another server has put its own there meanwhile."""
        with suppress(OSError):
            if _identity(self.path) == self.identity:
                os.unlink(self.path)


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def run(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; a second one ends without waiting for answers."""
    config = uvicorn.Config(
        app, http=_Connection, ws=_Socket, loop="asyncio", lifespan="on", log_config=None, log_level="critical",
        access_log=False, proxy_headers=False, server_header=False, date_header=False, backlog=_BACKLOG,
        ws_max_size=limits.FRAME, ws_per_message_deflate=False, h11_max_incomplete_event_size=limits.HEAD,
        timeout_graceful_shutdown=_GRACE, timeout_keep_alive=limits.AGAIN,
    )  # fmt: skip
    preload()
    gc.collect()
    gc.freeze()  # all that is loaded stays: to look through it again and again would take most of the time of lists
    # A socket that was closed has no name.
    own = _SocketFile.of(listener.getsockname()) if listener.family == socket.AF_UNIX else None
    try:
        _Server(config).run([listener])
    finally:
        if own is not None:
            own.remove()
