"""A session that is looked at: read once as it grows, whoever looks, and sent to each viewer at its own pace."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from katod.metadata import SessionMetadata
from katod.serve.feed import Content, Opening
from katod.serve.tail import Place, Sent, Tail
from katod.serve.worker import Worker

Fields = dict[str, Any]


class Lost(Exception):
    """A place is not in a session, or no longer."""


class Channel:
    """Follows the files of one session while somebody looks. Of what was read, only the end is kept.

    `content` returns where the session is now, `opening` begins to read it. For the event loop, which has the worker
    read. With a `tail`, all that the session has was read already, and that is the end of it.
    """

    def __init__(
        self, content: Callable[[], Content], worker: Worker, opening: Opening, tail: Tail | None = None
    ) -> None:
        self.tail = tail or Tail()
        self.viewers = 0
        self._worker = worker
        self.reading = opening(content)
        self._asked = False
        self._lock = asyncio.Lock()
        self._news = asyncio.Event()
        self._ready = asyncio.Event()
        if tail is not None:
            self._ready.set()

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self.reading.metadata

    async def ready(self) -> None:
        """Return when all that the session has was read once."""
        await self._ready.wait()

    async def advance(self) -> None:
        """Read what is new; if somebody waits to do that already, that is enough. Raises Busy."""
        if self._asked:
            return
        self._asked = True
        await self.catch_up()

    async def catch_up(self) -> None:
        """Read all that the session has now. Raises Busy."""
        async with self._lock:
            self._asked, more = False, True
            while more:
                try:
                    hidden, made, more = await self._worker.run(self.reading.sent)
                except KeyError:  # it is no longer served
                    break
                self.tail.skip(hidden)
                self.tail.extend(made)
                if made and self._ready.is_set():
                    self._tell()
        self._ready.set()
        if self._is_gone():
            self._tell()

    def _is_gone(self) -> bool:
        """Return whether the session is no longer served."""
        try:
            self.reading.content()
        except KeyError:
            return True
        return False

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    # -- for viewers ------------------------------------------------------------------------------------

    async def find(self, name: str) -> tuple[Place, int | None]:
        """Return the place of the message that a viewer names, and the number of the next one if that is kept.

        Raises Lost if there is no such message.
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

        Raises Lost if the place is no longer in the session, because its files were rewritten.
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

        `number` is that of the next message, if it is known. Raises Lost.
        """
        while True:
            kept = None if number is None else self.tail.since(number)
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
            if number == self.tail.end:
                yield None
                await news.wait()
                if self._is_gone():
                    raise Lost
