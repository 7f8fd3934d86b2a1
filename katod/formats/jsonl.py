"""JSONL: the canonical events as they are, one per line, all kinds."""

from typing import Any

from katod.events import Event
from katod.formats.lines import Lines
from katod.formats.rows import row_of
from katod.metadata import SessionMetadata
from katod.model import Options


class Jsonl(Lines):
    """Writes every event in full, without a head or marks."""

    def __init__(self, options: Options, _: dict[str, Any] | None = None) -> None:
        self._redact = options.redact

    def event(self, event: Event, _metadata: SessionMetadata) -> str:
        """Return the event as one line."""
        return row_of(event, redact=self._redact)[1].decode() + "\n"
