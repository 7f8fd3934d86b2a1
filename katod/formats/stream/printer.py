"""The messages that CodingBridge's viewers show, one per line, as a server would send them."""

from typing import Any

import orjson

from katod.events import Event
from katod.formats.stream.messages import Messages
from katod.metadata import SessionMetadata
from katod.model import Mark, Options


class Stream:
    """Writes every message of a session, without a head or marks."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        self._messages = Messages(redact=options.redact, state=state)

    def head(self, _metadata: SessionMetadata, _time: str) -> str:
        """Return nothing: a stream has no head."""
        return ""

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the messages of an event, one per line."""
        return "".join(orjson.dumps(message).decode() + "\n" for message in self._messages.take(event, metadata))

    def mark(self, _: Mark) -> str:
        """Return nothing: marks are no messages."""
        return ""

    def end(self) -> str:
        """Return nothing: an output may always go on."""
        return ""

    def pause(self) -> str:
        """Return nothing: nothing is held back."""
        return ""

    def state(self) -> dict[str, Any]:
        """Return what the next messages depend on."""
        return self._messages.state()
