"""Cline: what is beside the messages of a session: its manifest, `<session>.json`, and the record of a compaction."""

from pathlib import Path
from typing import Any, Final

from katod.agents.beside import object_in
from katod.agents.fields import dict_of, text_of
from katod.agents.processes import has_open
from katod.metadata import SessionStart
from katod.states import Report, State

_LARGEST_SUMMARY: Final = 8 * 1024 * 1024  # a compaction keeps the messages that are left
_DATABASE: Final = Path("db", "sessions.db")
_PROGRAMS: Final = frozenset({"cline"})
_AT_REST: Final = ("idle", "completed", "failed")


def name_of(path: Path, _session: str) -> str:
    """Return the name of a session, given the path of its messages; empty if it has none."""
    return text_of(dict_of(manifest(path).get("metadata")).get("title"))


def reported(path: Path, _session: str, _start: SessionStart) -> Report | None:
    """Return that nobody works at a session, if its manifest says so; None if the messages have to tell.

    While the client is working, the manifest does not show open questions.
    """
    return Report(State.IDLE) if manifest(path).get("status") in _AT_REST else None


def runs(path: Path, _session: str, start: SessionStart) -> bool | None:
    """Return whether a client works in the session's folder: it has the database of sessions open (seen with 3.0.65).

    The hub, which goes on when its client has ended, has not.
    """
    return has_open(str(path.parents[2] / _DATABASE), _PROGRAMS, start.cwd)


def manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of the session whose messages are in a file, empty if it cannot be read."""
    return object_in(path.with_name(f"{path.parent.name}.json"))


def compacted_after(path: Path) -> tuple[str, str]:
    """Return the id of the message before the last compaction, and its time; empty if there was none."""
    row = object_in(path.with_name(f"{path.parent.name}.compaction.json"), _LARGEST_SUMMARY)
    key = text_of(row.get("source_last_message_key"))
    return (key.removeprefix("id:"), text_of(row.get("updated_at"))) if key.startswith("id:") else ("", "")
