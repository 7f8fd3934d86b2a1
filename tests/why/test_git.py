"""Repositories of others: their past is read, and nothing of theirs runs."""

import os
import subprocess
from pathlib import Path

import pytest

from katod import gitcommand
from katod.errors import GitError
from katod.gitcommand import git_program
from katod.why import git as module
from katod.why.git import FileVersion, Repository

_GIT = ("git", "-c", "user.name=me", "-c", "user.email=me@localhost", "-c", "commit.gpgsign=false")


def git(folder, *arguments, day=1):
    """Run git in a folder, on a day of January 2026; return what it prints."""
    time = f"2026-01-{day:02}T00:00:00Z"
    when = os.environ | {"GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time}
    done = subprocess.run([*_GIT, *arguments], cwd=folder, env=when, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def folder(tmp_path):
    """Return a repository with two versions of a file, of which the second has another name."""
    root = tmp_path / "a folder"
    (root / "src").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "src" / "old.py").write_text("one line\nand another\nand a third\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    git(root, "mv", "src/old.py", "src/größe.py", day=2)
    (root / "src" / "größe.py").write_text("one line\nand another\nand a fourth\n")
    git(root, "commit", "-qam", "second", day=2)
    return root


def test_a_file_is_known_under_its_earlier_names(folder):
    """The oldest version first, each with its content and its time."""
    repository = Repository.around(folder / "src")
    versions = repository.versions("src/größe.py")
    assert [(version.name, version.time) for version in versions] == [
        ("src/old.py", 1767225600),
        ("src/größe.py", 1767312000),
    ]
    assert [content.splitlines()[2] for content in repository.contents(versions)] == [b"and a third", b"and a fourth"]


def test_what_no_commit_has_is_empty(folder):
    """A file that is not tracked, a repository without commits, a name that is none."""
    repository = Repository(folder)
    assert repository.versions("none.py") == []
    assert list(repository.contents([FileVersion("HEAD", 0, "none.py"), FileVersion("HEAD", 0, "a\nb")])) == [
        None,
        None,
    ]
    (folder / "empty").mkdir()
    git(folder / "empty", "init", "-q")
    assert Repository(folder / "empty").versions("a.py") == []


def test_there_is_no_repository_around_most_folders(tmp_path):
    """And then git is not even asked."""
    assert Repository.around(tmp_path) is None


def test_a_commit_is_named_or_refused(folder):
    """What begins like an option is none."""
    repository = Repository(folder)
    assert repository.commit("main") == git(folder, "rev-parse", "HEAD")
    for name in ("nothing", "--output=/tmp/x", "", "^HEAD"):
        with pytest.raises(GitError, match="no commit is called"):
            repository.commit(name)
    assert repository.added("main") == {"src/größe.py": [3]}
    assert repository.added(git(folder, "rev-parse", "HEAD~1")) == {"src/old.py": [1, 2, 3]}


def test_work_trees_are_of_the_same_repository(folder, tmp_path):
    """An agent may have worked in another one."""
    git(folder, "worktree", "add", "-q", str(tmp_path / "other"))
    assert Repository(folder).roots == [str(folder), str(tmp_path / "other")]


@pytest.mark.fault("repository that runs something")
def test_nothing_of_a_repository_runs(folder, tmp_path):
    """Whatever its configuration and its hooks name, and whatever its attributes say."""
    trap, ran = tmp_path / "trap", tmp_path / "ran"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\nexit 0\n')
    trap.chmod(0o755)
    settings = (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.gitProxy", "diff.external",
        "core.alternateRefsCommand", "pager.log", "pager.diff-tree", "diff.x.textconv", "diff.x.command", "filter.x.clean",
        "filter.x.smudge", "filter.x.process", "gpg.program", "gpg.ssh.program", "credential.helper", "sequence.editor",
        "uploadpack.packObjectsHook", "alias.log", "alias.cat-file", "interactive.diffFilter", "remote.origin.vcs",
        "remote.origin.uploadpack", "submodule.x.update", "man.x.cmd", "browser.x.cmd", "merge.x.driver",
    )  # fmt: skip
    for setting in settings:
        git(folder, "config", setting, f"!{trap}" if setting.startswith(("alias", "submodule")) else str(trap))
    for setting, value in (("log.showSignature", "true"), ("core.hooksPath", str(tmp_path)), ("core.untrackedCache", "true"),
                           ("extensions.partialClone", "origin"), ("remote.origin.url", f"ext::{trap}"), ("diff.ignoreSubmodules", "none"),
                           ("remote.origin.promisor", "true"), ("log.mailmap", "true"), ("core.attributesFile", str(folder / "att"))):  # fmt: skip
        git(folder, "config", setting, value)
    (folder / ".gitattributes").write_text("* diff=x filter=x merge=x\n")
    (folder / "att").write_text("* diff=x filter=x\n")
    for hook in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "pre-auto-gc"):
        (tmp_path / hook).write_bytes(trap.read_bytes())
        (tmp_path / hook).chmod(0o755)
    ran.unlink(missing_ok=True)
    repository = Repository.around(folder / "src")
    versions = repository.versions("src/größe.py")
    assert len(list(repository.contents([*versions, FileVersion("0" * 40, 0, "gone")]))) == 3
    assert repository.added(repository.commit("HEAD")) == {"src/größe.py": [3]}
    assert repository.roots
    assert not ran.exists(), ran.read_text()


def test_git_is_taken_from_absolute_folders_only(tmp_path, monkeypatch):
    """A project's own `git` is not run because someone has `.` in the path."""
    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    git_program.cache_clear()
    assert Path(git_program()).is_absolute()
    git_program.cache_clear()


def test_what_git_refuses_or_does_not_say_in_time_is_one_line(folder, monkeypatch):
    """With the reason that it gives."""
    repository = Repository(folder)
    with pytest.raises(GitError, match="`git diff-tree`: "):
        repository.added("nothing")
    slow = folder.parent / "git"
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    monkeypatch.setattr(gitcommand, "_PATIENCE", 0.05)
    monkeypatch.setattr(gitcommand, "git_program", lambda: str(slow))
    with pytest.raises(GitError, match="takes longer"):
        repository.added("HEAD")
    slow.chmod(0o644)
    with pytest.raises(GitError, match="cannot be run"):
        repository.added("HEAD")
    monkeypatch.setattr(gitcommand, "git_program", lambda: None)
    monkeypatch.setattr(module, "git_program", lambda: None)
    for ask in (lambda: Repository.around(folder), lambda: repository.commit("HEAD")):
        with pytest.raises(GitError, match="is not installed"):
            ask()


def test_an_answer_that_is_too_long_is_refused_not_cut(folder, monkeypatch):
    """What is cut would be shown as all there is."""
    monkeypatch.setattr(gitcommand, "_MOST", 10)
    with pytest.raises(GitError, match="answers with more than"):
        Repository(folder).added("HEAD")


def test_a_version_that_is_too_large_is_passed_over(folder, monkeypatch):
    """And the ones after it are read."""
    (folder / "src" / "größe.py").write_text("x" * 200_000)
    git(folder, "commit", "-qam", "large", day=3)
    (folder / "src" / "größe.py").write_text("small again\n")
    git(folder, "commit", "-qam", "small", day=4)
    monkeypatch.setattr(module, "LARGEST", 100_000)
    repository = Repository(folder)
    versions = repository.versions("src/größe.py")
    assert [content and len(content) for content in repository.contents(versions)] == [33, 34, None, 12]


@pytest.mark.parametrize("name", ["\x01", "a\x01b", "\nname", "M", "D", "0" * 40 + " 1", "x missing", "a blob 3"])
def test_any_name_is_that_of_a_file(folder, name):
    """However much it looks like what git prints; one with a line break has no contents that can be asked for."""
    (folder / name).write_text("one\n")
    git(folder, "add", ".", day=3)
    git(folder, "commit", "-qm", "named", day=3)
    (folder / name).unlink()
    git(folder, "commit", "-qam", "deleted", day=4)
    repository = Repository(folder)
    versions = repository.versions(name)
    assert [(version.name, version.is_there) for version in versions] == [(name, True), (name, False)]
    assert list(repository.contents(versions)) == [None if "\n" in name else b"one\n", None]


@pytest.mark.parametrize("name", ['b"q.py', "c\td.py", "e\\f.py", "größe 2.py", "end ", "a\u2028b"])
def test_the_added_lines_of_a_commit_are_those_of_each_file(folder, name):
    """Whatever it is called, and whatever stands before it."""
    (folder / "a.py").write_text("first\n")
    (folder / name).write_text("one\ntwo\n")
    (folder / "zz").write_bytes(b"\0")
    git(folder, "add", ".", day=3)
    git(folder, "commit", "-qm", "named", day=3)
    found = {name: lines for name, lines in Repository(folder).added("HEAD").items() if lines}
    assert found == {"a.py": [1], name: [1, 2]}


def test_settings_of_a_repository_hide_nothing(folder):
    """Such as the first commit."""
    for setting in ("log.showRoot=false", "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.renames=false", "log.date=raw",
                    "diff.orderFile=/nowhere", "color.ui=always", "log.decorate=full", "format.pretty=oneline", "diff.context=5"):  # fmt: skip
        git(folder, "config", *setting.split("="))
    repository = Repository(folder)
    assert [version.name for version in repository.versions("src/größe.py")] == ["src/old.py", "src/größe.py"]
    assert repository.added(repository.commit("HEAD")) == {"src/größe.py": [3]}


def test_a_commit_without_a_time_is_the_oldest(folder):
    """Such a commit is damaged, and still one."""
    text = git(folder, "cat-file", "commit", "HEAD").replace("1767312000 +0000", "")
    made = subprocess.run(["git", "hash-object", "--literally", "-t", "commit", "-w", "--stdin"], cwd=folder,
                          input=f"{text}\n".encode(), check=True, capture_output=True).stdout.decode().strip()  # fmt: skip
    assert [version.time for version in Repository(folder).versions("src/größe.py", made)] == [1767225600, 0]


def test_a_folder_that_is_gone_was_in_the_repository(folder):
    """What it had can still be asked for."""
    assert Repository.around(folder / "gone" / "deep").root == folder
