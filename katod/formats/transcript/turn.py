"""Where a transcript is: who speaks, on which day, and what a turn of the agent did, for its footer. Pure."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from katod.formats.transcript.calls import shown_size

# Of a model's name: the vendor in front of it, and the date behind it.
_VENDOR: Final = re.compile(r"(?:[\w.-]+/)*(?:claude-|models/)?")
_DATE: Final = re.compile(r"[-@:](?:20[0-9]{6}|20[0-9]{2}-[0-9]{2}-[0-9]{2})(?=\Z|[-:])")
PAUSE: Final = 300.0  # seconds after which the time is shown again
_MOST_FILES: Final = 500  # whose names are remembered; of more, only the number is known
_CENT: Final = 0.01
_NAMES: Final = ("tools", "commits", "added", "removed", "tokens", "more")


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


class TurnTally:
    """Counts what happens between a typed message and the end of the turn."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self.counts: dict[str, int] = {name: state.get(name, 0) for name in _NAMES}
        self._files: dict[str, list[int]] = dict(state.get("edited", {}))  # lines added to and removed from each
        self.spent: list[float] = list(state.get("spent", (0, 0.0)))  # tokens and US dollars since the recording began
        self.began: float = state.get("began", 0.0)
        self.last: float = state.get("last", 0.0)

    def state(self) -> dict[str, Any]:
        """Return the counts as JSON, without zeros."""
        spent = self.spent if any(self.spent) else None
        row = self.counts | {"edited": self._files, "began": self.began, "last": self.last, "spent": spent}
        return {name: value for name, value in row.items() if value}

    def pass_time(self, seconds: float) -> None:
        """Note when something happened, in seconds since the epoch; 0 if that is not known."""
        if seconds:
            self.began = self.began or seconds
            self.last = max(self.last, seconds)

    def following(self) -> "TurnTally":
        """Return the tally of the next turn, which goes on with what the recording has used."""
        return TurnTally({"spent": self.spent})

    def use(self, tokens: int, cost: float) -> None:
        """Count what an answer used: tokens, and US dollars as far as its agent recorded them."""
        self.add("tokens", tokens)
        self.spent = [self.spent[0] + tokens, self.spent[1] + cost]

    @property
    def used(self) -> str:
        """What the recording has used, empty if that is not known."""
        tokens, cost = self.spent
        shown = f"${cost:.2f}" if cost >= _CENT else f"${cost:.4f}"
        return " · ".join(filter(None, (f"{tokens:,.0f} tokens" if tokens else "", shown if cost else "")))

    def add(self, name: str, number: int = 1) -> None:
        """Add to a count."""
        self.counts[name] += number

    def edit(self, path: str, added: int, removed: int) -> None:
        """Count an edit of a file, once it is known to be made."""
        self.add("added", added)
        self.add("removed", removed)
        if path in self._files or len(self._files) < _MOST_FILES:
            before = self._files.get(path, (0, 0))
            self._files[path] = [before[0] + added, before[1] + removed]
        else:
            self.add("more")

    @property
    def files(self) -> tuple[tuple[str, int, int], ...]:
        """The files that were changed, with the lines that were added and removed."""
        return tuple((path, added, removed) for path, (added, removed) in self._files.items())

    def footer(self) -> str:
        """Return what the turn did, empty if it called no tool and changed no file."""
        counts, files = self.counts, len(self._files) + self.counts["more"]
        size = f" {shown}" if (shown := shown_size(counts["added"], counts["removed"])) else ""
        parts = [
            _number(counts["tools"], "tool"), _number(files, "file") + (size if files else ""),
            _number(counts["commits"], "commit"), duration(self.last - self.began),
            f"{counts['tokens']:,} tokens" if counts["tokens"] else "",
        ]  # fmt: skip
        return " · ".join(part for part in parts if part) if counts["tools"] or files else ""


def duration(seconds: float) -> str:
    """Return `12 s`, `4 min` or `2 h 5 min`, empty for less than a second."""
    if seconds < 60:
        return f"{int(seconds)} s" if seconds >= 1 else ""
    minutes = int(seconds) // 60
    hours, left = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {left} min" if left else f"{hours} h"


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count > 1 else ''}" if count else ""
