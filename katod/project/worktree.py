"""Git worktrees: the repository to which a linked worktree belongs.

The file `.git` of a worktree is the agent's to write, so it is believed only if the repository, which it names, points
back to it. A worktree that is gone is recognised by its place, where tools create them inside of a repository.
"""

import os
from pathlib import Path
from typing import Final

from katod.smallfile import read_small

_LARGEST: Final = 4096  # bytes of a file that has one path
_NAMES: Final = "gitdir: "
# Folders in which tools create worktrees, below the repository: `.claude/worktrees/NAME`, `.worktrees/NAME`.
_FOLDERS: Final = frozenset({"worktrees", ".worktrees"})


def repository_of(directory: str) -> str:
    """Return the directory of the repository that a directory in a worktree stands for, empty if there is none.

    A folder of the worktree is the same folder of the repository, whether that is there or not.
    """
    path = Path(directory)
    if not path.is_absolute() or "\0" in directory or ".." in path.parts:
        return ""
    try:
        return _found(path)
    except OSError:  # a folder above it is another user's, or a name is too long
        return ""


def _found(path: Path) -> str:
    for folder in (path, *path.parents):
        git = folder / ".git"
        if os.path.lexists(git):
            repository = _repository(folder, git) if git.is_file() else None  # in a repository, a folder: not opened
            return str(repository / path.relative_to(folder)) if repository else ""
        if folder.parent.name in _FOLDERS and not folder.exists():
            return _by_place(path, folder)
    return ""


def _repository(folder: Path, git: Path) -> Path | None:
    """Return the repository whose worktree a folder is, None if it is none, or the repository does not say so."""
    try:
        said = _one_line(git)
        if not said.startswith(_NAMES):
            return None
        administration = _real(folder / said[len(_NAMES) :])
        common = _real(administration / _one_line(administration / "commondir"))
        points_back = _real(administration / _one_line(administration / "gitdir")) == _real(folder) / ".git"
    except (OSError, ValueError):
        return None
    if administration.parent != common / "worktrees" or not points_back:
        return None
    return common.parent if common.name == ".git" else common


def _by_place(path: Path, folder: Path) -> str:
    """Return the repository in which a worktree was that is gone."""
    above = folder.parent.parent
    above = above.parent if above.name.startswith(".") else above
    return str(above / path.relative_to(folder)) if (above / ".git").is_dir() else ""


def _one_line(path: Path) -> str:
    """Return the only line of a small file of this user. Raises OSError, ValueError."""
    return read_small(path, _LARGEST, own=True).decode().removesuffix("\n")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
