"""The interface of every format."""

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
        """Return what a new output begins with; `time` is when the recording started.

        A format whose spec `is_summed` is asked for it last, and may say something of the whole conversation.
        """

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the text of one event, empty if it is not printed."""

    def mark(self, mark: Mark) -> str:
        """Return the text of a mark, empty if the format has none."""

    def pause(self) -> str:
        """Return what is held back until more is known, where a range or an export ends."""

    def end(self) -> str:
        """Return what an output ends with when nothing will follow."""

    def state(self) -> dict[str, Any]:
        """Return what has to be remembered, as JSON."""
