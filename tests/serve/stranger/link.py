"""One socket of a client: reads frames into a queue, answers pings, and ends itself when pongs stay out."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """All waiting times, in seconds."""

    backoff_first: float = 0.05
    backoff_cap: float = 1.0
    retry_after_cap: float = 3.0
    ping_every: float = 2.0
    pong_within: float = 6.0
    answer_within: float = 5.0
    history_within: float = 1.0
    rest_timeout: float = 10.0


class Link:
    """One WebSocket, and the tasks that read it and keep it alive."""

    def __init__(self, socket: ClientConnection, timing: Timing, parse: Callable[[str | bytes], Json | None]) -> None:
        self.frames: asyncio.Queue[Json | None] = asyncio.Queue()
        self._socket = socket
        self._timing = timing
        self._parse = parse
        self._pong = asyncio.Event()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._keep_alive())]

    async def send(self, message: Json) -> None:
        """Send a message; on a dead socket do nothing, because the reader reports that."""
        with suppress(ConnectionClosed, OSError):
            await self._socket.send(json.dumps(message))

    def abort(self) -> None:
        """End the connection without a closing handshake."""
        self._socket.transport.abort()

    async def close(self) -> list[BaseException]:
        """End the connection and its tasks; return the exceptions that the tasks should not have raised."""
        for task in self._tasks:
            task.cancel()
        results = await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._socket.close()
        self.abort()
        return [result for result in results if isinstance(result, Exception)]

    async def _read(self) -> None:
        try:
            async for raw in self._socket:
                frame = self._parse(raw)
                if frame is None:
                    continue
                if frame["type"] == "ping":
                    await self.send({"type": "pong"})
                elif frame["type"] == "pong":
                    self._pong.set()
                else:
                    self.frames.put_nowait(frame)
        except ConnectionClosed:
            pass
        finally:
            self.frames.put_nowait(None)

    async def _keep_alive(self) -> None:
        try:
            while True:
                await asyncio.sleep(self._timing.ping_every)
                self._pong.clear()
                async with asyncio.timeout(self._timing.pong_within):
                    await self.send({"type": "ping"})
                    await self._pong.wait()
        except TimeoutError:
            self.abort()


class Backoff:
    """Waiting times that double up to a cap."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._delay = timing.backoff_first

    def reset(self) -> None:
        """Start again from the shortest time."""
        self._delay = self._timing.backoff_first

    async def wait(self, at_least: float = 0.0) -> None:
        """Wait, at least as long as the server asked for within reason."""
        asked = min(at_least, self._timing.retry_after_cap)
        await asyncio.sleep(max(self._delay, asked))
        self._delay = min(self._delay * 2, self._timing.backoff_cap)
