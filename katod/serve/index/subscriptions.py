"""Subscriptions to the list of sessions: which are new, have changed, or are no longer served."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from katod.formats.stream import bridge
from katod.serve.index.entry import SessionEntry
from katod.serve.index.sessions import SessionIndex
from katod.store.rows import PersonalRow

_DELETED: Final = "deleted"
Fields = dict[str, Any]
_What = tuple[bytes, PersonalRow]  # what its files are, and what the user says of it


class Subscription:
    """The changes that one subscriber has not taken yet: the latest of each session, so that they are bounded."""

    def __init__(self) -> None:
        self._pending: dict[str, Fields] = {}
        self._has_changes = asyncio.Event()

    def add(self, rows: Iterable[Fields]) -> None:
        """Add changes."""
        for row in rows:
            before = self._pending.pop(row["sessionId"], row)
            is_new = before["action"] == "created" and row["action"] == "updated"
            self._pending[row["sessionId"]] = row | ({"action": "created"} if is_new else {})
        if self._pending:
            self._has_changes.set()

    async def take(self) -> list[Fields]:
        """Wait for changes, and return them."""
        await self._has_changes.wait()
        self._has_changes.clear()
        taken, self._pending = list(self._pending.values()), {}
        return taken


class Subscriptions:
    """All subscriptions; compares the sessions with those before. `begin` and `look` are for the reading thread."""

    def __init__(self, index: SessionIndex) -> None:
        self._index = index
        self._subscriptions: set[Subscription] = set()
        self._before: dict[str, tuple[SessionEntry, _What]] = {}

    @property
    def has_subscribers(self) -> bool:
        """Whether there are subscriptions."""
        return bool(self._subscriptions)

    def subscribe(self) -> Subscription:
        """Return a new subscription."""
        subscription = Subscription()
        self._subscriptions.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """End a subscription."""
        self._subscriptions.discard(subscription)

    def publish(self, rows: list[Fields]) -> None:
        """Add changes to all subscriptions."""
        for subscription in self._subscriptions:
            subscription.add(rows)

    def begin(self) -> None:
        """Note the sessions as they are, unless there are subscriptions already. Raises LedgerError."""
        if not self._subscriptions:
            self._before = self._now()

    def look(self, *, is_due: bool) -> list[Fields]:
        """Return the sessions that are new, changed, or gone since the last call. Raises LedgerError.

        If `is_due`, files of which no hint came are looked at, too.
        """
        if is_due:
            self._index.renew()
        now, before = self._now(), self._before
        self._before = now
        rows = [
            bridge.session_event("created" if name not in before else "updated", entry.key, self._index.about(entry))
            for name, (entry, what) in now.items()
            if name not in before or before[name][1] != what
        ]
        gone = [entry for name, (entry, _) in before.items() if name not in now]
        return rows + [self._deleted(entry) for entry in gone]

    def _deleted(self, entry: SessionEntry) -> Fields:
        """Return that a session is gone. It may have been forgotten: nothing is read of it any more."""
        return bridge.session_event(_DELETED, entry.key, {"projectPath": self._index.project_of(entry)})

    def _now(self) -> dict[str, tuple[SessionEntry, _What]]:
        return {name: (entry, (entry.stats, self._index.said(entry))) for name, entry in self._index.all().items()}
