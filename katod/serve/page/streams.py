"""What open pages are sent as it happens, by server-sent events: each continues exactly where it was."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final

import orjson
from starlette.responses import Response

from katod.errors import KatodError
from katod.formats.text.markup import NOTHING, Markup
from katod.model import SessionKey
from katod.serve import failures
from katod.serve.feed.channel import Channel, Lost
from katod.serve.feed.hub import Hub
from katod.serve.feed.position import Position, named
from katod.serve.feed.reader import MakeReader
from katod.serve.http import ClosedStream
from katod.serve.index.entry import NotServed, SessionEntry
from katod.serve.page.listfilter import ListFilter
from katod.serve.page.listview import groups, list_row
from katod.serve.page.listwatch import ListWatch
from katod.serve.page.reader import PageReader
from katod.serve.page.sessionlist import ListRow, SessionList
from katod.serve.page.sessionview import OutputLink, about, own, recorded
from katod.serve.worker import Busy

_HEADERS: Final = {"content-type": "text/event-stream", "x-accel-buffering": "no"}
_SOON: Final = "retry: 1000\n\n"  # milliseconds until a browser that lost its connection comes back
_MOST: Final = 64  # open at a time
_BEAT_EVERY: Final = 15.0  # seconds
Pieces = AsyncGenerator[str, None]


def event(data: Any, kind: str = "", name: str = "") -> str:
    """Return one event. Its data is JSON, so that any line break in it arrives; `name` is what a browser sends back."""
    head = (f"event: {kind}\n" if kind else "") + (f"id: {name}\n" if name else "")
    return f"{head}data: {orjson.dumps(data).decode()}\n\n"


_BEAT: Final = event({}, "beat")  # an event, as a page cannot see a comment: it tells that the connection is alive


class Streams:
    """The streams of all pages."""

    def __init__(
        self,
        hub: Hub,
        sessions: SessionList,
        make_reader: MakeReader,
        outputs: Callable[[SessionKey], Sequence[OutputLink]],
    ) -> None:
        """`outputs` returns the transcripts of a session."""
        self._hub = hub
        self._sessions = sessions
        self._make_reader = make_reader
        self._outputs = outputs
        self._watch = ListWatch(hub, sessions)
        self._open = 0

    def answer(self, pieces: Pieces, key: SessionKey | None = None) -> Response:
        """Return the answer with a stream, or that too many are open."""
        if self._open >= _MOST:
            return Response("too many pages are open", 503, {"Retry-After": "5"})
        return ClosedStream(self._counted(pieces, key), headers=_HEADERS)

    async def _counted(self, pieces: Pieces, key: SessionKey | None) -> Pieces:
        self._open += 1
        try:
            async for piece in pieces:
                yield piece
        except (Busy, KatodError, NotServed):
            return  # a browser comes back a second later
        except asyncio.CancelledError as left:
            # The page was left. Whoever keeps the error would keep the session with it, by the frames of its traceback.
            raise left.with_traceback(None) from None
        except Exception as error:  # noqa: BLE001 - it comes back then, too
            failures.note(self._hub.log, error, key)
        finally:
            self._open -= 1
            await pieces.aclose()

    async def list_now(self) -> tuple[list[ListRow], str]:
        """Return the list, and the name of what a page that shows it has. Raises LedgerError, Busy."""
        return await self._watch.look()

    async def of_list(self, since: str, chosen: ListFilter) -> Pieces:
        """Yield the `chosen` sessions of the list as it changes; `since` is what the page has, empty for nothing."""
        yield _SOON
        rows = self._rows(self._watch.number(since), chosen)
        async with self._watch.watching(), aclosing(merged(rows, _beats())) as pieces:
            async for piece in pieces:
                yield piece

    async def _rows(self, seen: int | None, chosen: ListFilter) -> Pieces:
        changes = self._watch.changes
        if seen is None:
            rows, name = await self._watch.look()
            seen = changes.number
            if not chosen.is_empty:
                rows, _ = await self._hub.reading.run(lambda: self._sessions.page("", chosen))
            yield event(groups(rows, time.time(), chosen), "all", name)
        while True:
            rows, gone = changes.since(seen)
            if rows or gone:
                seen, now = changes.number, time.time()
                shown = [row for row in rows if chosen.has(row, now)]
                gone = await self._gone(gone, chosen) + [row.name for row in rows if row not in shown]
                changed = {"rows": [list_row(row, now, chosen) for row in shown], "gone": gone}
                yield event(changed, "rows", self._watch.name(seen))
            await self._watch.tick()

    async def _gone(self, names: list[str], chosen: ListFilter) -> list[str]:
        """Return those that are gone from what is chosen, which may have sessions that the list of all has no more."""
        if chosen.is_empty or not names:
            return names
        there = await self._hub.reading.run(lambda: self._sessions.still_there(names, chosen))
        return [name for name in names if name not in there]

    async def of_session(self, entry: SessionEntry, since: str) -> Pieces:
        """Yield a conversation as it goes on after what a page names, from its beginning if that is empty."""
        yield _SOON
        async with self._watch.watching(), self._hub.viewing(entry.name, self._make_reader) as channel:
            sources = (self._incomplete(channel), self._messages(channel, since), self._about(entry), _beats())
            async with aclosing(merged(*sources)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _messages(self, channel: Channel, since: str) -> Pieces:
        """Yield messages as they come, and after them what is incomplete, which a page drops at the next message."""
        try:
            position = await channel.find_all(named(since)) if since else Position()
            async with aclosing(channel.follow(position)) as messages:
                async for sent in messages:
                    if sent is None:
                        yield event(await self._held(channel), "held")
                        continue
                    position = position.after(sent)
                    yield event(sent.text, name=position.name)
        except (Lost, NotServed):
            yield event("", "lost")
            await asyncio.Event().wait()  # the page is loaded again

    async def _incomplete(self, channel: Channel) -> Pieces:
        """Yield what is incomplete whenever that changes without a new message."""
        before = NOTHING
        while True:
            if (held := await self._held(channel)) != before:
                before = held
                yield event(held, "held")
            await self._watch.tick()

    async def _held(self, channel: Channel) -> Markup:
        reader = channel.reader
        return await self._hub.reading.run(reader.held) if isinstance(reader, PageReader) else NOTHING

    async def _about(self, entry: SessionEntry) -> Pieces:
        before = None
        while True:
            if (now := await self._hub.find(entry.name)) is None:
                return  # with it the stream ends: nothing is read of a session that was forgotten
            entry = now  # another one once it is recorded
            row = await self._hub.reading.run(partial(self._sessions.row, entry))
            if row != before:
                before = row
                outputs = await self._hub.reading.run(partial(self._outputs, entry.key))
                html = {"html": about(row, time.time()), "recorded": recorded(row, outputs), "own": own(row)}
                yield event({**html, "title": row.title, "state": row.state, "need": row.need}, "about")
            await self._watch.tick()


async def _beats() -> Pieces:
    while True:
        await asyncio.sleep(_BEAT_EVERY)
        yield _BEAT


async def merged(*sources: AsyncIterator[str]) -> Pieces:
    """Yield what any of some sources yields, until one of them ends; of what there is at once, the first one's first.

    So what is incomplete, which comes first, cannot replace a message that came after it.
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
