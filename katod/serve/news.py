"""Tells the viewers of the list of sessions that one began, went on, or is no longer served."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from katod.formats.stream import bridge
from katod.serve.known import Known
from katod.serve.shelf import Shelf

_DELETED: Final = "deleted"
Fields = dict[str, Any]


class Subscription:
    """What one subscriber was not told yet: the latest of each session, so that it cannot grow without end."""

    def __init__(self) -> None:
        self._pending: dict[str, Fields] = {}
        self._news = asyncio.Event()

    def tell(self, rows: Iterable[Fields]) -> None:
        """Note what is to be told."""
        for row in rows:
            before = self._pending.pop(row["sessionId"], row)
            is_new = before["action"] == "created" and row["action"] == "updated"
            self._pending[row["sessionId"]] = row | ({"action": "created"} if is_new else {})
        if self._pending:
            self._news.set()

    async def take(self) -> list[Fields]:
        """Return what is to be told, as soon as there is something."""
        await self._news.wait()
        self._news.clear()
        told, self._pending = list(self._pending.values()), {}
        return told


class News:
    """Compares the sessions with those before. `begin` and `look` are for the reading thread."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._subscriptions: set[Subscription] = set()
        self._before: dict[str, tuple[Known, bytes]] = {}  # with what the files of each were

    @property
    def has_subscribers(self) -> bool:
        """Whether anybody listens."""
        return bool(self._subscriptions)

    def subscribe(self) -> Subscription:
        """Return a new subscription."""
        subscription = Subscription()
        self._subscriptions.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """End a subscription."""
        self._subscriptions.discard(subscription)

    def tell(self, rows: list[Fields]) -> None:
        """Tell all subscribers."""
        for subscription in self._subscriptions:
            subscription.tell(rows)

    def begin(self) -> None:
        """Take note of what there is, unless others listen already. Raises LedgerError."""
        if not self._subscriptions:
            self._before = self._now()

    def look(self, *, is_due: bool) -> list[Fields]:
        """Return what is to be told of sessions that are new, or changed, or gone. Raises LedgerError.

        Changes that nobody told of are looked for if that `is_due`.
        """
        if is_due:
            self._shelf.renew()
        now, before = self._now(), self._before
        self._before = now
        rows = [
            bridge.session_event("created" if name not in before else "updated", known.key, self._shelf.about(known))
            for name, (known, stats) in now.items()
            if name not in before or before[name][1] != stats
        ]
        gone = [known for name, (known, _) in before.items() if name not in now]
        return rows + [bridge.session_event(_DELETED, known.key, self._shelf.about(known)) for known in gone]

    def _now(self) -> dict[str, tuple[Known, bytes]]:
        return {name: (known, known.stats) for name, known in self._shelf.all().items()}
