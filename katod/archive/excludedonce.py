"""The projects of sessions that were not exported as these are excluded, in a private file of katod's state.

An agent may keep the project of a session in a file of its own, and lose it: then a session must not seem to have none.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from katod import durable
from katod.model import SessionKey
from katod.smallfile import locked, read_small, write_small

NAME: Final = "excluded.json"
_LARGEST: Final = 64 * 1024 * 1024


def projects_excluded(state: Path) -> dict[str, str]:
    """Return the project of each session that was excluded once, by its name; none if they cannot be read."""
    try:
        row = json.loads(read_small(state / NAME, _LARGEST, own=True))
    except (OSError, ValueError, RecursionError):
        return {}
    rows = row.items() if isinstance(row, dict) else ()
    return {key: cwd for key, cwd in rows if isinstance(cwd, str)}


def note_excluded(state: Path, found: Mapping[str, str]) -> None:
    """Add the projects of sessions. Raises OSError."""
    if found.items() <= projects_excluded(state).items():
        return
    durable.make_folders(state, 0o700)
    with locked(state):
        write_small(state / NAME, json.dumps(projects_excluded(state) | dict(found)).encode())


def forget_excluded(state: Path, keys: Iterable[SessionKey]) -> None:
    """Drop what is noted of sessions, and of their sub-agents. Raises OSError."""
    names = set(map(str, keys))
    if not any(_is_of(key, names) for key in projects_excluded(state)):
        return
    with locked(state):
        rest = {key: cwd for key, cwd in projects_excluded(state).items() if not _is_of(key, names)}
        write_small(state / NAME, json.dumps(rest).encode())


def _is_of(key: str, names: set[str]) -> bool:
    return key in names or key.rpartition("/")[0] in names
