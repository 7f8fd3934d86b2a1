"""Records without an event in a tree of records: their children become children of their parents. Pure."""

from collections.abc import Iterable
from typing import Any, Final

from katod.events import Event

_MOST: Final = 16  # what is below a record nearly always follows soon


class Ancestors:
    """The nearest ancestor with an event of each record without one; of too many, the oldest are forgotten."""

    def __init__(self, state: dict[str, str] | None = None) -> None:
        self._above: dict[str, str] = dict(state or {})

    def state(self) -> dict[str, str]:
        """Return the state to resume from, as JSON."""
        return self._above

    def take(self, name: Any, parent: Any, events: Iterable[Event]) -> None:
        """Take up a record with its events."""
        if not isinstance(name, str) or not name:
            return
        if any(event.source.get("providerEventId") == name for event in events):
            return
        self._above[name] = self._above.get(parent, parent) if isinstance(parent, str) else ""
        if len(self._above) > _MOST:
            del self._above[next(iter(self._above))]

    def knows(self, name: str) -> bool:
        """Return whether a record is one of the last without an event."""
        return name in self._above

    def source(self, parent: Any) -> dict[str, str]:
        """Return what the source of an event says of its parent, and of its nearest ancestor if that is another."""
        if not isinstance(parent, str) or not parent:
            return {}
        above = self._above.get(parent, "")
        return {"parentId": parent} | ({"ancestorId": above} if above else {})
