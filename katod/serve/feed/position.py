"""How far a viewer is in a session: of each of its sources, up to which message it has all. Pure.

Sources may grow in turns, and their files do not say in which: read again, one follows the other. So a position has a
mark for each source, and what a viewer lacks is the same in whatever order the messages come.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import orjson

from katod.formats.stream import bridge

_AND: Final = "."
Fields = dict[str, Any]


class SentMessage(NamedTuple):
    """A message as it is sent. `names` are the ids by which viewers may name it, none if it has no envelope.

    `source` is the name of the source that it was read from.
    """

    text: str
    names: tuple[str, ...] = ()
    source: str = ""

    @classmethod
    def of(cls, message: Fields, source: str = "", *, is_hidden: bool = False) -> "SentMessage":
        """Return a message as text, or without text if it is not to be shown."""
        names = bridge.cursors_of(message) if message["type"] == "stream" else ()
        return cls("" if is_hidden else orjson.dumps(message).decode(), names, source)

    @property
    def id(self) -> str:
        """Its id, empty if it has none."""
        return self.names[0] if self.names else ""


class SourcePosition(NamedTuple):
    """In one source, the place after the message with this id, and after so many messages without an id behind it."""

    source: str
    id: str = ""
    more: int = 0

    def after(self, sent: SentMessage) -> "SourcePosition":
        """Return the place after one message more."""
        return SourcePosition(self.source, sent.id) if sent.id else self._replace(more=self.more + 1)


class Position(NamedTuple):
    """What a viewer has: of each source all up to a place. The source of the last message with an id is last."""

    marks: tuple[SourcePosition, ...] = ()

    def of(self, source: str) -> SourcePosition:
        """Return the place in a source, its beginning if nothing of it was sent."""
        return next((mark for mark in self.marks if mark.source == source), SourcePosition(source))

    @property
    def last(self) -> str:
        """The id of the last message with one that was sent, empty if there is none."""
        return self.ids[-1] if self.ids else ""

    def after(self, sent: SentMessage) -> "Position":
        """Return the position after one message more."""
        others = tuple(mark for mark in self.marks if mark.source != sent.source)
        mark = self.of(sent.source).after(sent)
        if sent.id or len(others) == len(self.marks):
            return Position((*others, mark))
        return Position(tuple(mark if one.source == sent.source else one for one in self.marks))

    def reached(self, end: "Position") -> "Position":
        """Return it as `end` counts the messages without an id: all up to there was sent."""
        ends = ((mark, end.of(mark.source)) for mark in self.marks)
        return Position(tuple(max(mark, other) if mark.id == other.id else mark for mark, other in ends))

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of the last message in each source, by which it is found again."""
        return tuple(mark.id for mark in self.marks if mark.id)

    @property
    def name(self) -> str:
        """What a page names, to be sent what comes after that: all of these ids."""
        return _AND.join(self.ids)


class SourcePassage:
    """The way through the messages of one source: which are behind `begin`, and not behind `end` if there is one.

    It starts at the place `at`, which may be the beginning of the source.
    """

    def __init__(self, begin: SourcePosition, at: SourcePosition, end: SourcePosition | None = None) -> None:
        self._begin, self._at, self._end = begin, at, end
        self.has_begun = at.id == begin.id and at.more <= begin.more  # whether `begin` was passed
        self._left = begin.more - at.more if self.has_begun else begin.more  # messages without an id to pass over
        self._is_over = False

    def takes(self, sent: SentMessage) -> bool:
        """Go past the next message; return whether it is between both places."""
        self._is_over = self._is_over or self._ends(sent)
        if self._is_over:
            return False
        self._at = self._at.after(sent)
        if not self.has_begun:
            self.has_begun = bool(sent.id) and sent.id == self._begin.id
            return False
        if sent.id:
            self._left = 0
        elif self._left:
            self._left -= 1
            return False
        return True

    def _ends(self, sent: SentMessage) -> bool:
        """Return whether the end is before the next message."""
        end = self._end
        return end is not None and self._at.id == end.id and (bool(sent.id) or self._at.more >= end.more)


def between(messages: Iterable[SentMessage], begin: Position, end: Position) -> Iterator[SentMessage | None]:
    """Yield those of all messages of a session that are, in their source, behind `begin` and not behind `end`.

    None stands for each of the others: looking for a place in a long session takes time.
    """
    passages: dict[str, SourcePassage] = {}
    for sent in messages:
        name = sent.source
        if name not in passages:
            passages[name] = SourcePassage(begin.of(name), SourcePosition(name), end.of(name))
        yield sent if passages[name].takes(sent) else None


def named(name: str) -> list[str]:
    """Return the ids in what a page names."""
    return name.split(_AND)


def located(names: Iterable[str], messages: Iterable[SentMessage]) -> Iterator[Position | None]:
    """Yield None for each message, and at last the position after the last one with one of these names in each source.

    There is none if one of the names is that of no message. Calls may be copied: the last one is meant.
    """
    wanted, found, marks = frozenset(names), set[str](), dict[str, SourcePosition]()
    for sent in messages:
        if sent.names:
            marks.setdefault(sent.source, SourcePosition(sent.source))
            if matching := wanted.intersection(sent.names):
                found |= matching
                marks[sent.source] = SourcePosition(sent.source, sent.id)
        yield None
    if wanted and found == wanted:
        yield Position(tuple(marks.values()))
