"""What open pages are sent: the conversation and the list as they go on, from exactly where a page is."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from typing import Final

from katod.model import SessionKey
from katod.serve.channel import Channel, Lost
from katod.serve.feed import NotServed, Opening
from katod.serve.hub import Hub
from katod.serve.known import Known
from katod.serve.page.board import Board, Row
from katod.serve.page.listview import groups, list_row
from katod.serve.page.sessionview import Output, about, recorded
from katod.serve.page.sheet import Sheet
from katod.serve.page.watch import Watch
from katod.serve.sse import BEAT, SOON, event
from katod.serve.tail import Place

_BEAT_EVERY: Final = 15.0  # seconds
Pieces = AsyncGenerator[str, None]


class Streams:
    """The streams of all pages."""

    def __init__(
        self, hub: Hub, board: Board, opening: Opening, outputs: Callable[[SessionKey], Sequence[Output]]
    ) -> None:
        """`outputs` returns the transcripts of a session."""
        self._hub = hub
        self._board = board
        self._opening = opening
        self._outputs = outputs
        self._watch = Watch(hub, board)

    async def list_now(self) -> tuple[list[Row], str]:
        """Return the list, and the name of what a page that shows it has. Raises LedgerError, Busy."""
        return await self._watch.look()

    async def of_list(self, since: str) -> Pieces:
        """Yield the list as it changes; `since` is what the page has of it, empty for nothing."""
        yield SOON
        rows = self._rows(self._watch.number(since))
        async with self._watch.looking(), aclosing(merged(rows, _beats())) as pieces:
            async for piece in pieces:
                yield piece

    async def _rows(self, seen: int | None) -> Pieces:
        changes = self._watch.changes
        if seen is None:
            rows, name = await self._watch.look()
            seen = changes.number
            yield event(groups(rows, time.time()), "all", name)
        while True:
            rows, gone = changes.since(seen)
            if rows or gone:
                seen, now = changes.number, time.time()
                told = {"rows": [list_row(row, now) for row in rows], "gone": gone}
                yield event(told, "rows", self._watch.name(seen))
            await self._watch.tick()

    async def of_session(self, known: Known, since: str) -> Pieces:
        """Yield a conversation as it goes on after the event that is named, from its beginning if that is empty."""
        yield SOON
        async with self._watch.looking(), self._hub.looking(known.name, self._opening) as channel:
            sources = (self._open(channel), self._said(channel, since), self._about(known), _beats())
            async with aclosing(merged(*sources)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _said(self, channel: Channel, since: str) -> Pieces:
        """Yield what is said, and after that what is not complete; a page drops the latter when more is said."""
        try:
            place, number = await channel.find(since) if since else (Place(), 0)
            async with aclosing(channel.follow(place, number)) as messages:
                async for sent in messages:
                    yield event(await self._held(channel), "held") if sent is None else event(sent.text, name=sent.id)
        except (Lost, NotServed):
            yield event("", "lost")
            await asyncio.Event().wait()  # the page is loaded again

    async def _open(self, channel: Channel) -> Pieces:
        """Yield what is not complete whenever that changes, although nothing is said."""
        before = ""
        while True:
            if (held := await self._held(channel)) != before:
                before = held
                yield event(held, "held")
            await self._watch.tick()

    async def _held(self, channel: Channel) -> str:
        sheet = channel.reading
        return await self._hub.reading.run(sheet.held) if isinstance(sheet, Sheet) else ""

    async def _about(self, known: Known) -> Pieces:
        before = None
        while True:
            now = await self._hub.find(known.name)  # it is another one once it is recorded
            row = await self._hub.reading.run(lambda: self._board.row(now or known))  # noqa: B023 - done within the loop
            if row != before:
                before = row
                outputs = await self._hub.reading.run(lambda: self._outputs(known.key))
                html = {"html": about(row, time.time()), "recorded": recorded(row, outputs)}
                yield event({**html, "title": row.title, "state": row.state, "need": row.need}, "about")
            await self._watch.tick()


async def _beats() -> Pieces:
    while True:
        await asyncio.sleep(_BEAT_EVERY)
        yield BEAT


async def merged(*sources: AsyncIterator[str]) -> Pieces:
    """Yield what any of some sources yields, until one of them ends; of what there is at once, the first one's first.

    So what is open now, which comes first, cannot replace what was said after it.
    """
    waiting = {asyncio.ensure_future(anext(source)): source for source in sources}
    try:
        while True:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=lambda task: sources.index(waiting[task])):
                source = waiting.pop(task)
                try:
                    yield task.result()
                except StopAsyncIteration:
                    return
                waiting[asyncio.ensure_future(anext(source))] = source
    finally:
        for task in waiting:
            task.cancel()
        for task in waiting:
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await task
