"""Repositories and worktrees with the files by which git knows them."""

import os
from pathlib import Path


def make_repository(folder: Path, *, bare: bool = False) -> Path:
    """Create what is needed of a repository."""
    (folder if bare else folder / ".git").mkdir(parents=True)
    return folder


def add_worktree(repository: Path, folder: Path, *, relative: bool = False) -> Path:
    """Create a worktree, as `git worktree add` does."""
    common = repository / ".git" if (repository / ".git").is_dir() else repository
    administration = common / "worktrees" / folder.name
    administration.mkdir(parents=True)
    folder.mkdir(parents=True)
    there, back = str(administration), str(folder / ".git")
    if relative:
        there, back = os.path.relpath(there, folder), os.path.relpath(back, administration)
    (folder / ".git").write_text(f"gitdir: {there}\n")
    (administration / "commondir").write_text("../..\n")
    (administration / "gitdir").write_text(f"{back}\n")
    return folder
