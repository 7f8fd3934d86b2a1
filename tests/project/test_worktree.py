"""To which repository a directory belongs that is a worktree of it."""

import os
import shutil

import pytest

from katod.record.policy import repository_of
from tests.support.worktrees import add_worktree, make_repository


@pytest.fixture
def repository(tmp_path):
    """Return a repository."""
    return make_repository(tmp_path / "shop")


@pytest.mark.parametrize("below", ["", "src/deep"])
def test_a_worktree_is_the_same_place_in_its_repository(repository, tmp_path, below):
    """Wherever the worktree is, and whether the folder below it exists in the repository."""
    worktree = add_worktree(repository, tmp_path / "elsewhere" / "feature")
    assert repository_of(str(worktree / below)) == str(repository / below)


def test_a_worktree_that_is_named_by_a_relative_path_is_recognised(repository):
    """As git writes it with `worktree.useRelativePaths`."""
    worktree = add_worktree(repository, repository / ".claude/worktrees/feature", relative=True)
    assert repository_of(str(worktree)) == str(repository)


def test_a_worktree_of_a_bare_repository_belongs_to_it(tmp_path):
    """A bare repository has no directory of its own to work in: it is the project."""
    bare = make_repository(tmp_path / "shop.git", bare=True)
    assert repository_of(str(add_worktree(bare, tmp_path / "main"))) == str(bare)


def test_a_worktree_reached_through_a_link_is_recognised(repository, tmp_path):
    """The repository names it without links."""
    add_worktree(repository, tmp_path / "real" / "feature")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert repository_of(str(tmp_path / "link" / "feature")) == str(repository)


def test_what_is_no_worktree_has_no_repository_beside_it(repository, tmp_path):
    """A repository itself, a submodule, a plain directory, and what is not even a path."""
    submodule = repository / "lib"
    submodule.mkdir()
    (repository / ".git/modules/lib").mkdir(parents=True)
    (submodule / ".git").write_text("gitdir: ../.git/modules/lib\n")
    for place in (repository, repository / "src", submodule, tmp_path, "relative", "", "a\0b"):
        assert repository_of(str(place)) == ""


@pytest.mark.parametrize("how", ["another", "nobody", "link", "large", "folder", "elsewhere"])
def test_a_file_that_the_repository_does_not_confirm_is_not_believed(repository, tmp_path, how):
    """An agent may write the file in its own directory, but not what the repository says."""
    worktree = add_worktree(repository, tmp_path / "feature")
    forged = tmp_path / "forged"
    forged.mkdir()
    git, administration = forged / ".git", repository / ".git/worktrees/feature"
    if how == "another":  # the entry of another worktree
        shutil.copy(worktree / ".git", git)
    elif how == "nobody":
        git.write_text(f"gitdir: {repository}/.git/worktrees/none\n")
    elif how == "link":
        git.symlink_to(worktree / ".git")
    elif how == "large":
        git.write_text((worktree / ".git").read_text() + "\n" * 5000)
        (administration / "gitdir").write_text(f"{git}\n")
    elif how == "folder":
        os.mkfifo(git)
    else:  # an administration of its own making that names somebody else's repository
        own = tmp_path / "own"
        own.mkdir()
        (own / "gitdir").write_text(f"{git}\n")
        (own / "commondir").write_text(f"{repository}/.git\n")
        git.write_text(f"gitdir: {own}\n")
    assert repository_of(str(forged)) == ""


@pytest.mark.parametrize("place", [".claude/worktrees/feature", ".worktrees/feature", "worktrees/feature"])
def test_a_worktree_that_is_gone_is_recognised_by_its_place(repository, place):
    """Where tools create them inside of the repository, as long as nothing else is there now."""
    assert repository_of(str(repository / place / "src")) == str(repository / "src")
    (repository / place).mkdir(parents=True)
    assert repository_of(str(repository / place)) == ""


def test_a_path_that_steps_up_is_not_followed(repository):
    """It names another place than it seems to."""
    assert repository_of(str(repository / "worktrees/x/../../../other")) == ""
