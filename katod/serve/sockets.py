"""The WebSocket of CodingBridge."""

import asyncio
import time
from functools import partial
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from katod.serve.answers import problem
from katod.serve.guard import Gone
from katod.serve.hub import Hub
from katod.serve.limits import SOCKETS, Rate
from katod.serve.visit import Visit

_EACH, _BURST = 20.0, 100.0  # messages a second
_WAITS: Final = 1.0  # seconds that a client that sends more has to wait, at most


class Sockets:
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
                await _talk(socket, Visit(self._hub, partial(_send, socket), group), group)
        except* Gone:
            pass
        finally:
            self._open -= 1


async def _send(socket: WebSocket, text: str) -> None:
    try:
        await socket.send_text(text)
    except WebSocketDisconnect:
        raise Gone from None


async def _talk(socket: WebSocket, visit: Visit, group: asyncio.TaskGroup) -> None:
    rate = Rate(_EACH, _BURST)
    group.create_task(visit.beat())
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise Gone
        if wait := rate.wait(time.monotonic()):
            await visit.say_too_fast(_WAITS)
            await asyncio.sleep(min(wait, _WAITS))  # what it goes on sending is not even read
        else:
            await visit.take(message.get("text") or "")
