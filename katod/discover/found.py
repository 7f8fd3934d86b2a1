"""The sessions on disk, for commands that list or examine them: found by a sweep, without a ledger."""

from collections.abc import Callable, Iterable, Mapping
from io import BufferedReader
from pathlib import Path
from types import MappingProxyType
from typing import Final

from katod.agents import AGENTS
from katod.agents.guard import failures
from katod.discover.roots import Root, strange_files, sweep
from katod.model import Identity, SessionKey, Stat
from katod.store.rows import OutputRow, PersonalRow

STRANGE: Final = "has files that look like sessions"
_TOO_OLD: Final = "{} ({}), but none that katod knows: katod may be too old for this agent"


class FoundSession:
    """One session as found on disk: its files, oldest change first, and what is `said` of it by the user.

    `outputs` are its recordings, if somebody noted them, and `unread` the ids of those whose files cannot be read now.
    """

    def __init__(self, key: SessionKey, said: PersonalRow | None = None) -> None:
        self.key = key
        self.said = said or PersonalRow(key)
        self.outputs: tuple[OutputRow, ...] = ()
        self.unread: frozenset[int] = frozenset()
        self.files: list[tuple[str, Identity, Stat]] = []

    @property
    def exported(self) -> Callable[[], BufferedReader] | None:
        """What opens its events, as katod exported them; None for a session whose files are those of its agent."""
        return None

    def note(self, output: OutputRow, *, is_unread: bool = False) -> None:
        """Note a recording of it."""
        self.outputs = (*self.outputs, output)
        if is_unread:
            self.unread |= {output.id}

    @property
    def changed_ns(self) -> int:
        """When one of its files last changed (ns)."""
        return max(stat.mtime_ns for _, _, stat in self.files)

    @property
    def size(self) -> int:
        """The total size of its files in bytes, 0 if they are parts of a database."""
        is_contained = any(AGENTS[self.key.agent].is_container(path.partition("#")[0]) for path, _, _ in self.files)
        return 0 if is_contained else sum(stat.size for _, _, stat in self.files)


def find_sessions(
    roots: Iterable[Root], problems: dict[str, str], said: Mapping[SessionKey, PersonalRow] = MappingProxyType({})
) -> dict[SessionKey, FoundSession]:
    """Return every session below these roots, with what is `said` of it by the user.

    What cannot be read or is not understood is added to `problems`.
    """
    sessions: dict[SessionKey, FoundSession] = {}
    for root in roots:
        understood = False
        for path, stat in sweep(root, problems):
            identity = root.spec.identify(Path(path))
            if identity is not None:
                understood = True
                key = identity.key
                sessions.setdefault(key, FoundSession(key, said.get(key))).files.append((path, identity, stat))
        _note_strange(root, problems, understood=understood)
    for session in sessions.values():
        session.files.sort(key=lambda file: (file[2].mtime_ns, file[0]))
    return sessions


def look_at_roots(roots: Iterable[Root], problems: dict[str, str]) -> None:
    """Add to `problems` what cannot be read or is not understood below these roots; cheaper than `find_sessions`."""
    for root in roots:
        understood = False
        for path, _ in sweep(root, problems):
            understood |= root.spec.identify(Path(path)) is not None
        _note_strange(root, problems, understood=understood)


def _note_strange(root: Root, problems: dict[str, str], *, understood: bool) -> None:
    """Note what of a root katod failed at, and one that has files like sessions, but none that is understood."""
    problems |= failures(root.prefix)
    closed = any(Path(path).is_relative_to(root.path) for path in problems)
    if not understood and not closed and (strange := strange_files(root)):
        problems[str(root.path)] = _TOO_OLD.format(STRANGE, strange)
