"""Recording in a worktree: it belongs to the project of its repository, also after it is gone."""

import shutil

import pytest

from katod.project.allowed import Allowed
from katod.project.form import NAME
from tests.support.records import Claude
from tests.support.worktrees import add_worktree, make_repository


@pytest.fixture
def repository(world):
    """Return a repository."""
    return make_repository(world.home / "shop")


@pytest.fixture
def worktree(world, repository):
    """Return a worktree of it, outside of it."""
    return add_worktree(repository, world.home / "trees" / "feature")


def talk(world, folder, typed, number=1):
    """Have a session in a directory."""
    session = f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11"
    make = Claude(world, session, folder=f"-in-{number}", cwd=str(folder))
    make.append(make.user(typed), make.says("yes"))
    world.once()
    return make


def remove(repository, worktree):
    """Remove a worktree, as `git worktree remove` does."""
    shutil.rmtree(worktree)
    shutil.rmtree(repository / ".git/worktrees" / worktree.name)


def test_its_transcripts_are_in_the_folder_of_its_repository(world, repository, worktree):
    """As those of a session in the repository are; a path that is typed stays in the session's own directory."""
    talk(world, repository, "::start one")
    talk(world, worktree, "::start two", 2)
    talk(world, worktree, "::start docs/three", 3)
    assert sorted(world.written()) == ["one.md", "two.md"]
    assert {path.parent for path in world.files()} == {world.out / "shop"}
    assert [row.path for row in world.outputs()][-1] == worktree / "docs/three.md"


def test_it_stays_there_when_the_worktree_is_gone(world, repository, worktree):
    """What is recorded or exported of the session later, is beside what was recorded before."""
    make = talk(world, worktree, "::start one")
    remove(repository, worktree)
    make.append(make.user("::capture two"), make.says("again"))
    world.once()
    assert {path.parent for path in world.files()} == {world.out / "shop"}
    world.cli("export", "--all", "-o", str(world.home / "all"))
    assert [path.name for path in (world.home / "all").iterdir() if path.is_dir()] == ["shop"]


@pytest.mark.parametrize("glob", ["shop", "trees/*", "trees/feature"])
@pytest.mark.parametrize("is_gone", [False, True])
def test_it_is_excluded_with_its_repository_or_alone(world, repository, worktree, glob, is_gone):
    """If a glob matches either, nothing is recorded, and what was begun ends, whether the worktree is there or not."""
    make = talk(world, worktree, "::start one\nfirst words")
    if is_gone:
        remove(repository, worktree)
    world.configure(exclude=[str(world.home / glob)])
    make.append(make.user("::start two\nsecret words"))
    world.once()
    assert list(world.written()) == ["one.md"]
    assert "secret" not in str(world.written())
    assert not any(row.open for row in world.outputs())


def test_it_is_recorded_where_its_repository_is(world, repository, worktree):
    """A glob of projects that are auto-recorded that matches the repository matches its worktrees."""
    world.configure(auto=[str(repository)])
    talk(world, worktree, "just words")
    assert len(world.written()) == 1


def test_the_file_of_its_repository_excludes_it(world, repository, worktree):
    """If that is allowed; one in the worktree, which nobody allowed, takes nothing back."""
    path = repository / NAME
    path.write_text("[recording]\nexclude = true\n")
    Allowed(world.state).allow(path, path.read_bytes())
    (worktree / NAME).write_text("[recording]\nexclude = false\n")
    talk(world, worktree, "::start one\nwords")
    assert world.written() == {}


def test_a_forged_file_puts_nothing_into_the_folder_of_another_project(world, repository, worktree):
    """The repository does not know of it."""
    forged = world.home / "forged"
    forged.mkdir()
    shutil.copy(worktree / ".git", forged / ".git")
    talk(world, forged, "::start one")
    assert {path.parent for path in world.files()} == {world.out / "forged"}


def test_what_is_forgotten_leaves_no_trace_of_its_worktree(world, repository, worktree):
    """Neither the directory nor its repository is in the ledger afterwards."""
    talk(world, worktree, "::start one")
    world.cli("forget", "00000001", "--yes", "--outputs")
    ledger = (world.state / "ledger.db").read_bytes()
    assert b"trees/feature" not in ledger
    assert str(repository).encode() not in ledger


@pytest.mark.parametrize("auto", [False, True])
def test_a_worktree_that_was_always_excluded_stays_so_when_it_is_gone(world, repository, worktree, auto):
    """Nothing of it was ever recorded: it is known because it was looked at."""
    world.configure(exclude=[str(repository)], auto=auto)
    make = talk(world, worktree, "::start one\nfirst words")
    remove(repository, worktree)
    make.append(make.user("::start two\nsecret words"))
    world.once()
    talk(world, worktree, "::start three\nmore secret words", 2)
    assert world.written() == {}
    assert "excluded 2" in world.cli("export", "--all", "-o", str(world.home / "all"))


def test_a_folder_that_cannot_be_looked_at_is_a_project_like_any_other(world, repository):
    """A name that no system has, as in a session from elsewhere, does not refuse a command."""
    talk(world, repository / "worktrees" / ("a" * 300), "::start one")
    assert len(world.written()) == 1
