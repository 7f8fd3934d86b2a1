"""Tells open pages when the list may have changed: one look for all of them."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Final

from katod.errors import LedgerError
from katod.serve import failures
from katod.serve.hub import Hub
from katod.serve.page.board import Board, Changes, Row
from katod.serve.worker import Busy

_EVERY: Final = 1.0  # seconds; also time alone ends a state, and some agents say theirs beside the session's file
_PAUSE: Final = 0.1  # between two looks, however much changes


class Watch:
    """Looks at the list while pages are open. For the event loop."""

    def __init__(self, hub: Hub, board: Board) -> None:
        self.changes = Changes()
        self._run = secrets.token_hex(4)  # numbers of an earlier process mean nothing to this one
        self._hub = hub
        self._board = board
        self._viewers = 0
        self._task: asyncio.Task[None] | None = None
        self._ticked = asyncio.Event()

    @asynccontextmanager
    async def looking(self) -> AsyncGenerator[None, None]:
        """Have the list looked at within the block, and once before it. Raises LedgerError, Busy."""
        self._viewers += 1
        try:
            await self.look()
            if self._task is None:
                self._task = asyncio.get_running_loop().create_task(self._watch())
            yield
        finally:
            self._viewers -= 1
            if not self._viewers and self._task is not None:
                self._task.cancel()
                self._task = None

    async def tick(self) -> None:
        """Return when the list was looked at again."""
        await self._ticked.wait()

    async def _watch(self) -> None:
        while True:
            try:
                await self._look_when_told()
            except (LedgerError, Busy):
                pass
            except Exception as error:  # noqa: BLE001 - all open pages depend on it
                failures.note(self._hub.log, error)
            await asyncio.sleep(_EVERY)

    async def _look_when_told(self) -> None:
        async with self._hub.subscribed() as news:
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.take(), _EVERY)
                await self.look()
                await asyncio.sleep(_PAUSE)

    async def look(self) -> tuple[list[Row], str]:
        """Return the list as it is now, and the name of that. Raises LedgerError, Busy."""
        rows = await self._hub.reading.run(self._board.look)
        self.changes.take(rows)
        self._ticked.set()
        self._ticked = asyncio.Event()
        return rows, self.name(self.changes.number)

    def name(self, number: int) -> str:
        """Return how a page names what it has of the list."""
        return f"{self._run}.{number}"

    def number(self, name: str) -> int | None:
        """Return what a page has of the list; None if that is nothing, or from another process."""
        run, _, number = name.partition(".")
        return int(number) if run == self._run and number.isdecimal() and len(number) < 16 else None
