"""What formats of JSON lines have in common."""

from typing import Any, NamedTuple

from katod.metadata import SessionMetadata
from katod.model import Mark, Options


class Lines:
    """A format without head, marks and end, that holds nothing back and remembers nothing, unless it says otherwise."""

    def head(self, _metadata: SessionMetadata, _time: str) -> str:
        """Return nothing: the first line is that of the first event."""
        return ""

    def mark(self, _: Mark) -> str:
        """Return nothing: marks are about the recording."""
        return ""

    def pause(self) -> str:
        """Return nothing: nothing is held back."""
        return ""

    def end(self) -> str:
        """Return nothing: an output may always go on."""
        return ""

    def state(self) -> dict[str, Any]:
        """Return no state: none is needed."""
        return {}


class RangeOptions(NamedTuple):
    """The options of an output, and the switches of the range that is being printed."""

    base: Options
    switches: list[Any]

    @property
    def options(self) -> Options:
        """The options with the switches applied."""
        return self.base.with_switches(dict(self.switches)) if self.switches else self.base
