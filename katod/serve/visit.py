"""One client of CodingBridge: takes what it says, and sends what it asked for. Knows nothing of sockets."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson

from katod import __version__
from katod.errors import LedgerError
from katod.formats.stream import bridge
from katod.model import SessionKey
from katod.serve import failures, protocol
from katod.serve.channel import Channel, Lost
from katod.serve.feed import NotServed
from katod.serve.guard import Gone
from katod.serve.hub import Hub
from katod.serve.tail import Place
from katod.serve.worker import Busy

_HISTORY: Final = 50  # messages that a viewer is sent at first
_PING_EVERY: Final = 25.0  # seconds
Fields = dict[str, Any]
Send = Callable[[str], Awaitable[None]]


class Visit:
    """What one client looks at: one session at a time, and the list of sessions if it wants to hear of it.

    `send` raises Gone, which ends the visit: the client has left, or is too slow.
    """

    def __init__(self, hub: Hub, send: Send, group: asyncio.TaskGroup) -> None:
        self._hub = hub
        self._send = send
        self._group = group
        self._key: SessionKey | None = None  # of the session that is looked at
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
            self._listening = self._instead(self._listening, self._listen(protocol.project_of(message)))

    async def beat(self) -> None:
        """Ask now and then whether the client is there."""
        while True:
            await asyncio.sleep(_PING_EVERY)
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
        except (Busy, LedgerError, NotServed):  # or the session was found, but is gone now
            await self._say(protocol.failed())
        except Gone:
            raise
        except Exception as error:  # noqa: BLE001 - one session must not end the visit
            failures.note(self._hub.log, error, self._key)
            await self._say(protocol.failed())

    # -- what a client may ask for ------------------------------------------------------------------------

    async def _start(self, message: Fields) -> None:
        """Send what was said last in a session, then all that follows."""
        wanted, project = message.get("sessionId", ""), protocol.project_of(message) or "/"
        known = await self._hub.find(wanted) if wanted else await self._hub.newest(project)
        if known is None:
            await self._say(protocol.no_session())
            return
        self._key = known.key
        async with self._hub.looking(known.name) as channel:
            number, place = channel.tail.end, channel.tail.place()
            messages, has_more = channel.tail.last(_HISTORY)
            await self._say(bridge.connected(known.key, channel.metadata.model, __version__))
            await self._say(bridge.history([orjson.loads(sent.text) for sent in messages], has_more=has_more))
            await self._follow(channel, place, number)

    async def _reconnect(self, message: Fields) -> None:
        """Send what a client missed since the message that it names, then all that follows."""
        name, since = protocol.session_of(message["agentId"]), message.get("lastMessageId", "")
        known = await self._hub.find(name) if name else None
        if known is None:
            await self._say(protocol.no_agent())
            return
        self._key = known.key
        async with self._hub.looking(name) as channel:
            number: int | None = channel.tail.end
            place = channel.tail.place()
            try:
                if since:
                    place, number = await channel.find(bridge.folded(since))
            except Lost:
                await self._say(bridge.cursor_invalid(since))
            else:
                await self._follow(channel, place, number, since or place.id)

    async def _follow(self, channel: Channel, place: Place, number: int | None, since: str | None = None) -> None:
        """Send each message after a place, also once the session was written again, as long as the place is in it.

        With `since`, the client reconnected: `reconnect_complete` follows the messages that it missed.
        """
        coming = _Coming(place, since)
        try:
            while True:
                with suppress(Lost):
                    await self._send_after(channel, coming, number)
                coming.place, number = await channel.find(coming.place.id) if coming.place.id else (Place(), 0)
        except (Lost, NotServed):
            await self._say(bridge.cursor_invalid(coming.place.id))

    async def _send_after(self, channel: Channel, coming: "_Coming", number: int | None) -> None:
        async with aclosing(channel.follow(coming.place, number)) as messages:
            async for sent in messages:
                if sent is not None:
                    coming.missed += bool(sent.id)
                    coming.place = coming.place.after(sent)
                    await self._send(sent.text)
                elif coming.since is not None:
                    await self._say(bridge.reconnect_complete(coming.missed, coming.since))
                    coming.since = None

    async def _listen(self, project: str) -> None:
        async with self._hub.subscribed() as subscription:
            while True:
                for row in await subscription.take():
                    if not project or row["projectPath"] == project:
                        await self._say(row)


@dataclass(slots=True)
class _Coming:
    """How far a viewer is, and, if it came back after a message, how many it has missed since."""

    place: Place
    since: str | None
    missed: int = 0


def _milliseconds() -> float:
    return round(time.time() * 1000)
