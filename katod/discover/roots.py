"""Where agents keep their sessions: the configuration, environment variables, defaults."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from katod.agents.spec import AgentSpec
from katod.config import Settings

_ANY: Final = "*"  # in the place of a folder's name, or of a part of it


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
    def is_there(self) -> bool:
        """Whether the directory exists, as far as that can be told: if it does not, nothing below it is looked for."""
        try:
            os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders with session files, at any depth; they need not exist yet."""
        return (
            () if self.database else tuple(found for name in self.spec.folders for found in _matching(self.path, name))
        )

    @property
    def above(self) -> tuple[Path, ...]:
        """The folders in which such a folder may appear, where a part of its path may have any name."""
        patterns = [] if self.database else [name for name in self.spec.folders if _ANY in name]
        return tuple(
            dict.fromkeys(
                found for name in patterns for start in _starts(name) for found in _matching(self.path, start)
            )
        )


def _matching(base: Path, pattern: str) -> list[Path]:
    """Return the folders that a path with `*` for names fits; without it, the path, whether or not it exists."""
    found = [base]
    for part in pattern.split("/"):
        found = [folder for one in found for folder in (_subfolders(one, part) if _ANY in part else [one / part])]
    return found


def _subfolders(folder: Path, pattern: str) -> list[Path]:
    """Return the subfolders whose name fits; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if fnmatchcase(name, pattern)]


def _starts(pattern: str) -> list[str]:
    """Return what a path with `*` begins with, without its last part: `a`, `a/*` of `a/*/b`."""
    parts = pattern.split("/")
    first = next(n for n, part in enumerate(parts) if _ANY in part)
    return ["/".join(parts[:n]) for n in range(first, len(parts))]


def find_roots(settings: Settings, agents: Mapping[str, AgentSpec]) -> list[Root]:
    """Return the roots of all enabled agents, each real path once."""
    roots: dict[Path, Root] = {}
    real: dict[str, str] = {}
    for name, choice in settings.agents.items():
        spec = agents[name]
        given = [Path(root).expanduser() for root in choice.roots]
        for path in (given or spec.roots()) if choice.enabled else ():
            root = _root(spec, Path(_real_path(str(path), real)))
            roots.setdefault(root.path / root.database, root)
    return list(roots.values())


def _root(spec: AgentSpec, real: Path) -> Root:
    return Root(spec, real.parent, real.name) if spec.is_container(real.name) else Root(spec, real)


def _real_path(path: str, known: dict[str, str]) -> str:
    """Return what `os.path.realpath` returns, and look at each folder once for all that are in it."""
    names, above = list[str](), path
    while above not in known:
        is_first = os.path.dirname(above) == above
        if is_first or "/.." in path or not os.path.isabs(path) or os.path.islink(above):
            known[above] = os.path.realpath(above)
        else:
            above, name = os.path.split(above)
            names.append(name)
    for name in reversed(names):
        known[above := os.path.join(above, name)] = os.path.join(known[above], name)
    return known[path]
