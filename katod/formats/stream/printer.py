"""The messages that CodingBridge's viewers show, one per line, as a server would send them."""

from typing import Any

import orjson

from katod.events import Event
from katod.formats.lines import Lines
from katod.formats.stream.messages import Messages
from katod.metadata import SessionMetadata
from katod.model import Options


class Stream(Lines):
    """Writes every message of a session, without a head or marks."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        self._messages = Messages(redact=options.redact, state=state)

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the messages of an event, one per line."""
        return "".join(orjson.dumps(message).decode() + "\n" for message in self._messages.take(event, metadata))

    def state(self) -> dict[str, Any]:
        """Return what the next messages depend on."""
        return self._messages.state()
