"""The sessions in the picker: those that match what was typed, and the selected one. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from katod.discover.found import FoundSession
from katod.model import SessionKey

_DATE: Final = 10  # characters
Row = Mapping[str, Any]


class Shown(NamedTuple):
    """The rows that fit, which of them is marked, and how many match."""

    rows: list[Row]
    at: int
    matching: int


class Choices:
    """Sessions, newest first. `describe` opens one: it returns its row, None if nothing was said in it.

    Those that are shown are opened at once, all others one by one with `open_next`; until then the filter knows the id.
    """

    def __init__(
        self,
        sessions: Sequence[FoundSession],
        describe: Callable[[FoundSession], Row | None],
        marked: FoundSession | None = None,
    ) -> None:
        self._sessions = list(sessions)
        self._describe = describe
        self._rows: dict[SessionKey, Row | None] = {}
        self._texts = {one.key: _text({"agent": one.key.agent, "session": one.key.id}) for one in sessions}
        self._words = ""
        self._first = marked
        self._marked = marked
        self._unopened = self._sessions[::-1]

    @property
    def words(self) -> str:
        """What was typed."""
        return self._words

    def filter_by(self, words: str) -> None:
        """Match the sessions with these words alone; without any, all."""
        self._words = words
        self._marked = None if words else self._first

    @property
    def marked(self) -> FoundSession | None:
        """The session that is marked, None if none matches."""
        matching = self._matching()
        return matching[self._at(matching)] if matching else None

    def move(self, by: int) -> None:
        """Mark the session so many rows further down, or the last one."""
        if matching := self._matching():
            self._marked = matching[max(0, min(len(matching) - 1, self._at(matching) + by))]

    def open_next(self) -> bool:
        """Open the newest session that was not opened yet; return whether there was one."""
        if not self._unopened:
            return False
        self._open(self._unopened.pop())
        return True

    @property
    def unopened(self) -> int:
        """How many sessions are still to be opened."""
        return len(self._unopened)

    def shown(self, most: int) -> Shown:
        """Return up to so many rows around the marked one."""
        while True:
            matching = self._matching()
            at = self._at(matching)
            begin = max(0, min(at - most // 2, len(matching) - most))
            around = matching[begin : begin + most]
            rows = [row for found in around if (row := self._open(found)) is not None]
            if len(rows) == len(around):  # else some turned out to be empty: others take their places
                return Shown(rows, at - begin, len(matching))

    def _matching(self) -> list[FoundSession]:
        words = self._words.casefold().split()
        return [one for one in self._sessions if all(word in self._texts[one.key] for word in words)]

    def _at(self, matching: list[FoundSession]) -> int:
        return next((number for number, one in enumerate(matching) if one is self._marked), 0)

    def _open(self, found: FoundSession) -> Row | None:
        if found.key not in self._rows:
            row = self._rows[found.key] = self._describe(found)
            if row is None:
                self._sessions.remove(found)
            else:
                self._texts[found.key] = _text(row)
        return self._rows[found.key]


def _text(row: Row) -> str:
    """Return what the words of a filter are looked for in."""
    said = [str(row.get(name, "")) for name in ("agent", "session", "project", "title")]
    return " ".join([*said, str(row.get("last", ""))[:_DATE]]).casefold()
