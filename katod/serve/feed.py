"""The messages of one session from its files: as it grows, and again from any place in it. For the reading thread."""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

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


def messages(content: Content) -> Iterator[Fields]:
    """Yield all messages of a session, from its first one to where its files end now."""
    feed, more = Feed(lambda: content), True
    while more:
        made, more = feed.read()
        yield from made


def streamed(content: Content) -> Iterator[Fields]:
    """Yield the messages of the conversation alone, which have an id and a time."""
    return (message for message in messages(content) if message["type"] == "stream")


def named(content: Content, name: str) -> str:
    """Return the id of the message that a viewer means, empty if there is none.

    While a tool runs, viewers name the call. Calls may be copied: the last one is meant.
    """
    found = ""
    for message in streamed(content._replace(redact=False)):  # ids are the same, and it is faster
        names = bridge.cursors_of(message)
        if names[0] == name:
            return name
        if name in names:
            found = names[0]
    return found


def after(content: Content, place: Place) -> Iterator[Sent]:
    """Yield all messages after a place, none if it is not in the session."""
    left, again = place.more, messages(content)
    if place.id and not any(message.get("id") == place.id for message in again):  # leaves those after it
        return
    for message in again:
        sent = Sent.of(message)
        left = 0 if sent.names else left
        if left:
            left -= 1
        else:
            yield sent
