"""What `katod status` and the next process know of saving sessions: a file in the state directory."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from katod.model import SessionKey
from katod.smallfile import read_small, write_small

NAME: Final = "rescue.json"
_LARGEST: Final = 4 * 1024 * 1024
_MOST: Final = 500


class CopyState(NamedTuple):
    """What was seen of a saved session since: when it last changed (ns; 0: not since), since when it is missing.

    A copy that is `kept` goes only when it is forgotten or too old: the agent deleted the session, or it was put back.
    """

    changed_ns: int = 0
    missing: str = ""
    kept: bool = False


class RescueNotes:
    """The daemon's end of the file: problems, states of copies, and the days on which katod ran."""

    def __init__(self, state: Path) -> None:
        self._state = state
        found = _read(state)
        self._problems = _texts(found.get("problems"))
        self._copies = _states(found.get("copies"))
        self._days: int = found.get("days", 0) if isinstance(found.get("days"), int) else 0
        self._date = str(found.get("date", ""))
        self.was_made = found.get("made") is True  # whether there ever was a folder of copies
        self._stored = self._row()

    def note_made(self) -> None:
        """Note that there is a folder of copies."""
        self.was_made = True

    def begin_at(self, day: int, date: str) -> None:
        """Count on from a day that a copy names if none was counted: the file may have been lost.

        Otherwise the copy may be another machine's, which counts its own days.
        """
        if not self._days:
            self._days, self._date = day, date

    def count_day(self, date: str) -> int:
        """Return how many days katod ran, with this one."""
        if date != self._date:
            self._days, self._date = self._days + 1, date
        return self._days

    def set_looked(self, found: Mapping[str, str], due: Collection[str]) -> None:
        """Take the problems that a whole look found; of those of saving, those of sessions that are still due stay."""
        self._problems = {name: what for name, what in self._problems.items() if name in due} | dict(found)

    def add(self, name: str, problem: str) -> None:
        """Note what is wrong with a session, or as a whole."""
        self._problems[name] = problem

    def clear(self, *names: str) -> None:
        """Forget the problems of a session that was saved, or need not be, or of a file."""
        for name in names:
            self._problems.pop(name, None)

    def clear_all(self) -> None:
        """Forget all problems: nothing is saved any more."""
        self._problems.clear()

    def of(self, key: SessionKey) -> CopyState:
        """Return what was seen of a saved session."""
        return self._copies.get(str(key), CopyState())

    def set(self, key: SessionKey, state: CopyState) -> None:
        """Note what was seen of a saved session."""
        if state == CopyState():
            self._copies.pop(str(key), None)
        else:
            self._copies[str(key)] = state

    def forget(self, keys: Collection[SessionKey]) -> None:
        """Forget these sessions."""
        for key in keys:
            self.clear(str(key))
            self.set(key, CopyState())

    def store(self) -> None:
        """Write the file if anything changed. What cannot be written is lost with this process; the log has it."""
        row = self._row()
        if row != self._stored:
            self._stored = row
            with suppress(OSError):
                write_small(self._state / NAME, orjson.dumps(row))

    def _row(self) -> dict[str, Any]:
        copies = {name: [*state] for name, state in self._copies.items()}
        problems = dict(list(self._problems.items())[-_MOST:])
        return {"problems": problems, "copies": copies, "days": self._days, "date": self._date, "made": self.was_made}


def problems(state: Path) -> dict[str, str]:
    """Return why sessions cannot be saved, by session, agent or file; nothing if there is no file."""
    return _texts(_read(state).get("problems"))


def _read(state: Path) -> dict[str, Any]:
    if not (path := state / NAME).exists():  # most have none: nothing is opened for it
        return {}
    try:
        found = orjson.loads(read_small(path, _LARGEST, own=True))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _texts(row: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in row.items()} if isinstance(row, dict) else {}


def _states(row: Any) -> dict[str, CopyState]:
    """Return what was seen of copies; what another version of katod wrote is left out."""
    states: dict[str, CopyState] = {}
    for name, one in row.items() if isinstance(row, dict) else ():
        with suppress(ValueError, TypeError, IndexError):
            states[str(name)] = CopyState(int(one[0]), str(one[1]), bool(one[2]))
    return states
