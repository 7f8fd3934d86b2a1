"""The sweep: one stat of each session file. It is authoritative; the watcher's hints only say where to look first."""

import errno
import os
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from katod.agents.spec import AgentSpec, Container
from katod.discover.roots import Root
from katod.errors import SourceError
from katod.model import Identity, Stat, signed

_LIKE_SESSIONS: Final = (".jsonl", ".jsonl.zst")  # other files are found in any agent's folders
_ENOUGH: Final = 100
_MOST_FOLDERS: Final = 1000
_LINK: Final = "is a symbolic link, which katod does not follow: add its target to `agents.{}.roots`"


def sweep(root: Root, problems: dict[str, str]) -> Iterator[tuple[str, Stat]]:
    """Yield every source below a root that may be a session. What cannot be read is added to `problems`."""
    if not root.is_there:
        return
    if root.spec.container is not None:
        found = sweep_folder(root.spec, str(root.path), problems, deep=False)
        yield from (item for item in found if item[0].startswith(root.prefix))
    for folder in root.folders:
        yield from sweep_folder(root.spec, str(folder), problems, deep=True)


def sweep_folder(spec: AgentSpec, folder: str, problems: dict[str, str], *, deep: bool) -> Iterator[tuple[str, Stat]]:
    """Yield the sources in one folder, and in its subfolders if `deep`, that may be sessions.

    Links are not followed. Which session a file belongs to is not determined here: for ten thousand known files that
    would be most of the work.
    """
    pending = [folder]
    while pending:
        for entry in filter(_is_nameable, _entries(pending.pop(), problems)):
            name = entry.name
            if name.endswith(spec.suffixes):
                own = _stat_of(entry)
                if own is not None:
                    yield entry.path, spec.stat_of(entry.path, own)
            elif spec.container is not None and name.endswith(spec.container.suffix):
                yield from _sweep_container(spec, spec.container, entry, problems)
            elif deep and name[0] != "." and _is_folder(entry):
                pending.append(entry.path)


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


def _is_nameable(entry: "os.DirEntry[str]") -> bool:
    return _has_a_name(entry.path)


def _is_regular(status: os.stat_result) -> bool:
    return (status.st_mode & 0o170000) == 0o100000


def _stat(status: os.stat_result) -> Stat:
    return Stat(status.st_size, status.st_mtime_ns, signed(status.st_dev), signed(status.st_ino))
