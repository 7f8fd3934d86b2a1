"""The calls of a transcript that wait: for their results, or to be printed together with them. Pure."""

from typing import Any, Final, NamedTuple

from katod.formats.transcript.content import Code, Fold, Inline, Line
from katod.model import LONGEST_NAME

_MCP: Final = "mcp__"  # `mcp__server__tool`, in most agents
_MOST_KNOWN: Final = 256
_MOST_HELD: Final = 64 * 1024  # characters
_LONGEST_SHOWN: Final = 120


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
