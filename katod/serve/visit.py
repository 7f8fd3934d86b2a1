"""One client of CodingBridge: takes what it says, and sends what it asked for. Knows nothing of sockets."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any, Final

import orjson

from katod import __version__
from katod.errors import LedgerError
from katod.formats.stream import bridge
from katod.serve import protocol
from katod.serve.channel import Channel, Lost
from katod.serve.hub import Hub
from katod.serve.tail import Place
from katod.serve.worker import Busy

_HISTORY: Final = 50  # messages that a viewer is sent at first
BEAT: Final = 25.0  # seconds between two pings
Fields = dict[str, Any]
Send = Callable[[str], Awaitable[None]]


class Visit:
    """What one client looks at: one session at a time, and the list of sessions if it wants to hear of it.

    `send` raises what ends the visit: that the client is gone, or too slow.
    """

    def __init__(self, hub: Hub, send: Send, group: asyncio.TaskGroup) -> None:
        self._hub = hub
        self._send = send
        self._group = group
        self._viewing: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    async def take(self, text: str) -> None:
        """Answer a message; what goes on after that is done in tasks of the group."""
        message = protocol.parse(text)
        answer = protocol.answer(message, _milliseconds())
        if answer is not None:
            await self._say(answer)
        elif message["type"] == protocol.START:
            self._view(self._start(message))
        elif message["type"] == protocol.RECONNECT:
            self._view(self._reconnect(message))
        elif message["type"] == protocol.SUBSCRIBE:
            self._listening = self._instead(self._listening, self._listen(message.get("projectPath", "")))

    async def beat(self) -> None:
        """Ask now and then whether the client is there."""
        while True:
            await asyncio.sleep(BEAT)
            await self._say(bridge.ping(_milliseconds()))

    async def say_too_fast(self, seconds: float) -> None:
        """Tell a client that it sends too much."""
        await self._say(protocol.too_fast(seconds))

    async def _say(self, message: Fields) -> None:
        await self._send(orjson.dumps(message).decode())

    def _view(self, work: Coroutine[Any, Any, None]) -> None:
        self._viewing = self._instead(self._viewing, work)

    def _instead(self, before: asyncio.Task[None] | None, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        if before is not None:
            before.cancel()
        return self._group.create_task(self._guarded(work))

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except (Busy, LedgerError, KeyError):  # or the session was found, but is gone now
            await self._say(protocol.failed())

    # -- what a client may ask for ------------------------------------------------------------------------

    async def _start(self, message: Fields) -> None:
        """Send what was said last in a session, then all that follows."""
        wanted, project = message.get("sessionId", ""), message["projectPath"].rstrip("/") or "/"
        known = await self._hub.find(wanted) if wanted else await self._hub.newest(project)
        if known is None:
            await self._say(protocol.no_session())
            return
        async with self._hub.looking(known.name) as channel:
            number, place = channel.tail.end, channel.tail.place()
            messages, has_more = channel.tail.last(_HISTORY)
            await self._say(bridge.connected(known.key, channel.metadata.model, __version__))
            await self._say(bridge.history([orjson.loads(sent.text) for sent in messages], has_more=has_more))
            await self._follow(channel, place, number)

    async def _reconnect(self, message: Fields) -> None:
        """Send what a client missed since the message that it names, then all that follows."""
        name, since = protocol.session_of(message["agentId"]), message.get("lastMessageId", "")
        if not name or await self._hub.find(name) is None:
            await self._say(protocol.no_agent())
            return
        async with self._hub.looking(name) as channel:
            number: int | None = channel.tail.end
            place = channel.tail.place()
            try:
                if since:
                    place, number = await channel.find(bridge.folded(since))
            except Lost:
                await self._say(bridge.cursor_invalid(since))
            else:
                await self._follow(channel, place, number, since=since or place.id)

    async def _follow(self, channel: Channel, place: Place, number: int | None, since: str | None = None) -> None:
        """Send each message after a place; say when a client that came back has all that it missed."""
        missed = 0
        try:
            async with aclosing(channel.follow(place, number)) as messages:
                async for sent in messages:
                    if sent is not None:
                        missed += bool(sent.id)
                        place = place.after(sent)
                        await self._send(sent.text)
                    elif since is not None:
                        await self._say(bridge.reconnect_complete(missed, since))
                        since = None
        except Lost:
            await self._say(bridge.cursor_invalid(place.id))

    async def _listen(self, project: str) -> None:
        async with self._hub.subscribed() as subscription:
            while True:
                for row in await subscription.take():
                    if not project or row["projectPath"] == project:
                        await self._say(row)


def _milliseconds() -> float:
    return round(time.time() * 1000)
