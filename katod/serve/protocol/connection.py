"""Clients of CodingBridge over a WebSocket: each is answered, and sent what it has asked for."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import ref

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from katod import __version__
from katod.errors import LedgerError
from katod.formats.stream import bridge
from katod.model import SessionKey
from katod.serve import failures
from katod.serve.access.limits import SOCKETS, Rate
from katod.serve.feed.channel import Channel, Lost
from katod.serve.feed.hub import Hub
from katod.serve.feed.position import Position
from katod.serve.feed.tail import Tail
from katod.serve.http import Disconnected, problem
from katod.serve.index.entry import NotServed
from katod.serve.protocol import messages as protocol
from katod.serve.worker import Busy

_HISTORY: Final = 50  # messages that a viewer is sent at first
_EACH, _BURST = 20.0, 100.0  # messages a second
_WAITS: Final = 1.0  # seconds that a client that sends more has to wait, at most
_PING_EVERY: Final = 25.0  # seconds
Fields = dict[str, Any]
Send = Callable[[str], Awaitable[None]]
WeakTask = ref[asyncio.Task[None]]


class WebSocketEndpoint:
    """Talks to each client until it leaves."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._open = 0

    async def talk(self, socket: WebSocket) -> None:
        """Answer the messages of one client."""
        if self._open >= SOCKETS:
            await socket.send_denial_response(problem(503, "BUSY", "too many clients", {"Retry-After": "5"}))
            return
        self._open += 1
        try:
            await socket.accept()
            async with asyncio.TaskGroup() as group:
                await _talk(socket, ClientConnection(self._hub, partial(_send, socket), group), group)
        except* Disconnected:
            pass
        finally:
            self._open -= 1


class ClientConnection:
    """The connection of one client: it shows one session at a time, and changes of the list if it has subscribed.

    `send` raises Disconnected, which ends the connection: the client has left, or is too slow.
    """

    def __init__(self, hub: Hub, send: Send, group: asyncio.TaskGroup) -> None:
        self._hub = hub
        self._send = send
        self._group = group
        self._key: SessionKey | None = None  # of the session that is shown
        # The group has the tasks: one that was cancelled refers to this client, and to the session that it showed.
        self._viewing: WeakTask | None = None
        self._listening: WeakTask | None = None

    async def take(self, text: str) -> None:
        """Answer a message; what goes on after that is done in tasks of the group."""
        message = protocol.parse(text)
        answer = protocol.answer(message, _milliseconds())
        if answer is not None:
            await self._send_message(answer)
        elif message["type"] == protocol.START:
            self._view(self._start(message))
        elif message["type"] == protocol.RECONNECT:
            self._view(self._reconnect(message))
        elif message["type"] == protocol.SUBSCRIBE:
            self._listening = self._instead(self._listening, self._listen(protocol.project_of(message)))

    async def beat(self) -> None:
        """Ping the client now and then."""
        while True:
            await asyncio.sleep(_PING_EVERY)
            await self._send_message(bridge.ping(_milliseconds()))

    async def send_too_fast(self, seconds: float) -> None:
        """Send the error for a client that sends too much."""
        await self._send_message(protocol.too_fast(seconds))

    async def _send_message(self, message: Fields) -> None:
        await self._send(orjson.dumps(message).decode())

    def _view(self, work: Coroutine[Any, Any, None]) -> None:
        self._viewing = self._instead(self._viewing, work)

    def _instead(self, before: WeakTask | None, work: Coroutine[Any, Any, None]) -> WeakTask:
        if before is not None and (task := before()) is not None:
            task.cancel()
        return ref(self._group.create_task(self._guarded(work)))

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except (Busy, LedgerError, NotServed):  # or the session was found, but is gone now
            await self._send_message(protocol.failed())
        except Disconnected:
            raise
        except Exception as error:  # noqa: BLE001 - one session must not end the connection
            failures.note(self._hub.log, error, self._key)
            await self._send_message(protocol.failed())

    # -- what a client may ask for ------------------------------------------------------------------------

    async def _start(self, message: Fields) -> None:
        """Send the last messages of a session, then all that follow."""
        wanted, project = message.get("sessionId", ""), protocol.project_of(message) or "/"
        entry = await self._hub.find(wanted) if wanted else await self._hub.newest(project)
        if entry is None:
            await self._send_message(protocol.no_session())
            return
        self._key = entry.key
        async with self._hub.viewing(entry.name) as channel:
            position = channel.tail.position()
            messages, has_more = channel.tail.last(_HISTORY)
            await self._send_message(bridge.connected(entry.key, channel.metadata.model, __version__))
            await self._send_message(bridge.history([orjson.loads(sent.text) for sent in messages], has_more=has_more))
            await self._follow(channel, position)

    async def _reconnect(self, message: Fields) -> None:
        """Send what a client missed since the message that it names, then all that follows."""
        name, since = protocol.session_of(message["agentId"]), message.get("lastMessageId", "")
        entry = await self._hub.find(name) if name else None
        if entry is None:
            await self._send_message(protocol.no_agent())
            return
        self._key = entry.key
        async with self._hub.viewing(name) as channel:
            position = channel.tail.position()
            try:
                if since:
                    position = await channel.find(bridge.folded(since))
            except Lost:
                await self._send_message(bridge.cursor_invalid(since))
            else:
                await self._follow(channel, position, since or position.last)

    async def _follow(self, channel: Channel, position: Position, since: str | None = None) -> None:
        """Send each message after a position, also after the session was rewritten, while the position is in it.

        With `since`, the client reconnected: `reconnect_complete` follows the messages that it missed.
        """
        coming = _Coming(position, since)
        try:
            while True:
                tail = channel.tail
                with suppress(Lost):
                    await self._send_after(channel, coming)
                coming.position = await _again(channel, tail, coming.position)
        except (Lost, NotServed):
            await self._send_message(bridge.cursor_invalid(coming.position.last))

    async def _send_after(self, channel: Channel, coming: "_Coming") -> None:
        async with aclosing(channel.follow(coming.position, in_order=True)) as messages:
            async for sent in messages:
                if sent is not None:
                    coming.missed += bool(sent.id)
                    coming.position = coming.position.after(sent)
                    await self._send(sent.text)
                elif coming.since is not None:
                    await self._send_message(bridge.reconnect_complete(coming.missed, coming.since))
                    coming.since = None

    async def _listen(self, project: str) -> None:
        async with self._hub.subscribed() as subscription:
            while True:
                for row in await subscription.take():
                    if not project or row["projectPath"] == project:
                        await self._send_message(row)


@dataclass(slots=True)
class _Coming:
    """How far a viewer is, and, if it came back after a message, how many it has missed since."""

    position: Position
    since: str | None
    missed: int = 0


async def _again(channel: Channel, tail: Tail, position: Position) -> Position:
    """Return a position in a session that was rewritten; `tail` was its end before. Raises Lost, NotServed."""
    if channel.tail is tail:
        await channel.catch_up()
    if channel.tail is tail:  # it was not: the position would be lost again
        raise Lost
    return await channel.find_all(position.ids) if position.ids else Position()


def _milliseconds() -> float:
    return round(time.time() * 1000)


async def _send(socket: WebSocket, text: str) -> None:
    try:
        await socket.send_text(text)
    except WebSocketDisconnect:
        raise Disconnected from None


async def _talk(socket: WebSocket, client: ClientConnection, group: asyncio.TaskGroup) -> None:
    rate = Rate(_EACH, _BURST)
    group.create_task(client.beat())
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise Disconnected
        if wait := rate.wait(time.monotonic()):
            await client.send_too_fast(_WAITS)
            await asyncio.sleep(min(wait, _WAITS))  # what it goes on sending is not even read
        else:
            await client.take(message.get("text") or "")
