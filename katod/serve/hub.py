"""Who looks at which session: opens each once for all viewers, closes it when nobody looks, tells of changes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

from katod.errors import LedgerError
from katod.log import EventLog
from katod.model import SessionKey
from katod.serve import failures
from katod.serve.changes import Changes
from katod.serve.channel import Channel
from katod.serve.feed import Feed, NotServed, Opening, Reading
from katod.serve.known import Known
from katod.serve.news import News, Subscription
from katod.serve.opened import Opened
from katod.serve.shelf import Shelf
from katod.serve.tail import Tail
from katod.serve.worker import Busy, Worker

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
        self.log = log
        self._opened = Opened()
        self._news = News(shelf)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Find out which sessions there are, so that whoever asks first does not wait for that; hear of changes."""
        self._changes.start(asyncio.get_running_loop(), self._changed)
        with suppress(LedgerError):  # the next request reports it
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
        return len({name for name, _ in self._opened})

    async def find(self, name: str) -> Known | None:
        """Return the session with this UUID, None if there is none. Raises LedgerError, Busy."""
        return await self.reading.run(lambda: self.shelf.find(name))

    async def newest(self, project: str) -> Known | None:
        """Return the session of a project that changed last, None if there is none. Raises LedgerError, Busy."""
        return await self.reading.run(lambda: self.shelf.newest(project))

    @asynccontextmanager
    async def looking(self, name: str, opening: Opening = Feed) -> AsyncGenerator[Channel, None]:
        """Look at a session within the block; all that it has was read when the block begins.

        `opening` is what reads it for its viewers. Raises NotServed, Busy, and what reading raises.
        """
        content = partial(self.shelf.content, name)
        channel = self._opened.enter((name, opening), lambda: Channel(content, self.reading, opening))
        try:
            await channel.ready()
            yield channel
        finally:
            self._opened.leave((name, opening))

    def kept(self, name: str, opening: Opening) -> set[str]:
        """Return the ids of what is kept of a session, none if it is not open."""
        channel = self._opened.get((name, opening))
        return channel.tail.ids() if channel is not None else set()

    async def take_over(self, name: str, opening: Opening, reading: Reading, tail: Tail, *, changed: bool) -> None:
        """Go on where somebody has read a session to its end; `tail` is the end of that. Else it is read again.

        If the session is open, that stays as it is, unless what is kept has `changed`.
        """
        channel = self._opened.get((name, opening))
        if channel is None:
            self._opened.offer((name, opening), Channel(reading.content, self.reading, opening, (reading, tail)))
        elif changed:
            await channel.start_over(reading, tail)

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

    async def _look_around(self) -> None:
        """Find out what all sessions are about, while nobody waits for that."""
        async with aclosing(self.reading.stream(self.shelf.briefs())) as found:
            async for _ in found:
                await asyncio.sleep(_PAUSE)

    def _changed(self, paths: set[str]) -> None:
        if self._opened or self._news.has_subscribers:
            self._begin(partial(self._take_up, paths))

    async def _take_up(self, paths: set[str]) -> None:
        """Read what is new in the sessions of these files, or in all that are looked at; tell of them."""
        names = await self.reading.run(lambda: self.shelf.take_up(paths)) if paths else None
        for name, channel in self._opened:
            if names is None or name in names:
                self._begin(channel.advance, channel.key)
        if self._news.has_subscribers:
            self._news.tell(await self.reading.run(partial(self._news.look, is_due=not paths)))
        elif not paths:
            await self.reading.run(self.shelf.all)  # files that nobody told of

    def _begin(self, work: Work, key: SessionKey | None = None) -> None:
        task = asyncio.get_running_loop().create_task(self._guarded(work, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Work, key: SessionKey | None) -> None:
        """Do what is done again a second later if it fails."""
        try:
            await work()
        except (Busy, LedgerError, NotServed):
            return
        except Exception as error:  # noqa: BLE001 - one session must not end the server
            failures.note(self.log, error, key)
