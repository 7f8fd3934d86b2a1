"""The calls of a transcript: those that wait for their results, runs of their lines, and what an edit changed. Pure.

The first lines of a run print as they come; what follows waits, and prints as one fold.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from katod.agents.toolcalls import family
from katod.agents.tooltable import tool
from katod.formats.transcript.content import Code, Fold, Inline, Line, Piece, ToolLine
from katod.model import LONGEST_NAME

_MCP: Final = "mcp__"  # `mcp__server__tool`, in most agents
_MOST_KNOWN: Final = 256
_MOST_HELD: Final = 64 * 1024  # characters
_LONGEST_SHOWN: Final = 120
_SHOWN: Final = 8  # lines of a run that print as they come
_FEWEST: Final = 4  # lines that are worth a fold
_MOST_WAITING: Final = 64 * 1024  # characters
_MOST_ROWS: Final = 512
_OF_A_ROW: Final = 32  # characters, beside what is in it
# What calls of a family are called, one and several. Of any other family they are calls.
_NAMES: Final = {
    "read": ("read", "reads"), "edit": ("edit", "edits"), "search": ("search", "searches"),
    "execute": ("command", "commands"), "fetch": ("fetch", "fetches"), "agent": ("sub-agent", "sub-agents"),
}  # fmt: skip
_OTHER: Final = ("other call", "other calls")


def edit_size(payload: dict[str, Any]) -> tuple[int, int]:
    """Return how many lines a call adds and removes; zeros for anything but an edit."""
    if payload["family"] != "edit":
        return 0, 0
    known, given = tool(payload["name"]), payload.get("input")
    if patch := known.patch_in(given):
        added, removed = (f"\n{patch}".count(f"\n{sign}") for sign in "+-")
        return added, removed
    changes = [changed_lines(*change) for change in known.changes(given)]
    return sum(len(after) for _, after in changes), sum(len(before) for before, _ in changes)


def shown_size(added: int, removed: int) -> str:
    """Return `(+42 −18)`, empty if nothing changed."""  # noqa: RUF002 - the minus sign is meant
    return f"(+{added} −{removed})" if added or removed else ""  # noqa: RUF001 - the minus sign is meant


def diff(payload: dict[str, Any], say: Callable[[str], str]) -> list[str]:
    """Return the changed lines of an edit: removed ones first, each with its sign.

    `say` makes a text fit to be shown. It is given whole texts: where a key replaces another, the first and last lines
    are no part of the change, and the rest looks like no key.
    """
    known, given = tool(payload["name"]), payload.get("input")
    if patch := known.patch_in(given):
        return [line for line in say(patch).split("\n") if line.startswith(("+", "-", "@@", "*** "))]
    lines: list[str] = []
    for old, new in known.changes(given):
        before, after = changed_lines(say(old), say(new))
        lines += [f"-{line}" for line in before] + [f"+{line}" for line in after]
    return lines


def patched_files(patch: str) -> list[str]:
    """Return the names of the files that an `apply_patch` text changes."""
    heads = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
    lines = [line for line in patch.splitlines() if line.startswith("*** ")]
    return [line[len(head) :].strip() for line in lines for head in heads if line.startswith(head)]


def changed_lines(old: str, new: str) -> tuple[list[str], list[str]]:
    """Return the lines that an edit removes and those that it adds, without unchanged lines at both ends."""
    before, after = old.splitlines(), new.splitlines()
    first = _same(before, after)
    before, after = before[first:], after[first:]
    last = _same(before[::-1], after[::-1])
    return before[: len(before) - last], after[: len(after) - last]


def _same(one: list[str], other: list[str]) -> int:
    """Count the equal lines at the beginning of both."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class HeldCalls:
    """Calls that are printed with their results, in the order of the calls."""

    def __init__(self, rows: list[dict[str, Any]] | None = None) -> None:
        self._rows = rows or []

    def state(self) -> list[dict[str, Any]]:
        """Return the calls as JSON."""
        return self._rows

    def add(self, call: str, name: str, about: Line, body: Code) -> list[Fold]:
        """Hold a call back; return what has to be printed because too much is held."""
        self._rows.append({"call": call, "name": name, "about": [*about], "body": [*body]})
        return self.flush() if self._size() > _MOST_HELD else []

    def answer(self, call: str, notes: tuple[str, ...], result: Code | None) -> list[Fold] | None:
        """Add a result; return what can be printed now, None if the call is not held."""
        row = next((row for row in self._rows if row["call"] == call and "notes" not in row), None)
        if row is None:
            return None
        row["notes"] = [*notes]
        row["result"] = [*result] if result else None
        return self.flush() if all("notes" in row for row in self._rows) or self._size() > _MOST_HELD else []

    def flush(self) -> list[Fold]:
        """Return all calls, with the results that have arrived."""
        rows, self._rows = self._rows, []
        return [_fold(row) for row in rows]

    def _size(self) -> int:
        return sum(len(row["body"][0]) + len((row.get("result") or [""])[0]) for row in self._rows)


def _fold(row: dict[str, Any]) -> Fold:
    about = tuple(Inline(*span) for span in row["about"])
    result = (Code(*row["result"]),) if row.get("result") else ()
    return Fold(row["name"], about, tuple(row.get("notes", ())), (Code(*row["body"]), *result))


class Call(NamedTuple):
    """What a result needs of its call: name, what it was for, whether it may commit, its edits to files, its server."""

    name: str
    about: Line = ()
    commits: bool = False
    edits: tuple[tuple[str, int, int], ...] = ()
    server: str = ""

    @property
    def shown(self) -> str:
        """The name of its tool in a transcript."""
        return shown_name(self.name, self.server)


class OpenCallTable:
    """The calls whose results have not come yet, by id."""

    def __init__(self, rows: dict[str, list[Any]] | None = None) -> None:
        self._rows = rows or {}

    def state(self) -> dict[str, list[Any]]:
        """Return the calls as JSON."""
        return self._rows

    def add(self, call: str, known: Call) -> None:
        """Remember a call; of too many, the oldest are forgotten."""
        if 0 < len(call) <= LONGEST_NAME:
            row = [known.name, [[*span] for span in known.about], int(known.commits), [*known.edits]]
            self._rows[call] = [*row, known.server] if known.server else row
            if len(self._rows) > _MOST_KNOWN:
                del self._rows[next(iter(self._rows))]

    def take(self, call: str) -> Call | None:
        """Return the state of a call, and forget it."""
        row = self._rows.pop(call, None)
        if row is None:
            return None
        name, about, may_commit, edits, *server = row
        spans, edited = tuple(Inline(*span) for span in about), tuple((*edit,) for edit in edits)
        return Call(name, spans, bool(may_commit), edited, *server)


def shown_name(name: str, server: str = "") -> str:
    """Return how a tool is named: with its server, if it has one that its own name does not say."""
    if name.startswith(_MCP) and "__" in (rest := name.removeprefix(_MCP)):
        server, _, name = rest.partition("__")
    named = f"{server}: {name}" if server and server not in name else name
    return named[:_LONGEST_SHOWN] or "tool"


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
        return self._folded() if self._size > _MOST_WAITING or len(self._rows) >= _MOST_ROWS else []

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
