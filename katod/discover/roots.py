"""Where agents keep their sessions (the configuration, environment variables, defaults), and the sweep over them.

The sweep is one stat of each session file. It is authoritative; the watcher's hints only say where to look first.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Final

from katod.agents.spec import AgentSpec, Container
from katod.config import Settings
from katod.discover.folders import FolderLook
from katod.errors import SourceError
from katod.model import Identity, Stat, changed_ns, signed

_ANY: Final = "*"  # in the place of a folder's name, or of a part of it
_LIKE_SESSIONS: Final = (".jsonl", ".jsonl.zst")  # other files are found in any agent's folders
_ENOUGH: Final = 100
_MOST_FOLDERS: Final = 1000
_LINK: Final = "is a symbolic link, which katod does not follow: add its target to `agents.{}.roots`"


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
        return is_there(self.path)

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


def is_there(path: Path) -> bool:
    """Return whether there is something at a path; True where that cannot be told, as in a folder of somebody else."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


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


def sweep(root: Root, problems: dict[str, str], look: FolderLook | None = None) -> Iterator[tuple[str, Stat]]:
    """Yield every source below a root that may be a session, without those in folders that the `look` passes over.

    What cannot be read is added to `problems`.
    """
    if not root.is_there:
        return
    if root.spec.container is not None:
        found = sweep_folder(root.spec, str(root.path), problems, deep=False)
        yield from (item for item in found if item[0].startswith(root.prefix))
    for folder in root.folders:
        yield from sweep_folder(root.spec, str(folder), problems, deep=True, look=look)


def sweep_folder(
    spec: AgentSpec, folder: str, problems: dict[str, str], *, deep: bool, look: FolderLook | None = None
) -> Iterator[tuple[str, Stat]]:
    """Yield the sources in one folder, and in its subfolders if `deep`, that may be sessions.

    Links are not followed. Which session a file belongs to is not determined here: for ten thousand known files that
    would be most of the work.
    """
    pending = [folder]
    while pending:
        here = pending.pop()
        if look is not None and (known := look.pass_over(here)) is not None:
            pending += known
            continue
        failed = len(problems)
        found, below = _read(spec, here, problems)
        yield from found
        if deep:
            pending += below
        if look is not None:
            look.note(here, below, [stat.mtime_ns for _, stat in found], is_whole=len(problems) == failed)


def _read(spec: AgentSpec, folder: str, problems: dict[str, str]) -> tuple[list[tuple[str, Stat]], list[str]]:
    """Return the sources directly in a folder that may be sessions, and its subfolders."""
    found, below = list[tuple[str, Stat]](), list[str]()
    for entry in _entries(folder, problems):
        name = entry.name
        if not _has_a_name(entry.path):
            continue
        if name.endswith(spec.suffixes):
            own = _stat_of(entry)
            if own is not None:
                found.append((entry.path, spec.stat_of(entry.path, own)))
        elif spec.container is not None and name.endswith(spec.container.suffix):
            found += _sweep_container(spec, spec.container, entry, problems)
        elif name[0] != "." and _is_folder(entry):
            below.append(entry.path)
    return found, below


def strange_files(root: Root) -> int:
    """Return how many files in a root's folders look like sessions, up to a limit; for a root without any session."""
    walks = chain.from_iterable(os.walk(folder) for folder in root.folders)
    names = chain.from_iterable(files for _, _, files in islice(walks, _MOST_FOLDERS))
    return sum(1 for _ in islice((name for name in names if name.endswith(_LIKE_SESSIONS)), _ENOUGH))


def stat_source(spec: AgentSpec, path: str) -> tuple[Identity, Stat] | None:
    """Return the source at one path, None if it is not, or no longer, a session file."""
    identity = spec.identify(Path(path)) if _has_a_name(path) else None
    if identity is None:
        return None
    if spec.container is not None and spec.is_contained(path):
        here = dict(_sessions(spec.container, path.rpartition("#")[0], {}))
        return (identity, here[path]) if path in here else None
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (identity, spec.stat_of(path, _stat(status))) if _is_regular(status) else None


def _entries(folder: str, problems: dict[str, str]) -> list["os.DirEntry[str]"]:
    """Return the entries of a folder; none if it does not exist or cannot be read."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        problems[folder] = error.strerror or str(error)
        return []
    if entries and not os.access(folder, os.X_OK):  # its names can be read, but not its files
        problems[folder] = os.strerror(errno.EACCES)
        return []
    return entries


def _sweep_container(
    spec: AgentSpec, container: Container, entry: "os.DirEntry[str]", problems: dict[str, str]
) -> Iterator[tuple[str, Stat]]:
    if _stat_of(entry) is not None:
        yield from _sessions(container, entry.path, problems)
    elif entry.is_symlink():
        problems[entry.path] = _LINK.format(spec.name)


def _sessions(container: Container, path: str, problems: dict[str, str]) -> Iterator[tuple[str, Stat]]:
    try:
        yield from container.sessions(path)
    except SourceError as error:
        problems[path] = error.what
    except OSError as error:
        problems[path] = error.strerror or str(error)


def _stat_of(entry: "os.DirEntry[str]") -> Stat | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return _stat(status) if _is_regular(status) else None


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _has_a_name(path: str) -> bool:
    """Return whether a path is valid text: agents use ASCII names, and the ledger stores only text."""
    return path.isascii() or path.isprintable()


def _is_regular(status: os.stat_result) -> bool:
    return (status.st_mode & 0o170000) == 0o100000


def _stat(status: os.stat_result) -> Stat:
    return Stat(status.st_size, changed_ns(status), signed(status.st_dev), signed(status.st_ino))
