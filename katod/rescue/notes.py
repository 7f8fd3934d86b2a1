"""What `katod status` and the next process know of saving sessions: a file in the state directory, renewed by changes.

It has why sessions cannot be saved, and when those last changed that were saved, but went on since.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from katod.model import SessionKey
from katod.smallfile import read_small, write_small

NAME: Final = "rescue.json"
_LARGEST: Final = 1024 * 1024
_MOST: Final = 500


class RescueNotes:
    """The daemon's end of the file."""

    def __init__(self, state: Path) -> None:
        self._state = state
        found = _read(state)
        self._problems, self._changed = _texts(found.get("problems")), _numbers(found.get("changed"))
        self._stored = (dict(self._problems), dict(self._changed))

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

    def changed_ns(self, key: SessionKey) -> int:
        """Return when a session last changed that went on after it was saved; 0 if it did not."""
        return self._changed.get(str(key), 0)

    def set_changed(self, key: SessionKey, changed_ns: int) -> None:
        """Note when a saved session last changed; 0 if that is in its copy."""
        if changed_ns:
            self._changed[str(key)] = changed_ns
        else:
            self._changed.pop(str(key), None)

    def forget(self, keys: Collection[SessionKey]) -> None:
        """Forget these sessions."""
        for key in keys:
            self.clear(str(key))
            self.set_changed(key, 0)

    def store(self) -> None:
        """Write the file if anything changed. What cannot be written is lost with this process; the log has it."""
        if (self._problems, self._changed) == self._stored:
            return
        self._stored = (dict(self._problems), dict(self._changed))
        row = {"problems": dict(list(self._problems.items())[-_MOST:]), "changed": self._changed}
        with suppress(OSError):
            write_small(self._state / NAME, orjson.dumps(row))


def problems(state: Path) -> dict[str, str]:
    """Return why sessions cannot be saved, by session, agent or file; nothing if there is no file."""
    return _texts(_read(state).get("problems"))


def _read(state: Path) -> dict[str, Any]:
    try:
        found = orjson.loads(read_small(state / NAME, _LARGEST, own=True))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _texts(row: Any) -> dict[str, str]:
    return {str(name): str(text) for name, text in row.items()} if isinstance(row, dict) else {}


def _numbers(row: Any) -> dict[str, int]:
    return {str(name): int(number) for name, number in row.items()} if isinstance(row, dict) else {}
