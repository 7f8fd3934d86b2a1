"""What all commands share: settings, state directory, ledger, the meaning of SESSION."""

import os
from pathlib import Path

from katod import config
from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import Root, find_roots
from katod.discover.sweep import strange_files, sweep
from katod.errors import LedgerError, SelectionError
from katod.log import EventLog
from katod.model import Identity, SessionKey, Stat
from katod.store.ledger import Ledger


class Found:
    """One session as found on disk: its files, oldest change first."""

    def __init__(self, key: SessionKey) -> None:
        self.key = key
        self.files: list[tuple[str, Identity, Stat]] = []

    @property
    def changed_ns(self) -> int:
        """When one of its files last changed (ns)."""
        return max(stat.mtime_ns for _, _, stat in self.files)

    @property
    def size(self) -> int:
        """The total size of its files in bytes."""
        return sum(stat.size for _, _, stat in self.files)


_STRANGE = "has files that look like sessions ({}), but none that katod knows: katod may be too old for this agent"


class Context:
    """What the commands need: settings, paths, the ledger, the sessions on disk."""

    def __init__(self, given: Path | None) -> None:
        self._given = given
        self.log = EventLog()
        self.problems: dict[str, str] = {}  # folders that could not be read

    @property
    def config_path(self) -> Path:
        """The path of the configuration file."""
        return config.config_path(self._given)

    @property
    def is_named(self) -> bool:
        """Whether the user named the configuration file: then it has to exist."""
        return self._given is not None or bool(os.environ.get("KATOD_CONFIG"))

    @property
    def settings(self) -> Settings:
        """The settings. Raises ConfigError, including when a named file does not exist."""
        return config.load(self.config_path, required=self.is_named)

    @property
    def state(self) -> Path:
        """The state directory."""
        return config.state_path()

    def roots(self) -> list[Root]:
        """Return the agents' roots."""
        return find_roots(self.settings, AGENTS)

    def ledger(self) -> Ledger | None:
        """Return the ledger, opened for reading; None if katod never ran."""
        return Ledger.read(self.state)

    def found(self) -> dict[SessionKey, Found]:
        """Return every session on disk."""
        sessions: dict[SessionKey, Found] = {}
        self.problems = {}
        for root in self.roots():
            understood = False
            for path, stat in sweep(root, self.problems):
                identity = root.spec.identify(Path(path))
                if identity is not None:
                    understood = True
                    sessions.setdefault(identity.key, Found(identity.key)).files.append((path, identity, stat))
            closed = any(Path(path).is_relative_to(root.path) for path in self.problems)
            if not understood and not closed and (strange := strange_files(root)):
                self.problems[str(root.path)] = _STRANGE.format(strange)
        for session in sessions.values():
            session.files.sort(key=lambda file: (file[2].mtime_ns, file[0]))
        return sessions

    def select(self, text: str) -> Found:
        """Return the session that `text` selects: an id, a unique prefix, `agent:prefix`, or `latest`.

        Raises SelectionError if it selects none or more than one.
        """
        sessions = self.found()
        main = [session for session in sessions.values() if not session.key.subagent]
        if text == "latest":
            if not main:
                raise SelectionError("no sessions found", hint="check `agents.<name>.roots` in the configuration")
            return max(main, key=lambda session: session.changed_ns)
        chosen = _best([session for session in sessions.values() if _matches(session.key, text)], text)
        if len(chosen) == 1:
            return chosen[0]
        if not chosen:
            closed = "".join(f"; {folder}: {problem}" for folder, problem in self.problems.items())
            raise SelectionError(f"no session matches {text!r}{closed}", hint="run `katod sessions` to list them")
        some = ", ".join(str(session.key) for session in chosen[:3]) + (", …" if len(chosen) > 3 else "")
        raise SelectionError(f"{len(chosen)} sessions match {text!r}: {some}", hint="type more of the id")

    def select_recorded(self, text: str, *, to_stop: bool) -> SessionKey:
        """Return what `select` does, or a session that is being recorded although its files no longer exist.

        Of several that match, the only one that is being recorded is the one `to_stop`.
        """
        try:
            return self.select(text).key
        except SelectionError:
            recorded = [key for key in self._recorded() if _matches(key, text)]
            is_meant = to_stop or not any(_matches(key, text) for key in self.found())
            if len(recorded) != 1 or not is_meant:
                raise
            return recorded[0]

    def _recorded(self) -> list[SessionKey]:
        """Return the sessions that are being recorded, none if the ledger cannot be read."""
        try:
            ledger = self.ledger()
        except LedgerError:
            return []
        if ledger is None:
            return []
        try:
            return [ledger.session(row.session).key for row in ledger.outputs() if row.open]
        finally:
            ledger.close()

    def is_recorded(self, key: SessionKey) -> bool:
        """Return whether a session is being recorded, False if the ledger cannot be read."""
        return key in self._recorded()


def _best(matches: list[Found], text: str) -> list[Found]:
    """Return the best matches: whole ids before prefixes, sessions before their sub-agents."""
    exact = [session for session in matches if text in (session.key.id, str(session.key))]
    best = exact or matches
    return [session for session in best if not session.key.subagent] or best


def _matches(key: SessionKey, text: str) -> bool:
    agent, colon, prefix = text.partition(":")
    if not colon:
        agent, prefix = key.agent, text
    session, slash, subagent = prefix.partition("/")
    if agent != key.agent:
        return False
    if slash:
        return key.id.startswith(session) and bool(key.subagent) and key.subagent.startswith(subagent)
    spec = AGENTS[key.agent]
    return spec.matches_id(key.id, prefix) or (bool(key.subagent) and key.subagent.startswith(prefix))
