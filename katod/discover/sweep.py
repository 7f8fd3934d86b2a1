"""The sweep: one stat of each session file. It is the truth; hints of the watcher only say where to look first."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from katod.discover.database import sessions
from katod.discover.identity import IN_DATABASE, SUFFIXES, identify
from katod.discover.roots import Root
from katod.discover.storage import changed
from katod.errors import SourceError
from katod.model import Identity, Stat


def sweep(root: Root, problems: dict[str, str]) -> Iterator[tuple[str, Stat]]:
    """Yield every file below a root that may hold a session. `problems` gains the folders that cannot be read."""
    if root.has_databases:
        found = sweep_folder(root.agent, str(root.path), problems, deep=False)
        mine = str(root.path / root.database) + "#" if root.database else ""
        yield from (item for item in found if item[0].startswith(mine))
    for folder in root.folders:
        yield from sweep_folder(root.agent, str(folder), problems, deep=True)


def sweep_folder(agent: str, folder: str, problems: dict[str, str], *, deep: bool) -> Iterator[tuple[str, Stat]]:
    """Yield the files of one folder that may hold sessions, and of those below it if `deep`.

    Links are not followed. Whose session a file holds is not asked here: for ten thousand known files that
    would be most of the work.
    """
    pending, suffixes = [folder], SUFFIXES[agent]
    while pending:
        current = pending.pop()
        try:
            entries = list(os.scandir(current))
        except FileNotFoundError:
            continue
        except OSError as error:
            problems[current] = error.strerror or str(error)
            continue
        if entries and not os.access(current, os.X_OK):  # its names can be read, what they stand for cannot
            problems[current] = os.strerror(errno.EACCES)
            continue
        for entry in entries:
            name = entry.name
            if name.endswith(".db"):
                if ".db" in suffixes and _stat_of(entry) is not None:
                    yield from _sweep_database(entry.path, problems)
                elif ".db" in suffixes and entry.is_symlink():
                    problems[entry.path] = (
                        "is a symbolic link, which katod does not follow: add its target to `agents.opencode.roots`"
                    )
            elif name.endswith(suffixes):
                found = _stat_of(entry)
                if found is not None:
                    yield entry.path, changed(entry.path, found) if agent == "opencode" else found
            elif deep and name[0] != "." and _is_folder(entry):
                pending.append(entry.path)


def _sweep_database(path: str, problems: dict[str, str]) -> Iterator[tuple[str, Stat]]:
    try:
        yield from sessions(path)
    except SourceError as error:
        problems[path] = error.what
    except OSError as error:
        problems[path] = error.strerror or str(error)


def look(agent: str, path: str) -> tuple[Identity, Stat] | None:
    """Return what one path is now, None when it is no session file (any more)."""
    identity = identify(agent, Path(path)) if _has_a_name(path) else None
    if identity is None:
        return None
    if IN_DATABASE in path:
        here = dict(_sweep_database(path.rpartition("#")[0], {}))
        return (identity, here[path]) if path in here else None
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not _is_regular(status):
        return None
    return identity, changed(path, _stat(status)) if agent == "opencode" else _stat(status)


def _stat_of(entry: "os.DirEntry[str]") -> Stat | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return _stat(status) if _is_regular(status) and _has_a_name(entry.path) else None


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _has_a_name(path: str) -> bool:
    """Say whether a path is text: agents name their files in ASCII, and the ledger holds text only."""
    return path.isascii() or path.isprintable()


def _is_regular(status: os.stat_result) -> bool:
    return (status.st_mode & 0o170000) == 0o100000


def _stat(status: os.stat_result) -> Stat:
    return Stat(status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)
