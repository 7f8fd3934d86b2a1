"""The messages of one session from its files: as it grows, and again from any place in it. For the reading thread."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from katod.formats.stream import bridge
from katod.formats.stream.messages import Messages
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, SessionKey
from katod.record.follow import Follower, Limited
from katod.serve.tail import Place, Sent

_READ_BYTES: Final = 256 * 1024
Fields = dict[str, Any]


class Content(NamedTuple):
    """Where the messages of a session are, and whether secrets in them are redacted."""

    key: SessionKey
    files: tuple[tuple[str, Identity], ...]  # older ones first
    redact: bool = True


class Reading(Protocol):
    """A position in a session that moves to its end, and what viewers are sent on the way, each once."""

    content: Callable[[], Content]  # where the session is now

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        ...

    def sent(self) -> tuple[list[Sent], bool]:
        """Return what the next bytes of the session's files are sent as, and whether there may be more."""
        ...

    def again(self, content: Content) -> "Reading":
        """Return one that begins again, with a content that stays."""
        ...


Opening = Callable[[Callable[[], Content]], Reading]  # begins to read a session, given where it is now


class Feed:
    """A position in a session that moves to its end, and the messages on the way, each once.

    `content` returns where the session is now.
    """

    def __init__(self, content: Callable[[], Content]) -> None:
        self.content = content
        self._follower = Follower(content().key, EventLog())
        self._messages = Messages(redact=content().redact)

    @property
    def metadata(self) -> SessionMetadata:
        """What is known of the session so far."""
        return self._follower.metadata

    def read(self) -> tuple[list[Fields], bool]:
        """Return the messages of the next bytes of the session's files, and whether there may be more."""
        limited = [Limited(path, identity, None) for path, identity in self.content().files]
        events = self._follower.advance(limited, _READ_BYTES)
        made = [message for event, now in events for message in self._messages.take(event, now)]
        return made, self._follower.moved

    def sent(self) -> tuple[list[Sent], bool]:
        """Return them as they are sent."""
        made, more = self.read()
        return [Sent.of(message) for message in made], more

    def again(self, content: Content) -> "Feed":
        """Return one that begins again, with a content that stays."""
        return Feed(lambda: content)


def all_sent(reading: Reading) -> Iterator[Sent]:
    """Yield all that is sent of a session, from where a position is to where its files end now."""
    more = True
    while more:
        made, more = reading.sent()
        yield from made


def messages(content: Content) -> Iterator[Fields]:
    """Yield all messages of a session, from its first one to where its files end now."""
    feed, more = Feed(lambda: content), True
    while more:
        made, more = feed.read()
        yield from made


def streamed(content: Content) -> Iterator[Fields]:
    """Yield the messages of the conversation alone, which have an id and a time."""
    return (message for message in messages(content) if message["type"] == "stream")


def named(sent: Iterable[Sent], name: str) -> str:
    """Return the id of the message that a viewer means, empty if there is none.

    While a tool runs, viewers name the call. Calls may be copied: the last one is meant.
    """
    found = ""
    for one in sent:
        if one.id == name and name:
            return name
        if name in one.names:
            found = one.id
    return found


def after(sent: Iterable[Sent], place: Place) -> Iterator[Sent]:
    """Yield what is after a place of all that is sent, nothing if the place is not in it."""
    left, again = place.more, iter(sent)
    if place.id and not any(one.id == place.id for one in again):  # leaves those after it
        return
    for one in again:
        left = 0 if one.names else left
        if left:
            left -= 1
        else:
            yield one
