"""Names the entries of a verifiable agent record, and finds the entry that is the parent of another. Pure."""

from typing import Final

from katod import events as ev
from katod.events import Event

_MESSAGES: Final = (ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE)
_ABOVE: Final = ("parentId", "ancestorId")


class EntryIds:
    """Names the entries: the first part of a native record, or its message, has the id of that record, if it has one.

    All others have their event's id, without the session in front of it. A parent is the entry that stands for its
    record, or else the first one of it; the parents of some agents are messages, not parts of them.
    """

    def __init__(self) -> None:
        self._standing: dict[str, str] = {}  # by the ids of records and messages
        self._first: dict[str, str] = {}
        self._instead: dict[str, str] = {}  # entries that became a part of another one
        self._given: set[str] = set()
        self._prefix = ""

    def of(self, event: Event) -> tuple[str, str]:
        """Return the id of an event's entry, and that of the entry of its parent, empty if that has none."""
        native, message = event.source.get("providerEventId", ""), event.source.get("messageId", "")
        self._prefix = self._prefix or f"{event.session.agent}:{event.session.id}:"
        parent = self._parent(event, native)
        name = event.id.removeprefix(self._prefix)
        if native and native not in self._standing and _stands_for(event, name, native):
            name = self._standing[native] = native if native not in self._given else name
        name = event.id if name in self._given else name
        self._given.add(name)
        if message and event.kind in _MESSAGES:
            self._standing.setdefault(message, name)
        for known in filter(None, (native, message)):
            self._first.setdefault(known, name)
        return name, parent

    def _parent(self, event: Event, native: str) -> str:
        above = (event.source.get(key, "") for key in _ABOVE)
        found = (self._entry(name) for name in above if name not in ("", native))
        return next(filter(None, found), "")

    def _entry(self, name: str) -> str:
        entry = self._standing.get(name) or self._first.get(name, "")
        return self._instead.get(entry, entry)

    def join(self, entry: str, whole: str) -> None:
        """Note that an entry became a part of another one, which is the parent now of what is below it."""
        if entry != whole:
            self._instead[entry] = whole


def _stands_for(event: Event, name: str, native: str) -> bool:
    """Return whether an event may have the id of its record: a message, or a part that has a number for a name."""
    part = name.removeprefix(native)
    return event.kind in _MESSAGES or (part != name and (not part or part[1:].isdigit()))
