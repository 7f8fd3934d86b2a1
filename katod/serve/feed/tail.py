"""The end of what was sent of a session, as far as it is kept: what is older is read from the session's files. Pure."""

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, NamedTuple

import orjson

from katod.formats.stream import bridge

MOST: Final = 512  # messages
_MOST_TEXT: Final = 256 * 1024  # characters
Fields = dict[str, Any]


class SentMessage(NamedTuple):
    """A message as it is sent. `names` are the ids by which viewers may name it, none if it has no envelope."""

    text: str
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Fields) -> "SentMessage":
        """Return a message as text."""
        names = bridge.cursors_of(message) if message["type"] == "stream" else ()
        return cls(orjson.dumps(message).decode(), names)

    @property
    def id(self) -> str:
        """Its id, empty if it has none."""
        return self.names[0] if self.names else ""


class Position(NamedTuple):
    """What a viewer has: all up to the message with this id, and so many messages without an id after it."""

    id: str = ""
    more: int = 0

    def after(self, sent: SentMessage) -> "Position":
        """Return the position after one message more."""
        return Position(sent.id) if sent.id else self._replace(more=self.more + 1)


class Tail:
    """The last messages of a session, numbered from its first one. The last one with an id is always kept."""

    def __init__(self) -> None:
        self._kept: deque[SentMessage] = deque()
        self._numbers: dict[str, int] = {}  # of what is kept, by id
        self._size = 0
        self.end = 0  # the number of the next message
        self.streamed = 0  # how many had an id

    @property
    def begin(self) -> int:
        """The number of the first message that is kept."""
        return self.end - len(self._kept)

    def skip(self, messages: Iterable[Fields]) -> None:
        """Count messages before the first one that is kept."""
        for message in messages:
            self.end += 1
            self.streamed += message["type"] == "stream"

    def extend(self, messages: Iterable[SentMessage]) -> None:
        """Add messages, and drop those that are no longer kept."""
        for sent in messages:
            self._kept.append(sent)
            self._size += len(sent.text)
            if sent.names:
                self.streamed += 1
                self._numbers[sent.id] = self.end
            self.end += 1
            self._trim()

    def _trim(self) -> None:
        while (len(self._kept) > MOST or self._size > _MOST_TEXT) and len(self._numbers) > 1:
            dropped = self._kept.popleft()
            self._size -= len(dropped.text)
            if dropped.names:
                del self._numbers[dropped.id]

    def ids(self) -> set[str]:
        """Return the ids of all messages that are kept and have one."""
        return set(self._numbers)

    def since(self, number: int) -> list[SentMessage] | None:
        """Return the messages from a number on, None if they are no longer kept."""
        return None if number < self.begin else list(islice(self._kept, number - self.begin, None))

    def number_of(self, name: str) -> int | None:
        """Return the number of the message with this id, None if it is not kept."""
        return self._numbers.get(name)

    def last_named(self, name: str) -> int | None:
        """Return the number of the last message that a viewer may mean, by its id or by that of a call."""
        if (number := self._numbers.get(name)) is not None:
            return number
        known = (self.end - at for at, sent in enumerate(reversed(self._kept), 1) if name in sent.names)
        return next(known, None)

    def last(self, most: int) -> tuple[list[SentMessage], bool]:
        """Return the last messages that have an id, and whether there were more."""
        found = [sent for sent in self._kept if sent.names][-most:]
        return found, self.streamed > len(found)

    def position(self) -> Position:
        """Return the position of a viewer that has all."""
        position = Position()
        for sent in self._kept:
            position = position.after(sent)
        return position
