"""The sessions that are open: each is opened once for all viewers, kept up to date, and closed after the last one."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from katod.errors import LedgerError
from katod.log import EventLog
from katod.model import SessionKey
from katod.serve import failures
from katod.serve.feed.channel import Channel
from katod.serve.feed.reader import MakeReader, MessageReader, SessionReader
from katod.serve.feed.tail import Tail
from katod.serve.index.changes import FileChanges
from katod.serve.index.entry import NotServed, SessionEntry
from katod.serve.index.sessions import SessionIndex
from katod.serve.index.subscriptions import Subscription, Subscriptions
from katod.serve.worker import Busy, WorkerThread

_LINGER: Final = 10.0  # seconds that a session stays open after its last viewer has left,
_MOST_LINGERING: Final = 1  # and how many do
_PAUSE: Final = 0.02  # seconds for other jobs between two steps in the background
Fields = dict[str, Any]
What = tuple[str, MakeReader]  # the UUID of a session, and what reads it
Work = Callable[[], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class _OpenChannel:
    channel: Channel
    viewers: int = 0
    end: asyncio.TimerHandle | None = None


class OpenChannels:
    """The channels that are open; those without viewers in the order in which the last one left."""

    def __init__(self) -> None:
        self._open: dict[What, _OpenChannel] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def __iter__(self) -> Iterator[tuple[str, Channel]]:
        return iter([(name, one.channel) for (name, _), one in self._open.items()])

    def get(self, what: What) -> Channel | None:
        """Return a channel if it is open."""
        return one.channel if (one := self._open.get(what)) is not None else None

    def enter(self, what: What, opened: Callable[[], Channel]) -> Channel:
        """Count another viewer, and return its channel; `opened` makes it if it is not open."""
        one = self._open.get(what)
        if one is None:
            one = self._open[what] = _OpenChannel(opened())
        one.viewers += 1
        if one.end is not None:
            one.end.cancel()
        return one.channel

    def leave(self, what: What) -> None:
        """Note that a viewer has left."""
        one = self._open[what]
        one.viewers -= 1
        if not one.viewers:
            self._linger(what, one)

    def offer(self, what: What, channel: Channel) -> None:
        """Keep a channel open for a viewer who may come."""
        self._linger(what, _OpenChannel(channel))

    def _linger(self, what: What, one: _OpenChannel) -> None:
        self._open.pop(what, None)
        self._open[what] = one
        one.end = asyncio.get_running_loop().call_later(_LINGER, self._open.pop, what)
        resting = [what for what, one in self._open.items() if not one.viewers]
        for left in resting[:-_MOST_LINGERING]:
            self._close(left)

    def _close(self, what: What) -> None:
        end = self._open.pop(what).end
        if end is not None:
            end.cancel()


class Hub:
    """The sessions that are served, and those that are open. For the event loop, which it never blocks."""

    def __init__(self, index: SessionIndex, changes: FileChanges, log: EventLog) -> None:
        self.reading = WorkerThread("katod-reading")
        self.searching = WorkerThread("katod-searching")
        self.index = index
        self._changes = changes
        self.log = log
        self._opened = OpenChannels()
        self._subscriptions = Subscriptions(index)
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Fill the index, so that the first request need not wait for that, and watch for changes."""
        self._changes.start(asyncio.get_running_loop(), self._changed)
        with suppress(LedgerError):  # the next request reports it
            await self.reading.run(self.index.all)
        self._begin(self._look_around)

    def close(self) -> None:
        """Stop reading and watching."""
        self._changes.close()
        self.reading.close()
        self.searching.close()
        for task in self._tasks:
            task.cancel()

    @property
    def viewed(self) -> int:
        """How many sessions are open."""
        return len({name for name, _ in self._opened})

    async def find(self, name: str) -> SessionEntry | None:
        """Return the session with this UUID, None if there is none. Raises LedgerError, Busy."""
        return await self.reading.run(lambda: self.index.find(name))

    async def newest(self, project: str) -> SessionEntry | None:
        """Return the session of a project that changed last, None if there is none. Raises LedgerError, Busy."""
        return await self.reading.run(lambda: self.index.newest(project))

    @asynccontextmanager
    async def viewing(self, name: str, make_reader: MakeReader = MessageReader) -> AsyncGenerator[Channel, None]:
        """Open a session for a viewer within the block; all that it has was read when the block begins.

        `make_reader` makes what reads it. Raises NotServed, Busy, and what reading raises.
        """
        content = partial(self.index.content, name)
        channel = self._opened.enter((name, make_reader), lambda: Channel(content, self.reading, make_reader))
        try:
            await channel.ready()
            yield channel
        finally:
            self._opened.leave((name, make_reader))

    def kept(self, name: str, make_reader: MakeReader) -> set[str]:
        """Return the ids of what is kept of a session, none if it is not open."""
        channel = self._opened.get((name, make_reader))
        return channel.tail.ids() if channel is not None else set()

    async def take_over(
        self, name: str, make_reader: MakeReader, reading: SessionReader, tail: Tail, *, changed: bool
    ) -> None:
        """Continue with a reader that has read a session to its end; `tail` is the end of that. Nothing is read again.

        If the session is open, that stays as it is, unless what is kept has `changed`.
        """
        channel = self._opened.get((name, make_reader))
        if channel is None:
            self._opened.offer(
                (name, make_reader), Channel(reading.content, self.reading, make_reader, (reading, tail))
            )
        elif changed:
            await channel.start_over(reading, tail)

    @asynccontextmanager
    async def subscribed(self) -> AsyncGenerator[Subscription, None]:
        """Subscribe within the block to changes of the list. Raises LedgerError, Busy."""
        await self.reading.run(self._subscriptions.begin)
        subscription = self._subscriptions.subscribe()
        try:
            yield subscription
        finally:
            self._subscriptions.leave(subscription)

    # -- changes ----------------------------------------------------------------------------------------

    async def _look_around(self) -> None:
        """Read the metadata of all sessions in the background."""
        async with aclosing(self.reading.stream(self.index.briefs())) as found:
            async for _ in found:
                await asyncio.sleep(_PAUSE)

    def _changed(self, paths: set[str]) -> None:
        if self._opened or self._subscriptions.has_subscribers:
            self._begin(partial(self._take_up, paths))

    async def _take_up(self, paths: set[str]) -> None:
        """Read what is new in the sessions of these files, or in all that are open, and notify subscribers."""
        names = await self.reading.run(lambda: self.index.take_up(paths)) if paths else None
        for name, channel in self._opened:
            if names is None or name in names:
                self._begin(channel.advance, channel.key)
        if self._subscriptions.has_subscribers:
            self._subscriptions.publish(await self.reading.run(partial(self._subscriptions.look, is_due=not paths)))
        elif not paths:
            await self.reading.run(self.index.all)  # files of which no hint came

    def _begin(self, work: Work, key: SessionKey | None = None) -> None:
        task = asyncio.get_running_loop().create_task(self._guarded(work, key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Work, key: SessionKey | None) -> None:
        """Do work that may fail: it is tried again a second later anyway."""
        try:
            await work()
        except (Busy, LedgerError, NotServed):
            return
        except Exception as error:  # noqa: BLE001 - one session must not end the server
            failures.note(self.log, error, key)
