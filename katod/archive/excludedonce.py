"""The projects of sessions that were not exported as these are excluded, in a private file of katod's state.

An agent may keep the project of a session in a file of its own, and lose it: then a session must not seem to have none.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, NamedTuple

from katod import durable
from katod.agents import AGENTS
from katod.model import SessionKey
from katod.smallfile import locked, read_small, write_small

NAME: Final = "excluded.json"
_FORGOTTEN: Final = "forgotten"  # no session is called that
_LARGEST: Final = 64 * 1024 * 1024


class ForgottenSessions(NamedTuple):
    """The sessions that were forgotten while they were excluded: hashes of their names, keyed with a random salt."""

    salt: str = ""
    hashes: frozenset[str] = frozenset()

    def has(self, key: SessionKey) -> bool:
        """Return whether a session is one of them."""
        return bool(self.hashes) and _hash(self.salt, str(key)) in self.hashes

    def row(self, more: Collection[str]) -> dict[str, Any]:
        """Return what is stored of them, with more of them by name; nothing if there are none."""
        salt = self.salt or token_hex(16)
        hashes = self.hashes.union(_hash(salt, name) for name in more)
        return {_FORGOTTEN: {"salt": salt, "sessions": sorted(hashes)}} if hashes else {}


def projects_excluded(state: Path) -> dict[str, str]:
    """Return the project of each session that was excluded once, by its name; none if they cannot be read."""
    return {key: cwd for key, cwd in _read(state).items() if isinstance(cwd, str)}


def sessions_excluded(state: Path) -> list[SessionKey]:
    """Return these sessions."""
    keys = map(_key, projects_excluded(state))
    return [key for key in keys if key.agent in AGENTS and key.id]


def forgotten_excluded(state: Path) -> ForgottenSessions:
    """Return the sessions that were forgotten while they were excluded."""
    try:
        row = _read(state)[_FORGOTTEN]
        salt, hashes = row["salt"], row["sessions"]
        is_sound = isinstance(salt, str) and 0 < len(salt.encode()) <= blake2b.MAX_KEY_SIZE
        return ForgottenSessions(salt, frozenset(map(str, hashes))) if is_sound else ForgottenSessions()
    except (KeyError, TypeError, ValueError):
        return ForgottenSessions()


def note_excluded(state: Path, found: Mapping[str, str]) -> None:
    """Add the projects of sessions. Raises OSError."""
    if found.items() <= projects_excluded(state).items():
        return
    durable.make_own_folder(state)
    with locked(state):
        _write(state, projects_excluded(state) | dict(found))


def forget_excluded(state: Path, keys: Iterable[SessionKey], excluded: Iterable[SessionKey] = ()) -> None:
    """Drop what is noted of sessions, and of their sub-agents, but for a hash that says that they were excluded.

    So are those that are `excluded` although nothing is noted of them. Raises OSError.
    """
    names, more = set(map(str, keys)), set(map(str, excluded))
    if not more and not any(_is_of(key, names) for key in projects_excluded(state)):
        return
    durable.make_own_folder(state)
    with locked(state):
        rest = projects_excluded(state)
        gone = {key for key in rest if _is_of(key, names)}
        _write(state, {key: cwd for key, cwd in rest.items() if key not in gone}, gone | more)


def _read(state: Path) -> dict[str, Any]:
    try:
        row = json.loads(read_small(state / NAME, _LARGEST, own=True))
    except (OSError, ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _write(state: Path, projects: dict[str, str], forgotten: Collection[str] = ()) -> None:
    row = projects | forgotten_excluded(state).row(forgotten)
    write_small(state / NAME, json.dumps(row).encode())


def _hash(salt: str, name: str) -> str:
    return blake2b(name.encode("utf-8", "replace"), key=salt.encode(), digest_size=16).hexdigest()


def _key(name: str) -> SessionKey:
    agent, _, rest = name.partition(":")
    session, _, subagent = rest.partition("/")
    return SessionKey(agent, session, subagent)


def _is_of(key: str, names: set[str]) -> bool:
    return key in names or key.rpartition("/")[0] in names
