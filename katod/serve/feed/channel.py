"""A session that has viewers: it is read once as it grows, and sent to each viewer at its own pace."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.serve.feed.reader import MakeReader, SessionReader
from katod.serve.feed.tail import Position, SentMessage, Tail
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
            self._asked, more = False, True
            while more:
                more = await self._advance()
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

    async def find(self, name: str) -> tuple[Position, int | None]:
        """Return the position of the message that a viewer names, and the number of the next one if that is kept.

        Raises Lost if there is no such message, NotServed.
        """
        if self.tail.last_named(name) is None:
            await self.catch_up()  # so that what is kept is not older than what is found
        if (number := self.tail.last_named(name)) is not None:
            kept = self.tail.since(number) or []
            return Position(kept[0].id), number + 1
        found = await self._worker.run(lambda: self.reader.named(name))
        if not found:
            raise Lost
        return Position(found), None

    async def missed(self, position: Position) -> AsyncGenerator[SentMessage | int, None]:
        """Yield the messages after a position that are no longer kept, at last the number of the first one that is.

        Raises Lost if the position is no longer in the session, because its files were rewritten, NotServed.
        """
        async with aclosing(self._worker.stream(self.reader.after(position))) as found:
            async for some in found:
                for sent in filter(None, some):
                    number = self.tail.number_of(sent.id)
                    yield sent if number is None else number
                    if number is not None:
                        return
        raise Lost

    async def follow(self, position: Position, number: int | None) -> AsyncGenerator[SentMessage | None, None]:
        """Yield each message after a position, for ever, and None each time there are no more for now.

        `number` is that of the next message, if it is known. Raises Lost if the position is not in the session, or what
        viewers have is no longer what its files say; NotServed.
        """
        tail = self.tail
        while self.tail is tail:
            kept = None if number is None else tail.since(number)
            if kept is None:
                async with aclosing(self.missed(position)) as missed:
                    async for sent in missed:
                        if isinstance(sent, int):
                            number = sent
                        else:
                            position = position.after(sent)
                            yield sent
                continue
            for sent in kept:
                position, number = position.after(sent), (number or 0) + 1
                yield sent
            changed = self._changed
            if number == tail.end:
                yield None
                await changed.wait()
                if self._is_gone():
                    raise NotServed
        raise Lost
