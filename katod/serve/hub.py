"""Who looks at which session: opens each once for all viewers, closes it when nobody looks, tells of changes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

from katod.errors import LedgerError
from katod.log import EventLog
from katod.serve.changes import Changes
from katod.serve.channel import Channel
from katod.serve.feed import Feed, Opening, Reading
from katod.serve.known import Known
from katod.serve.news import News, Subscription
from katod.serve.shelf import Shelf
from katod.serve.tail import Tail
from katod.serve.worker import Busy, Worker

_LINGER: Final = 10.0  # seconds that a session stays open for somebody who comes back,
_MOST_LINGERING: Final = 1  # and how many do
_PAUSE: Final = 0.02  # seconds that others have between two steps of what nobody waits for
Fields = dict[str, Any]
Work = Callable[[], Coroutine[Any, Any, None]]


class Hub:
    """The sessions that are served, and those that are looked at. For the event loop, in which it does not wait."""

    def __init__(self, shelf: Shelf, changes: Changes, log: EventLog) -> None:
        self.reading = Worker("katod-reading")
        self.searching = Worker("katod-searching")
        self.shelf = shelf
        self._changes = changes
        self._log = log
        self._channels: dict[tuple[str, Opening], Channel] = {}  # by session, and what reads it
        self._news = News(shelf)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Find out which sessions there are, so that whoever asks first does not wait for that; hear of changes."""
        self._changes.start(asyncio.get_running_loop(), self._changed)
        with suppress(LedgerError):  # whoever asks is told
            await self.reading.run(self.shelf.all)
        self._begin(self._look_around)

    def close(self) -> None:
        """Stop reading and hearing of changes."""
        self._changes.close()
        self.reading.close()
        self.searching.close()
        for task in self._tasks:
            task.cancel()

    @property
    def viewed(self) -> int:
        """How many sessions are open."""
        return len({name for name, _ in self._channels})

    async def find(self, name: str) -> Known | None:
        """Return the session with this UUID, None if there is none. Raises LedgerError, Busy."""
        return await self.reading.run(lambda: self.shelf.find(name))

    async def newest(self, project: str) -> Known | None:
        """Return the session of a project that changed last, None if there is none. Raises LedgerError, Busy."""
        return await self.reading.run(lambda: self.shelf.newest(project))

    @asynccontextmanager
    async def looking(self, name: str, opening: Opening = Feed) -> AsyncGenerator[Channel, None]:
        """Look at a session within the block; all that it has was read when the block begins. Raises KeyError.

        `opening` is what reads it for its viewers.
        """
        channel = self._channels.get((name, opening))
        if channel is None:
            channel = Channel(lambda: self.shelf.content(name), self.reading, opening)
            self._channels[name, opening] = channel
            self._begin(channel.advance)
        channel.viewers += 1
        try:
            await channel.ready()
            yield channel
        finally:
            channel.viewers -= 1
            self._rest()
            asyncio.get_running_loop().call_later(_LINGER, self._leave, (name, opening))

    def take_over(self, name: str, opening: Opening, reading: Reading, tail: Tail) -> None:
        """Go on where somebody has read a session to its end; `tail` is the end of that. Else it is read again."""
        if (name, opening) not in self._channels:
            channel = Channel(reading.content, self.reading, lambda _: reading, tail)
            self._channels[name, opening] = channel
            self._rest()
            asyncio.get_running_loop().call_later(_LINGER, self._leave, (name, opening))

    @asynccontextmanager
    async def subscribed(self) -> AsyncGenerator[Subscription, None]:
        """Hear within the block which sessions begin, go on and end. Raises LedgerError, Busy."""
        await self.reading.run(self._news.begin)
        subscription = self._news.subscribe()
        try:
            yield subscription
        finally:
            self._news.leave(subscription)

    # -- changes ----------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """Close all but the last sessions that nobody looks at."""
        resting = [what for what, channel in self._channels.items() if not channel.viewers]
        for what in resting[:-_MOST_LINGERING]:
            del self._channels[what]

    def _leave(self, what: tuple[str, Opening]) -> None:
        if (channel := self._channels.get(what)) is not None and not channel.viewers:
            del self._channels[what]

    async def _look_around(self) -> None:
        """Find out what all sessions are about, while nobody waits for that."""
        async with aclosing(self.reading.stream(self.shelf.briefs())) as found:
            async for _ in found:
                await asyncio.sleep(_PAUSE)

    def _changed(self, paths: set[str]) -> None:
        if self._channels or self._news.has_subscribers:
            self._begin(partial(self._take_up, paths))

    async def _take_up(self, paths: set[str]) -> None:
        """Read what is new in the sessions of these files, or in all that are looked at; tell of them."""
        names = await self.reading.run(lambda: self.shelf.take_up(paths)) if paths else None
        for (name, _), channel in self._channels.items():
            if names is None or name in names:
                self._begin(channel.advance)
        if self._news.has_subscribers:
            rows = await self.reading.run(lambda: self._news.look(names or set()))
            self._news.tell(rows)
        elif not paths:
            await self.reading.run(self.shelf.all)  # files that nobody told of

    def _begin(self, work: Work) -> None:
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Work) -> None:
        """Do what is done again a second later if it fails."""
        with suppress(Busy, LedgerError):
            try:
                await work()
            except (Busy, LedgerError):
                raise
            except Exception as error:  # noqa: BLE001 - one session must not end the server
                self._log.serve_failed(type(error).__name__)
