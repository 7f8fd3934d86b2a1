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
        self._messages, self._is_exported = Messages(redact=options.redact, state=state), options.exported
        self._last = ""  # the id of the last event

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the messages of an event, one per line."""
        self._last = event.id
        return _printed(self._messages.take(event, metadata))

    def end(self) -> str:
        """Return that the last answer is over, in an export; an output may always go on."""
        return _printed(self._messages.settled(self._last)) if self._is_exported else ""

    def state(self) -> dict[str, Any]:
        """Return the state to resume from."""
        return self._messages.state()


def _printed(messages: list[dict[str, Any]]) -> str:
    return "".join(orjson.dumps(message).decode() + "\n" for message in messages)
