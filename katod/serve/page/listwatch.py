"""Notifies open pages when the list may have changed: it is looked at once for all of them."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final

from katod.errors import LedgerError
from katod.serve import failures
from katod.serve.feed.hub import Hub
from katod.serve.page.sessionlist import ListRow, SessionList
from katod.serve.worker import Busy

_EVERY: Final = 1.0  # seconds; also time alone ends a state, and some agents say theirs beside the session's file
_PAUSE: Final = 0.1  # between two looks, however much changes


class ListChanges:
    """The changes of a list: its rows, each with the number of the look at which it changed."""

    def __init__(self) -> None:
        self.number = 0
        self._rows: dict[str, tuple[int, ListRow]] = {}
        self._gone: dict[str, int] = {}

    def take(self, rows: Iterable[ListRow]) -> bool:
        """Compare with the list as it is now. Returns whether anything changed."""
        now = {row.name: row for row in rows}
        changed = [row for name, row in now.items() if name not in self._rows or self._rows[name][1] != row]
        gone = [name for name in self._rows if name not in now]
        if not changed and not gone:
            return False
        self.number += 1
        for row in changed:
            self._rows[row.name] = self.number, row
            self._gone.pop(row.name, None)
        for name in gone:
            del self._rows[name]
            self._gone[name] = self.number
        return True

    def since(self, number: int) -> tuple[list[ListRow], list[str]]:
        """Return the rows that changed after a look, oldest change first, and the names of those that are gone."""
        rows = sorted((row for seen, row in self._rows.values() if seen > number), key=lambda row: row.since)
        return rows, [name for name, seen in self._gone.items() if seen > number]


class ListWatch:
    """Looks at the list while pages are open. For the event loop."""

    def __init__(self, hub: Hub, sessions: SessionList) -> None:
        self.changes = ListChanges()
        self._run = secrets.token_hex(4)  # numbers of an earlier process mean nothing to this one
        self._hub = hub
        self._sessions = sessions
        self._viewers = 0
        self._task: asyncio.Task[None] | None = None
        self._ticked = asyncio.Event()

    @asynccontextmanager
    async def watching(self) -> AsyncGenerator[None, None]:
        """Look at the list within the block, and once before it. Raises LedgerError, Busy."""
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
        """Wait until the list was looked at again."""
        await self._ticked.wait()

    async def _watch(self) -> None:
        while True:
            try:
                await self._look_at_changes()
            except (LedgerError, Busy):
                pass
            except Exception as error:  # noqa: BLE001 - all open pages depend on it
                failures.note(self._hub.log, error)
            await asyncio.sleep(_EVERY)

    async def _look_at_changes(self) -> None:
        async with self._hub.subscribed() as news:
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(news.take(), _EVERY)
                await self.look()
                await asyncio.sleep(_PAUSE)

    async def look(self) -> tuple[list[ListRow], str]:
        """Return the list as it is now, and the name of that. Raises LedgerError, Busy."""
        rows = await self._hub.reading.run(self._sessions.look)
        self.changes.take(rows)
        self._ticked.set()
        self._ticked = asyncio.Event()
        return rows, self.name(self.changes.number)

    def name(self, number: int) -> str:
        """Return how a page names what it has of the list."""
        return f"{self._run}.{number}"

    def number(self, name: str) -> int | None:
        """Return the number of the look that a page names; None if it names none, or one of another process."""
        run, _, number = name.partition(".")
        return int(number) if run == self._run and number.isdecimal() and len(number) < 16 else None
