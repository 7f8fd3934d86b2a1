"""A session that is looked at: read once as it grows, whoever looks, and sent to each viewer at its own pace."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.serve.feed import Content, NotServed, Opening, Reading
from katod.serve.tail import Place, Sent, Tail
from katod.serve.worker import Worker


class Lost(Exception):
    """A place is not in a session, or no longer."""


class Channel:
    """Follows the files of one session while somebody looks. Of what was read, only the end is kept.

    `content` returns where the session is now, `opening` begins to read it. For the event loop, which has the worker
    read. With `begun`, all that the session has was read already, and that is the end of it.
    """

    def __init__(
        self,
        content: Callable[[], Content],
        worker: Worker,
        opening: Opening,
        begun: tuple[Reading, Tail] | None = None,
    ) -> None:
        self.reading, self.tail = begun or (opening(content), Tail())
        self._again = partial(opening, content)
        self._worker = worker
        self._is_ready = begun is not None
        self._asked = False
        self._lock = asyncio.Lock()
        self._news = asyncio.Event()

    @property
    def key(self) -> SessionKey:
        """Which session it is."""
        return self.metadata.key

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self.reading.metadata

    async def ready(self) -> None:
        """Return when all that the session has was read once. Raises Busy, and what reading raises."""
        if not self._is_ready:
            await self.catch_up()

    async def advance(self) -> None:
        """Read what is new; if somebody waits to do that already, that is enough. Raises as `catch_up` does."""
        if self._asked:
            return
        self._asked = True
        await self.catch_up()

    async def catch_up(self) -> None:
        """Read all that the session has now. Raises Busy, and what reading raises.

        Goes on if whoever asked leaves meanwhile: others need what was read then.
        """
        await asyncio.shield(asyncio.ensure_future(self._catch_up()))

    async def start_over(self, reading: Reading, tail: Tail) -> None:
        """Go on where somebody has read the session again, as it is not what it was. Viewers lose their places."""
        async with self._lock:
            self._replace(reading, tail)

    async def _catch_up(self) -> None:
        async with self._lock:
            self._asked, more = False, True
            while more:
                more = await self._advance()
            self._is_ready = True
        if self._is_gone():
            self._tell()

    async def _advance(self) -> bool:
        """Read a part of what is new; return whether there may be more."""
        restarts = self.reading.restarts
        try:
            hidden, made, more = await self._worker.run(self.reading.sent)
            self.tail.skip(hidden)
            self.tail.extend(made)
            if self.reading.restarts != restarts and await self._is_missing():
                self._replace(self._again(), Tail())
                return True
        except NotServed:
            return False
        if made and self._is_ready:
            self._tell()
        return more

    async def _is_missing(self) -> bool:
        """Return whether anything that is kept is not in the files of the session, as they were rewritten."""
        left = self.tail.ids()
        async with aclosing(self._worker.stream(self.reading.ids())) as found:
            async for some in found:
                left.difference_update(some)
        return bool(left)

    def _replace(self, reading: Reading, tail: Tail) -> None:
        self.reading, self.tail = reading, tail
        self._tell()

    def _is_gone(self) -> bool:
        """Return whether the session is no longer served."""
        try:
            self.reading.content()
        except NotServed:
            return True
        return False

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    # -- for viewers ------------------------------------------------------------------------------------

    async def find(self, name: str) -> tuple[Place, int | None]:
        """Return the place of the message that a viewer names, and the number of the next one if that is kept.

        Raises Lost if there is no such message, NotServed.
        """
        if self.tail.last_named(name) is None:
            await self.catch_up()  # so that what is kept is not older than what is found
        if (number := self.tail.last_named(name)) is not None:
            kept = self.tail.since(number) or []
            return Place(kept[0].id), number + 1
        found = await self._worker.run(lambda: self.reading.named(name))
        if not found:
            raise Lost
        return Place(found), None

    async def missed(self, place: Place) -> AsyncGenerator[Sent | int, None]:
        """Yield the messages after a place that are no longer kept, at last the number of the first one that is.

        Raises Lost if the place is no longer in the session, because its files were rewritten, NotServed.
        """
        async with aclosing(self._worker.stream(self.reading.after(place))) as found:
            async for some in found:
                for sent in filter(None, some):
                    number = self.tail.number_of(sent.id)
                    yield sent if number is None else number
                    if number is not None:
                        return
        raise Lost

    async def follow(self, place: Place, number: int | None) -> AsyncGenerator[Sent | None, None]:
        """Yield each message after a place, for ever, and None whenever that were all.

        `number` is that of the next message, if it is known. Raises Lost if the place is not in the session, or what
        viewers have is no longer what its files say; NotServed.
        """
        tail = self.tail
        while self.tail is tail:
            kept = None if number is None else tail.since(number)
            if kept is None:
                async with aclosing(self.missed(place)) as missed:
                    async for sent in missed:
                        if isinstance(sent, int):
                            number = sent
                        else:
                            place = place.after(sent)
                            yield sent
                continue
            for sent in kept:
                place, number = place.after(sent), (number or 0) + 1
                yield sent
            news = self._news
            if number == tail.end:
                yield None
                await news.wait()
                if self._is_gone():
                    raise NotServed
        raise Lost
