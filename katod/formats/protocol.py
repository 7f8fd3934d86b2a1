"""What every format offers."""

from typing import Any, ClassVar, Protocol

from katod.events import Event
from katod.metadata import SessionMetadata
from katod.model import Mark, Options


class Format(Protocol):
    """Prints the events of one recording, each when it comes, depending only on what stood before it.

    No clock, locale, environment or hash order reaches the text. `state()` is small plain JSON.
    """

    name: ClassVar[str]
    suffix: ClassVar[str]
    version: ClassVar[int]  # rises when the same events would print other text

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        """Begin an output, or go on where `state()` left off."""

    def head(self, metadata: SessionMetadata, time: str) -> str:
        """Return what a new output begins with; `time` is when the recording began."""

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the text of one event; empty when it does not print."""

    def mark(self, mark: Mark) -> str:
        """Return the text of a mark; empty when the format has none."""

    def state(self) -> dict[str, Any]:
        """Return what has to be remembered, as JSON."""
