"""Renders events in any format, without files."""

import io
from collections.abc import Iterable, Iterator

from katod.events import Event
from katod.formatspec import FORMATS, open_document, open_format
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey


class MemorySpool:
    """A spool that keeps its text in memory, and hands it out in small pieces."""

    def __init__(self) -> None:
        self._file = io.StringIO()

    def write(self, text: str) -> None:
        """Add to the end."""
        self._file.write(text)

    def pieces(self) -> Iterator[str]:
        """Yield the text in pieces of a few characters."""
        self._file.seek(0)
        while piece := self._file.read(7):
            yield piece


class Rendering:
    """One conversation in one format, event by event."""

    def __init__(self, name: str, options: Options | None = None) -> None:
        options = options or Options()
        is_document = FORMATS[name].is_document
        self._document = open_document(name, options, MemorySpool) if is_document else None
        self._printer = None if is_document else open_format(name, options)
        self._texts: list[str] = []

    def take(self, event: Event, metadata: SessionMetadata) -> None:
        """Take up the next event."""
        if self._document is not None:
            self._document.take(event)
        elif self._printer is not None:
            self._texts.append(self._printer.event(event, metadata))

    def text(self, metadata: SessionMetadata) -> str:
        """Return the whole text."""
        if self._document is not None:
            return "".join(self._document.pieces())
        assert self._printer is not None
        body = "".join([*self._texts, self._printer.pause(), self._printer.end()])
        return self._printer.head(metadata, metadata.started) + body


def rendered(name: str, events: Iterable[Event], options: Options | None = None) -> str:
    """Return the text of a conversation in a format."""
    rendering, metadata = Rendering(name, options), None
    for event in events:
        metadata = metadata or SessionMetadata(
            SessionKey(event.session.agent, event.session.id, event.session.subagent)
        )
        metadata.observe(event)
        rendering.take(event, metadata)
        metadata.close(event)
    assert metadata is not None
    return rendering.text(metadata)
