"""JSONL: the canonical events as they are, one per line, all kinds."""

from typing import Any

from katod.events import Event
from katod.formats.rows import row_of
from katod.metadata import SessionMetadata
from katod.model import Mark, Options


class Jsonl:
    """Writes every event in full, without a head or marks."""

    def __init__(self, options: Options, _: dict[str, Any] | None = None) -> None:
        self._redact = options.redact

    def head(self, _metadata: SessionMetadata, _time: str) -> str:
        """Return nothing: a JSONL output has no head."""
        return ""

    def event(self, event: Event, _metadata: SessionMetadata) -> str:
        """Return the event as one line."""
        return row_of(event, redact=self._redact)[1].decode() + "\n"

    def mark(self, _: Mark) -> str:
        """Return nothing: marks are not events."""
        return ""

    def end(self) -> str:
        """Return nothing: an output may always go on."""
        return ""

    def pause(self) -> str:
        """Return nothing: nothing is held back."""
        return ""

    def state(self) -> dict[str, Any]:
        """Return no state: none is needed."""
        return {}
