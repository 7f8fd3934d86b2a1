"""The end of what was sent of a session, as far as it is kept: what is older is read from the session's files. Pure."""

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice
from math import inf
from typing import Final

from katod.serve.feed.position import Position, SentMessage, SourcePassage, located

MOST: Final = 512  # messages
_MOST_TEXT: Final = 256 * 1024  # characters


class Tail:
    """The last messages of a session, numbered from its first one. The last one with an id is always kept."""

    def __init__(self) -> None:
        self._kept: deque[SentMessage] = deque()
        self._numbers: dict[str, int] = {}  # of what is kept, by id
        self._size = 0
        self.before = Position()  # of a viewer that has all that is no longer kept
        self._read = inf  # the number of the first message that came after those that were read at first
        self.end = 0  # the number of the next message
        self.streamed = 0  # how many had an id

    @property
    def begin(self) -> int:
        """The number of the first message that is kept."""
        return self.end - len(self._kept)

    def skip(self, messages: Iterable[SentMessage]) -> None:
        """Count messages before the first one that is kept."""
        for sent in messages:
            self.before = self.before.after(sent)
            self.end += 1
            self.streamed += bool(sent.names)

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
            self.before = self.before.after(dropped)
            if dropped.names:
                del self._numbers[dropped.id]

    def ids(self) -> set[str]:
        """Return the ids of all messages that are kept and have one."""
        return set(self._numbers)

    def since(self, number: int) -> list[SentMessage] | None:
        """Return the messages from a number on, None if they are no longer kept."""
        return None if number < self.begin else list(islice(self._kept, number - self.begin, None))

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
        return self._position(self.end)

    def set_read(self) -> None:
        """Note that all so far was read one source after the other, and what follows is in the order of its arrival."""
        self._read = self.end

    def up_to(self, name: str) -> Position | None:
        """Return the position of a viewer that was sent a message that it names; None if that is not known here."""
        number = self.last_named(name)
        return None if number is None or number < self._read else self._position(number + 1)

    def _position(self, end: int) -> Position:
        position = self.before
        for sent in islice(self._kept, end - self.begin):
            position = position.after(sent)
        return position

    def located(self, names: Iterable[str]) -> Position | None:
        """Return the position after the last of these messages in each source; None if one is not known here."""
        before = (SentMessage("", (mark.id,), mark.source) for mark in self.before.marks if mark.id)
        return next(filter(None, located(names, chain(before, self._kept))), None)

    def missing(self, position: Position) -> list[SentMessage] | None:
        """Return what a viewer at a position lacks of what is kept; None if it lacks more, or is not in it."""
        sources = {mark.source for mark in (*position.marks, *self.before.marks)} | {one.source for one in self._kept}
        passages = {source: SourcePassage(position.of(source), self.before.of(source)) for source in sources}
        found = [sent for sent in self._kept if passages[sent.source].takes(sent)]
        return found if all(passage.has_begun for passage in passages.values()) else None
