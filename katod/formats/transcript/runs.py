"""Runs of tool lines: the first ones print as they come, what follows waits, and prints as one fold. Pure."""

from collections import Counter
from typing import Any, Final, NamedTuple

from katod.agents.toolcalls import family
from katod.formats.transcript.calls import HeldCalls
from katod.formats.transcript.content import Fold, Inline, Line, Piece, ToolLine
from katod.model import LONGEST_NAME

_SHOWN: Final = 8  # lines of a run that print as they come
_FEWEST: Final = 4  # lines that are worth a fold
_MOST_HELD: Final = 64 * 1024  # characters
_MOST_ROWS: Final = 512
_OF_A_ROW: Final = 32  # characters, beside what is in it
# What calls of a family are called, one and several. Of any other family they are calls.
_NAMES: Final = {
    "read": ("read", "reads"), "edit": ("edit", "edits"), "search": ("search", "searches"),
    "execute": ("command", "commands"), "fetch": ("fetch", "fetches"), "agent": ("sub-agent", "sub-agents"),
}  # fmt: skip
_OTHER: Final = ("other call", "other calls")


class ToolRun:
    """The run that is being printed: how many of its lines were, and those that wait for something else to print.

    A row is a call's id, its tool, its line (name, about, outcome), and whether its outcome `tells` something.
    """

    def __init__(self, state: list[Any] | None = None) -> None:
        printed, rows = state or (0, [])
        self._printed: int = printed
        self._rows: list[list[Any]] = rows
        self._size = sum(map(_size, rows))
        self._at = {row[0]: row for row in rows}

    def state(self) -> list[Any]:
        """Return the run as JSON, empty if nothing is in it."""
        return [self._printed, self._rows] if self._printed else []

    def add(self, call: str, tool: str, line: ToolLine, *, tells: bool = False) -> list[Piece]:
        """Return what is printed of a line now: the line itself, nothing, or the fold if too much waits."""
        if self._printed < _SHOWN:
            self._printed += 1
            return [line]
        row = [call[:LONGEST_NAME], tool[:LONGEST_NAME], line.name, [*line.about], [*line.outcome], tells]
        self._rows.append(row)
        self._at[row[0]] = row
        self._size += _size(row)
        return self._folded() if self._size > _MOST_HELD or len(self._rows) >= _MOST_ROWS else []

    def answer(self, call: str, outcome: Line, *, tells: bool) -> bool:
        """Add what came of a call; return False if its line does not wait."""
        row = self._at.get(call) if call else None
        if row is not None:
            before = _size(row)
            row[4:] = [[*outcome], tells]
            self._size += _size(row) - before
        return row is not None

    def flush(self) -> list[Piece]:
        """End the run; return what waited: one fold, and below it the lines whose outcomes tell something."""
        pieces = self._folded()
        self._printed = 0
        return pieces

    def _folded(self) -> list[Piece]:
        rows, self._rows, self._at, self._size = self._rows, [], {}, 0
        quiet = [row for row in rows if not row[5]]
        if len(quiet) < _FEWEST:
            return [_line(row) for row in rows]
        counts = Counter(_NAMES.get(family(row[1]), _OTHER) for row in quiet)
        told = ", ".join(f"{count} {names[count > 1]}" for names, count in counts.most_common())
        fold = Fold(f"{len(quiet)} more", (Inline("text", told),), (), tuple(_line(row) for row in quiet))
        return [fold, *(_line(row) for row in rows if row[5])]


class WaitingCalls(NamedTuple):
    """The calls that wait to be printed: for their results, or, as lines, for the end of their run."""

    held: HeldCalls
    run: ToolRun

    @classmethod
    def of(cls, state: dict[str, Any]) -> "WaitingCalls":
        """Return the calls that wait as the state of a transcript says."""
        return cls(HeldCalls(state.get("held")), ToolRun(state.get("run")))

    def state(self) -> dict[str, Any]:
        """Return the calls as JSON."""
        return {"held": self.held.state(), "run": self.run.state()}

    def flush(self) -> list[Piece]:
        """Return all that waits."""
        return [*self.held.flush(), *self.run.flush()]


def _line(row: list[Any]) -> ToolLine:
    about, outcome = (tuple(Inline(*span) for span in spans) for spans in row[3:5])
    return ToolLine(row[2], about, outcome)


def _size(row: list[Any]) -> int:
    """Return how much a row takes, more or less, in characters."""
    return _OF_A_ROW + sum(map(len, row[:3])) + sum(len(span[1]) for span in (*row[3], *row[4]))
