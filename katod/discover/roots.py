"""Where the agents keep their sessions: the configuration, their environment variables, their defaults."""

import os
from dataclasses import dataclass
from pathlib import Path

from katod.config import Settings


@dataclass(frozen=True, slots=True)
class Root:
    """A directory of an agent; `folders` are those below it that hold sessions."""

    agent: str
    path: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders with session files; they need not exist yet."""
        names = ("projects",) if self.agent == "claude" else ("sessions", "archived_sessions")
        return tuple(self.path / name for name in names)


def find_roots(settings: Settings) -> list[Root]:
    """Return the roots of all agents that are switched on, each real path once."""
    roots: dict[Path, Root] = {}
    for agent, choice in settings.agents.items():
        if not choice.enabled:
            continue
        given = [Path(root).expanduser() for root in choice.roots]
        for path in given or _defaults(agent):
            real = Path(os.path.realpath(path))
            roots.setdefault(real, Root(agent, real))
    return list(roots.values())


def _defaults(agent: str) -> list[Path]:
    home = Path.home()
    if agent == "codex":
        return [Path(os.environ.get("CODEX_HOME") or home / ".codex").expanduser()]
    if named := os.environ.get("CLAUDE_CONFIG_DIR"):
        return [Path(named).expanduser()]
    return [home / ".claude", home / ".config" / "claude"]
