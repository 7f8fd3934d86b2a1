"""The messages of one session from its files: as it grows, and again from any position in it. For the reading thread.

Redaction takes longer than all the rest, so messages that are not sent are not redacted. Their ids are the same.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, NamedTuple, Protocol

import orjson

from katod.formats.redact.redactor import redact_json
from katod.formats.stream.messages import Messages
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.record.follow import Follower, FollowPosition, Limited
from katod.serve.feed.position import Position, SentMessage, between, located
from katod.serve.index.entry import SessionContent

_READ_BYTES: Final = 256 * 1024
_LAST_BYTES: Final = 2 * 1024 * 1024
_OF_ONE_EVENT: Final = 16  # messages, more than there ever are
Fields = dict[str, Any]


class MadeMessage(NamedTuple):
    """A message, and the name of the source that it was read from."""

    fields: Fields
    source: str


class ReadBatch(NamedTuple):
    """What was read at once: messages that are not to be shown, those that are, and whether there may be more."""

    hidden: list[MadeMessage]
    shown: list[MadeMessage]
    more: bool


class SentBatch(NamedTuple):
    """What was read at once: messages that are not to be shown, without text; those that are sent; if there is more."""

    hidden: list[SentMessage]
    sent: list[SentMessage]
    more: bool


class SessionReader(Protocol):
    """A position in a session that moves to its end, and the messages for viewers on the way, each once."""

    content: Callable[[], SessionContent]  # where the session is now; raises NotServed

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        ...

    @property
    def restarts(self) -> int:
        """How often a file was no longer what was read of it."""
        ...

    def sent(self) -> SentBatch:
        """Read the next bytes of the session's files. Raises NotServed.

        If reading fails after a part of them, that part is returned, and the next call raises why.
        """
        ...

    def ids(self) -> Iterator[str]:
        """Yield the ids of all that is in the session's files now, and perhaps of more."""
        ...

    def located(self, names: Collection[str]) -> Iterator[Position | None]:
        """Yield the position after the last message with one of these names in each source, looked up in the files.

        None now and then before it, and alone if one of them is not there.
        """
        ...

    def between(self, begin: Position, end: Position) -> Iterator[SentMessage | None]:
        """Yield what is sent after a position, up to another one, read from the files; None now and then."""
        ...


MakeReader = Callable[[Callable[[], SessionContent]], SessionReader]  # begins to read a session, given where it is now


class MessageReader:
    """A position in a session that moves to its end, and the messages on the way, each once.

    `content` returns where the session is now. The first messages are not to be shown, as they are not redacted: so
    many of those with an id, at most; without a number, those that are not in the last bytes of the session. It begins
    where a `follower` is, with the `state` of messages there.
    """

    def __init__(
        self, content: Callable[[], SessionContent], hidden: int | None = None, *,
        follower: Follower | None = None, state: Fields | None = None,
    ) -> None:  # fmt: skip
        self.content = content
        self._hidden = hidden
        self._streamed = 0
        self._follower = follower or Follower(content().key, EventLog())
        self._messages = Messages(redact=False, state=state)
        self._is_shown = False

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self._follower.metadata

    def read(self) -> ReadBatch:
        """Return the messages of the next bytes of the session's files."""
        content, found = self.content(), ReadBatch([], [], more=True)
        if self._hidden is None and content.size - self._follower.offset <= _LAST_BYTES:
            self._show(content)
        try:
            self._advance(content, found)
        except Exception:
            if not (found.hidden or found.shown):
                raise
            return found  # these are not read again, so they must not be lost
        return found._replace(more=self._follower.moved)

    def _advance(self, content: SessionContent, found: ReadBatch) -> None:
        limited = [Limited(path, identity, None) for path, identity in content.files]
        for event, now in self._follower.advance(limited, _READ_BYTES):
            if self._hidden is not None and self._streamed + _OF_ONE_EVENT >= self._hidden:
                self._show(content)
            source = self._follower.source
            made = [MadeMessage(message, source) for message in self._messages.take(event, now)]
            self._streamed += sum(message.fields["type"] == "stream" for message in made)
            (found.shown if self._is_shown else found.hidden).extend(made)

    @property
    def restarts(self) -> int:
        """How often a file was no longer what was read of it."""
        return self._follower.restarts

    @property
    def can_mark(self) -> bool:
        """Whether another feed can go on where it is, as long as nothing is shown."""
        return self._follower.can_mark

    def mark(self) -> tuple[FollowPosition, bytes] | None:
        """Return from where another feed can go on as long as nothing is shown, None if none can."""
        mark = self._follower.mark()
        return None if mark is None else (mark, orjson.dumps(self._messages.state()))

    def sent(self) -> SentBatch:
        """Read the next bytes of the session's files."""
        hidden, shown, more = self.read()
        return SentBatch([_sent(one, is_hidden=True) for one in hidden], [_sent(one) for one in shown], more)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all messages."""
        return (message["id"] for message in streamed(self.content(), ALL))

    def located(self, names: Collection[str]) -> Iterator[Position | None]:
        """Yield None for each message, and the position after the last one that a viewer means, in each source."""
        return located(names, self._again(ALL))

    def between(self, begin: Position, end: Position) -> Iterator[SentMessage | None]:
        """Yield all messages after a position, up to another one. They are read twice: few of them are to be shown."""
        hidden, is_there = 0, False

        def counted() -> Iterator[SentMessage]:
            nonlocal hidden
            for sent in self._again(ALL):
                yield sent
                hidden += bool(sent.id)

        for sent in between(counted(), begin, end):
            if is_there := sent is not None:
                break
            yield None
        if is_there:
            yield from between(self._again(hidden), begin, end)

    def _again(self, hidden: int) -> Iterator[SentMessage]:
        """Yield all messages of the session's files; so many of the first ones are without text."""
        content = self.content()
        again, more = MessageReader(lambda: content, hidden), True
        while more:
            batch = again.sent()
            for sent in (*batch.hidden, *batch.sent):
                yield sent._replace(source=self._follower.name_of(sent.source))
            more = batch.more

    def _show(self, content: SessionContent) -> None:
        """Begin to make messages that may be shown."""
        if not self._is_shown:
            self._is_shown = True
            state = self._messages.state()
            self._messages = Messages(redact=content.redact, state=redact_json(state) if content.redact else state)


def messages(content: SessionContent, hidden: int = 0) -> Iterator[Fields]:
    """Yield all messages of a session, from its first one to where its files end now.

    Not to be shown are the first ones, so many of those with an id.
    """
    feed, more = MessageReader(lambda: content, hidden), True
    while more:
        read = feed.read()
        yield from (message.fields for message in (*read.hidden, *read.shown))
        more = read.more


def streamed(content: SessionContent, hidden: int = 0) -> Iterator[Fields]:
    """Yield the messages of the conversation alone, which have an id and a time; the first ones are not to be shown."""
    return (message for message in messages(content, hidden) if message["type"] == "stream")


ALL: Final = 1 << 62  # messages to hide


def _sent(message: MadeMessage, *, is_hidden: bool = False) -> SentMessage:
    return SentMessage.of(*message, is_hidden=is_hidden)
