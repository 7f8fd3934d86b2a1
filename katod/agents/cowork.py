"""Claude Cowork: Claude Code's records, whose folder is one of the client's own; the user's is beside them."""

from pathlib import Path
from typing import Any, Final

from katod.agents.base import Origin, State
from katod.agents.beside import object_in
from katod.agents.claude.adapter import ClaudeAdapter
from katod.agents.fields import list_of, text_of
from katod.events import Event
from katod.model import Record

_SESSION: Final = "local_"


class CoworkAdapter(ClaudeAdapter):
    """Translates the records of one Cowork session."""

    def __init__(self, origin: Origin, state: State | None = None) -> None:
        super().__init__(origin, state)
        self._folder = _folder_of(origin.path)

    def feed(self, record: Record) -> list[Event]:
        """Translate one record, as written in the folder that the user selected."""
        if self._folder and record.value is not None and "cwd" in record.value:
            record = record._replace(value=record.value | {"cwd": self._folder})
        return super().feed(record)


def name_of(path: Path, _session: str) -> str:
    """Return the name of a session, as `local_<id>.json` beside its folder says; empty if there is none."""
    return text_of(_described(path).get("title"))


def _folder_of(path: Path) -> str:
    """Return the first folder that the user selected."""
    return text_of(next(iter(list_of(_described(path).get("userSelectedFolders"))), ""))


def _described(path: Path) -> dict[str, Any]:
    """Return what `local_<id>.json` beside the session's folder says, given a file in it."""
    session = next((parent for parent in path.parents if parent.name.startswith(_SESSION)), None)
    return object_in(session.with_name(f"{session.name}.json")) if session else {}
