"""Where the agents keep their sessions: the configuration, their environment variables, their defaults."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from katod.config import Settings

# The folders below a root that hold sessions.
_FOLDERS: Final = {
    "claude": ("projects",),
    "codex": ("sessions", "archived_sessions"),
    "gemini": ("tmp",),
    "opencode": ("storage/session", "project"),
    "cursor": ("projects",),
    "zot": ("sessions",),
    "copilot": ("session-state", "history-session-state"),
    "pi": ("sessions",),
}


@dataclass(frozen=True, slots=True)
class Root:
    """A directory of an agent; `folders` are those below it that hold sessions."""

    agent: str
    path: Path
    database: str = ""  # the one file that counts in a folder that is not the agent's own

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders with session files, at any depth; they need not exist yet."""
        return () if self.database else tuple(self.path / name for name in _FOLDERS[self.agent])

    @property
    def has_databases(self) -> bool:
        """Say whether the root itself holds databases with sessions."""
        return self.agent == "opencode"


def find_roots(settings: Settings) -> list[Root]:
    """Return the roots of all agents that are switched on, each real path once."""
    roots: dict[Path, Root] = {}
    for agent, choice in settings.agents.items():
        if not choice.enabled:
            continue
        given = [Path(root).expanduser() for root in choice.roots]
        for path in given or _DEFAULTS[agent]():
            real = Path(os.path.realpath(path))
            alone = real.suffix == ".db"
            roots.setdefault(real, Root(agent, real.parent, real.name) if alone else Root(agent, real))
    return list(roots.values())


def _named(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None


def _claude() -> list[Path]:
    named = _named("CLAUDE_CONFIG_DIR")
    return [named] if named else [Path.home() / ".claude", Path.home() / ".config" / "claude"]


def _gemini() -> list[Path]:
    """`GEMINI_CLI_HOME` takes the place of the home directory."""
    return [(_named("GEMINI_CLI_HOME") or Path.home()) / ".gemini"]


def _opencode() -> list[Path]:
    """The data directory; `OPENCODE_DB` may name a database elsewhere."""
    data = (_named("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "opencode"
    named = _named("OPENCODE_DB")
    elsewhere = named is not None and named.suffix == ".db" and (data / named).parent != data
    return [data, data / named] if named and elsewhere else [data]


def _zot() -> list[Path]:
    if named := _named("ZOT_HOME"):
        return [named]
    if sys.platform == "darwin":
        return [Path.home() / "Library" / "Application Support" / "zot"]
    return [(_named("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "zot"]


_DEFAULTS: Final[dict[str, Callable[[], list[Path]]]] = {
    "claude": _claude,
    "codex": lambda: [_named("CODEX_HOME") or Path.home() / ".codex"],
    "gemini": _gemini,
    "opencode": _opencode,
    "cursor": lambda: [_named("CURSOR_DATA_DIR") or Path.home() / ".cursor"],
    "zot": _zot,
    "copilot": lambda: [_named("COPILOT_HOME") or Path.home() / ".copilot"],
    "pi": lambda: [_named("PI_CODING_AGENT_DIR") or Path.home() / ".pi" / "agent"],
}
