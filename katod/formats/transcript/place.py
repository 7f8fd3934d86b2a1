"""Where a transcript is: who speaks, on which day, and when something was last printed. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

# Of a model's name: the vendor in front of it, and the date behind it.
_VENDOR: Final = re.compile(r"(?:[\w.-]+/)*(?:claude-|models/)?")
_DATE: Final = re.compile(r"[-@:](?:20[0-9]{6}|20[0-9]{2}-[0-9]{2}-[0-9]{2})(?=\Z|[-:])")
PAUSE: Final = 300.0  # seconds after which the time is shown again


@dataclass(slots=True)
class LastHeading:
    """The last heading and what follows it; `line` is the call whose line was printed last, `time` in seconds."""

    speaker: str = ""
    model: str = ""
    day: str = ""
    time: float = 0.0
    line: str = ""

    def begin(self, day: str) -> None:
        """Begin a transcript on a day."""
        self.day = day

    def at_line(self, call: str = "") -> None:
        """Note that the line of a call was printed last, or something else."""
        self.line = call

    def interrupt(self) -> None:
        """Note that what was printed is nobody's: whoever speaks next is named again."""
        self.speaker = self.line = ""

    def forget_model(self) -> None:
        """Name the model again in the next heading."""
        self.model = ""

    def speak(self, speaker: str, model: str, day: str, time: float) -> None:
        """Note that a heading was printed."""
        self.speaker, self.model, self.day = speaker, model, day
        self.pass_time(time)

    def pass_time(self, time: float) -> float:
        """Note that something of this time was printed; return the time before it, 0 if there is none."""
        before, self.time = self.time, max(time, self.time)
        return before

    def state(self) -> list[Any]:
        """Return the place as JSON, empty if nothing was printed yet."""
        row = [self.speaker, self.model, self.day, self.time, self.line]
        return row if any(row) else []


@lru_cache(maxsize=64)
def short_model(model: str) -> str:
    """Return `opus-4-6` of `anthropic/claude-opus-4-6-20260115`."""
    return _DATE.sub("", model[_VENDOR.match(model).end() :] or model)  # type: ignore[union-attr]
