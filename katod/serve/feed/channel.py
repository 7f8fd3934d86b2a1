"""A session that has viewers: it is read once as it grows, and sent to each viewer at its own pace."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from functools import partial

from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.serve.feed.position import Position, SentMessage
from katod.serve.feed.reader import MakeReader, SessionReader
from katod.serve.feed.tail import Tail
from katod.serve.index.entry import NotServed, SessionContent
from katod.serve.worker import WorkerThread


class Lost(Exception):
    """A position is not in a session, or no longer."""


class Channel:
    """Follows the files of one session while it has viewers. Of what was read, only the end is kept.

    `content` returns the files of the session as they are known, `make_reader` makes what reads them, in the thread of
    the worker. With `begun`, the session was read already: the reader, and the end of what it read. For the event loop.
    """

    def __init__(
        self,
        content: Callable[[], SessionContent],
        worker: WorkerThread,
        make_reader: MakeReader,
        begun: tuple[SessionReader, Tail] | None = None,
    ) -> None:
        self.reader, self.tail = begun or (make_reader(content), Tail())
        self._again = partial(make_reader, content)
        self._worker = worker
        self._is_ready = begun is not None
        self._asked = False
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()

    @property
    def key(self) -> SessionKey:
        """Which session it is."""
        return self.metadata.key

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self.reader.metadata

    async def ready(self) -> None:
        """Wait until all of the session was read once. Raises Busy, and what reading raises."""
        if not self._is_ready:
            await self.catch_up()

    async def advance(self) -> None:
        """Read what is new, unless a call waits to do that already. Raises as `catch_up` does."""
        if self._asked:
            return
        self._asked = True
        await self.catch_up()

    async def catch_up(self) -> None:
        """Read all that the session has now. Raises Busy, and what reading raises.

        Goes on if the caller is cancelled: other viewers need what was read then.
        """
        await asyncio.shield(asyncio.ensure_future(self._catch_up()))

    async def start_over(self, reader: SessionReader, tail: Tail) -> None:
        """Replace the reader and the tail, as the session was rewritten. Viewers lose their positions."""
        async with self._lock:
            self._replace(reader, tail)

    async def _catch_up(self) -> None:
        async with self._lock:
            self._asked, more, tail = False, True, self.tail if self._is_ready else None
            while more:
                more = await self._advance()
            if self.tail is not tail:
                self.tail.set_read()
            self._is_ready = True
        if self._is_gone():
            self._notify()

    async def _advance(self) -> bool:
        """Read a part of what is new; return whether there may be more."""
        restarts = self.reader.restarts
        try:
            hidden, made, more = await self._worker.run(self.reader.sent)
            self.tail.skip(hidden)
            self.tail.extend(made)
            if self.reader.restarts != restarts and await self._is_missing():
                self._replace(self._again(), Tail())
                return True
        except NotServed:
            return False
        if made and self._is_ready:
            self._notify()
        return more

    async def _is_missing(self) -> bool:
        """Return whether a message that is kept is not in the rewritten files of the session."""
        left = self.tail.ids()
        async with aclosing(self._worker.stream(self.reader.ids())) as found:
            async for some in found:
                left.difference_update(some)
        return bool(left)

    def _replace(self, reader: SessionReader, tail: Tail) -> None:
        self.reader, self.tail = reader, tail
        self._notify()

    def _is_gone(self) -> bool:
        """Return whether the session is no longer served."""
        try:
            self.reader.content()
        except NotServed:
            return True
        return False

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # -- for viewers ------------------------------------------------------------------------------------

    async def find(self, name: str) -> Position:
        """Return the position of a viewer that has all that was sent up to the message that it names.

        Raises NotServed, and Lost if there is no such message, or the session has several sources and the message did
        not come while it was open: nobody knows then which messages of the other sources were sent before.
        """
        if self.tail.last_named(name) is None:
            await self.catch_up()  # so that what is kept is not older than what is found
        if (arrived := self.tail.up_to(name)) is not None:
            return arrived
        found = await self.find_all([name])
        if len(found.marks) > 1:
            raise Lost
        return found

    async def find_all(self, names: Collection[str]) -> Position:
        """Return the position of a viewer that has, of each source, all up to the last of the messages that it names.

        Raises Lost if one of them is not in the session, NotServed.
        """
        if (found := self.tail.located(names)) is not None:
            return found
        await self.catch_up()  # as above
        return self.tail.located(names) or await self._located(names)

    async def _located(self, names: Collection[str]) -> Position:
        found = await self._worker.last(self.reader.located(names))
        if found is None:
            raise Lost
        return found

    async def follow(self, position: Position, *, in_order: bool = False) -> AsyncGenerator[SentMessage | None, None]:
        """Yield each message after a position, for ever, and None each time there are no more for now.

        With `in_order`, the position of a viewer is to follow from the last message that it was sent: what is read
        again of several sources has another order, so it is not sent. Raises Lost then, or if the
        position is not in the session, or what viewers have is no longer what its files say; NotServed.
        """
        tail, number = self.tail, None  # the number of the next message, once all that is lacking is kept
        while self.tail is tail:
            kept, end = tail.missing(position) if number is None else tail.since(number), tail.end
            if kept is None:
                before = tail.before
                async with aclosing(self._missed(position, before, in_order=in_order)) as missed:
                    async for sent in missed:
                        position = position.after(sent)
                        yield sent
                position, number = position.reached(before), None
                if tail.missing(position) is None and tail.before == before:
                    raise Lost  # the files were rewritten
                continue
            for sent in kept:
                position = position.after(sent)
                yield sent
            changed, number = self._changed, end
            if number == tail.end:
                yield None
                await changed.wait()
                if self._is_gone():
                    raise NotServed
        raise Lost

    async def _missed(self, position: Position, end: Position, *, in_order: bool) -> AsyncGenerator[SentMessage, None]:
        """Yield the messages after a position that are no longer kept, up to `end`. Raises NotServed, Lost as above."""
        if in_order and len(self.tail.position().marks) > 1:
            raise Lost
        async with aclosing(self._worker.stream(self.reader.between(position, end))) as found:
            async for some in found:
                for sent in filter(None, some):
                    yield sent
