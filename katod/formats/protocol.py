"""The interfaces of the formats: one that is printed event by event, or a document that is made as a whole."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from katod.events import Event
from katod.metadata import SessionMetadata
from katod.model import Mark, Options


class Format(Protocol):
    """Prints the events of one recording as they arrive, depending only on what came before.

    No clock, locale, environment or hash order affects the text. `state()` is small plain JSON.
    """

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        """Start an output, or continue from `state()`."""

    def head(self, metadata: SessionMetadata, time: str) -> str:
        """Return the head of a new output; `time` is when the recording started."""

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the text of one event, empty if it is not printed."""

    def mark(self, mark: Mark) -> str:
        """Return the text of a mark, empty if the format has none."""

    def pause(self) -> str:
        """Return the pending text, where a range or an export ends."""

    def end(self) -> str:
        """Return the end of an output to which nothing will be appended."""

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""


class Spool(Protocol):
    """Keeps a text of any length outside of memory, as it grows."""

    def write(self, text: str) -> object:
        """Add to the end."""

    def pieces(self) -> Iterator[str]:
        """Yield the text from the beginning, once it is complete."""


class DocumentFormat(Protocol):
    """Makes one document of a whole conversation, which may begin with what is known only in the end.

    What grows with the conversation is kept in spools, so that memory stays bounded. As with every format, nothing but
    the options and the events decides about the text.
    """

    def __init__(self, options: Options, spool: Callable[[], Spool]) -> None:
        """Start a document; `spool` returns a new, empty spool at each call."""

    def take(self, event: Event) -> None:
        """Take up the next event of the conversation."""

    def pieces(self) -> Iterator[str]:
        """Yield the document, once all events were taken; nothing else follows."""
