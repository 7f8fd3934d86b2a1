"""Where agents keep their sessions: the configuration, environment variables, defaults."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from katod.agents.spec import AgentSpec
from katod.config import Settings


@dataclass(frozen=True, slots=True)
class Root:
    """A directory of an agent; `folders` are the subfolders that contain sessions."""

    spec: AgentSpec
    path: Path
    database: str = ""  # the only container to read, in a folder that is not the agent's own

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.spec.name

    @property
    def prefix(self) -> str:
        """What the paths of its sources begin with, unlike those of any other root in the same folder."""
        return f"{self.path}/{self.database}#" if self.database else f"{self.path}/"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders with session files, at any depth; they need not exist yet."""
        return () if self.database else tuple(self.path / name for name in self.spec.folders)


def find_roots(settings: Settings, agents: Mapping[str, AgentSpec]) -> list[Root]:
    """Return the roots of all enabled agents, each real path once."""
    roots: dict[Path, Root] = {}
    for name, choice in settings.agents.items():
        spec = agents[name]
        given = [Path(root).expanduser() for root in choice.roots]
        for path in (given or spec.roots()) if choice.enabled else ():
            root = _root(spec, Path(os.path.realpath(path)))
            roots.setdefault(root.path / root.database, root)
    return list(roots.values())


def _root(spec: AgentSpec, real: Path) -> Root:
    return Root(spec, real.parent, real.name) if spec.is_container(real.name) else Root(spec, real)
