"""A commit of what was exported: katod's files alone, and nothing of the repository's own runs."""

import os
import re
import shutil
import subprocess

import pytest

from katod.archive import commit as commits
from katod.archive.commit import ArchiveRepository
from katod.archive.manifest import INDEX, MANIFEST, Manifest
from tests.archive.merges import play
from tests.looping import each
from tests.support.machines import Machine
from tests.support.records import says, user
from tests.support.world import CUT, in_new_process

WHO = {"GIT_AUTHOR_NAME": "me", "GIT_AUTHOR_EMAIL": "me@localhost", "GIT_COMMITTER_NAME": "me", "GIT_COMMITTER_EMAIL": "me@localhost"}  # fmt: skip


def git(folder, *arguments, check=True):
    """Return what git prints in a folder, with no configuration but that of the repository."""
    nobody = {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | WHO | nobody, capture_output=True, text=True, check=check
    )
    return done.stdout


def commit(machine, *options, code=0):
    return machine.cli("export", "--all", "-f", "markdown", "-o", str(machine.shared), "--commit", *options, code=code)


def committed(machine, *, revision="HEAD"):
    """Return the files that a commit has changed."""
    return set(git(machine.shared, "show", "--name-only", "--format=", revision).split())


@pytest.fixture
def laptop(tmp_path, monkeypatch):
    """Return a machine with a session, and a repository for what it shares."""
    for name, value in (WHO | {"GIT_CONFIG_NOSYSTEM": "1"}).items():
        monkeypatch.setenv(name, value)
    laptop = Machine("laptop", tmp_path)
    laptop.variables |= {"XDG_CONFIG_HOME": str(laptop.home)}
    laptop.talk = laptop.claude().say(user("the lantern"), says("It is blue."))
    laptop.shared.mkdir()
    git(laptop.shared, "init", "-q", "-b", "main")
    return laptop


def test_a_run_makes_one_commit_and_none_if_nothing_changed(laptop):
    """Of the exports and their list; the message says what was done."""
    assert commit(laptop).splitlines()[-1].startswith("committed 2 files to main: ")
    [transcript] = [path.relative_to(laptop.shared) for path in laptop.part.rglob("*.md")]
    assert committed(laptop) == {str(transcript), f"{laptop.part.name}/{MANIFEST}"}
    assert git(laptop.shared, "log", "--format=%s") == "katod: laptop: wrote 1\n"
    assert commit(laptop) == "unchanged 1\n"
    laptop.talk.say(user("and the basket"), says("It is red."))
    laptop.session(2).say(user("words"), says("more"))
    commit(laptop)
    assert git(laptop.shared, "log", "--format=%s").splitlines()[0] == "katod: laptop: wrote 1, updated 1"
    assert git(laptop.shared, "status", "--porcelain") == ""


def test_what_is_taken_back_is_committed_under_the_earlier_name_of_a_machine(laptop):
    """The list of its earlier part says then that nothing was recorded, and others pull that; no other file goes."""
    laptop.talk.say(user("::start\nit is private"), says("I see."))
    laptop.once()
    commit(laptop)
    earlier = f"{laptop.part.name}/{MANIFEST}"
    assert "recorded" in git(laptop.shared, "show", f"HEAD:{earlier}")
    laptop.name = "notebook"
    laptop.configure()
    [row] = laptop.outputs()
    row.path.unlink()
    said = commit(laptop).splitlines()
    assert [line.partition(":")[0] for line in said[1:]] == [
        f"committed 1 file of {earlier.partition('/')[0]} to main", "committed 2 files to main",
    ]  # fmt: skip
    assert git(laptop.shared, "status", "--porcelain") == ""
    assert "recorded" not in git(laptop.shared, "show", f"HEAD:{earlier}")
    assert commit(laptop) == "unchanged 1\n"
    assert git(laptop.shared, "log", "--format=%s").splitlines() == [
        "katod: notebook: wrote 1", "katod: laptop: update", "katod: laptop: wrote 1",
    ]  # fmt: skip


@pytest.mark.parametrize("before", [0, 1])
def test_of_an_earlier_name_only_what_was_committed_before_is_committed(laptop, before):
    """A file that was exported without `--commit` is not, nor is a whole part of which nothing was."""
    laptop.talk.say(user("::start\nit is private"), says("I see."))
    laptop.once()
    commit(laptop) if before else laptop.share()
    laptop.session(2).say(user("words"), says("more"))
    laptop.share()
    earlier = laptop.part.name
    laptop.name = "notebook"
    laptop.configure()
    [row] = laptop.outputs()
    row.path.unlink()
    said = commit(laptop)
    assert said.count("committed") == 1 + before
    assert sum(name.startswith(earlier) for name in committed_in(laptop)) == 2 * before
    assert b'"recorded"' not in (laptop.shared / earlier / MANIFEST).read_bytes()
    if before:
        found = Manifest.read(git(laptop.shared, "show", f"HEAD:{earlier}/{MANIFEST}").encode())
        assert {f"{earlier}/{name}" for name in found.names()} < {*committed_in(laptop)}
        assert not any(entry.recorded.parts for entry in found.entries.values())


def test_nothing_that_was_exported_without_a_commit_is_committed_under_an_earlier_name(laptop):
    """Neither words that were added to a known file, nor the line of a new one; nothing is said of it, either."""
    commit(laptop)
    laptop.talk.say(user("not for git"), says("I see."))
    laptop.session(2).say(user("nor are these words"), says("No."))
    laptop.cli("export", "--all", "-o", str(laptop.shared))
    before = git(laptop.shared, "log", "--format=%H")
    laptop.name = "notebook"
    laptop.configure(**{"recording.exclude": [laptop.talk.cwd]})
    (laptop.shared / ".git" / "MERGE_HEAD").write_text("")
    commit(laptop, code=1)
    assert "may still mark" not in laptop.said
    (laptop.shared / ".git" / "MERGE_HEAD").unlink()
    assert "laptop" not in commit(laptop)
    assert not re.search(
        "not for git|nor are these", git(laptop.shared, "log", "-p", "--format=", f"{before.strip()}..")
    )


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_was_forgotten_is_gone_under_the_earlier_name_of_a_machine(laptop, is_committed):
    """File, line and the row of the index; an index that has more than was committed is removed."""
    laptop.session(2).say(user("words"), says("more"))
    laptop.once()
    page = ("export", "--all", "-f", "html", "-o", str(laptop.shared))
    laptop.cli(*page, "--commit")
    earlier = laptop.part.name
    laptop.session(3).say(user("a third one"), says("more"))
    laptop.cli(*page, *["--commit"] * is_committed)
    laptop.name = "notebook"
    laptop.configure()
    laptop.cli("forget", "00000002", "--outputs", "--yes")
    laptop.session(2).path.unlink()
    assert f" of {earlier} to main" in laptop.cli(*page, "--commit")
    there = [name for name in committed_in(laptop) if name.startswith(earlier)]
    assert not any("00000002" in name for name in there)
    assert any("00000003" in name for name in there) == is_committed
    listed = git(laptop.shared, "show", f"HEAD:{earlier}/{MANIFEST}")
    assert "00000002" not in listed
    assert (f"{earlier}/index.html" in there) == ('"index.html"' in listed) == is_committed
    if is_committed:
        assert "00000002" not in git(laptop.shared, "show", f"HEAD:{earlier}/index.html")
        assert git(laptop.shared, "status", "--porcelain") == ""
    assert "committed" not in laptop.cli(*page, "--commit")


@pytest.mark.parametrize("is_renamed", [True, False])
def test_what_was_forgotten_is_gone_although_another_file_has_the_place_of_a_copy(laptop, is_renamed):
    """A session may have several copies. What is in the place of one stays there, and as it was committed."""
    commit(laptop)
    laptop.talk.rewrite(lambda number, _: number < 1)
    laptop.talk.say(user("another one"), says("I see."))
    commit(laptop)
    first, second = sorted(laptop.part.rglob("*.md"), key=lambda path: path.name.endswith("-2.md"))
    laptop.session(2).say(user("words"), says("more"))
    if is_renamed:
        laptop.name = "notebook"
        laptop.configure()
    first.write_text("my own notes")
    laptop.cli("forget", laptop.talk.session, "--outputs", "--yes", code=1)
    laptop.talk.path.unlink()
    commit(laptop)
    there = [laptop.shared / name for name in committed_in(laptop)]
    assert second not in there
    assert first in there
    assert first.read_text() == "my own notes"
    assert laptop.talk.session not in git(laptop.shared, "show", f"HEAD:{first.parents[1].name}/{MANIFEST}")


@pytest.mark.parametrize("is_renamed", [True, False])
def test_what_was_forgotten_is_gone_although_its_person_changed_one_of_its_pages(laptop, is_renamed):
    """Pages do not say whose they are: the changed one stays, and as it was committed; no list names the session."""
    page = ("export", "--all", "-f", "html", "-o", str(laptop.shared), "--commit")
    laptop.cli(*page)
    laptop.talk.rewrite(lambda number, _: number < 1)
    laptop.talk.say(user("another one"), says("I see."))
    laptop.cli(*page)
    pages = [path for path in laptop.part.rglob("*.html") if path.name != INDEX]
    first, second = sorted(pages, key=lambda path: path.name.endswith("-2.html"))
    laptop.session(2).say(user("words"), says("more"))
    if is_renamed:
        laptop.name = "notebook"
        laptop.configure()
    first.write_bytes(first.read_bytes() + b"<!-- my note -->\n")
    laptop.cli("forget", laptop.talk.session, "--outputs", "--yes", code=1)
    laptop.talk.path.unlink()
    laptop.cli(*page)
    there = [laptop.shared / name for name in committed_in(laptop)]
    assert second not in there
    assert first in there
    assert first.read_bytes().endswith(b"<!-- my note -->\n")
    assert laptop.talk.session not in git(laptop.shared, "show", f"HEAD:{first.parents[1].name}/{MANIFEST}")


def test_each_file_that_is_gone_goes_although_another_one_of_its_session_stays(laptop):
    """The list of an earlier name lost its line: what is there of the session may still be wanted."""
    commit(laptop)
    laptop.talk.rewrite(lambda number, _: number < 1)
    laptop.talk.say(user("another one"), says("I see."))
    commit(laptop)
    first, second = sorted(laptop.part.rglob("*.md"), key=lambda path: path.name.endswith("-2.md"))
    listed = laptop.part / MANIFEST
    laptop.name = "notebook"
    laptop.configure()
    lines = listed.read_bytes().splitlines(keepends=True)
    listed.write_bytes(b"".join(b"damaged\n" if laptop.talk.session.encode() in line else line for line in lines))
    second.unlink()
    commit(laptop)
    there = [laptop.shared / name for name in committed_in(laptop)]
    assert second not in there
    assert first in there
    found = Manifest.read(git(laptop.shared, "show", f"HEAD:{first.parents[1].name}/{MANIFEST}").encode())
    assert found.names() == {f"{first.parent.name}/{first.name}"}


def test_a_picture_is_gone_with_its_transcript_although_a_page_of_the_session_stays(laptop):
    """A page has its pictures in it: what is beside it by its name is the transcript's. A list was damaged once."""
    make, picture = laptop.session(2), {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    make.append(make.user([{"type": "image", "source": picture}, {"type": "text", "text": "look"}]), make.says("nice"))
    exports = [("export", "--all", "-f", form, "-o", str(laptop.shared), "--commit") for form in ("markdown", "html")]
    for export in exports:
        laptop.cli(*export)
    assert any(".assets/" in name for name in committed_in(laptop))
    [page] = [path for path in laptop.part.rglob("*.html") if path.stem.endswith(make.session[:8])]
    page.write_bytes(page.read_bytes() + b"<!-- my note -->\n")
    (laptop.part / f"{MANIFEST.removesuffix('.jsonl')}.damaged-1.jsonl").write_bytes(b"damaged\n")
    laptop.name = "notebook"
    laptop.configure()
    laptop.cli("forget", make.session, "--outputs", "--yes", code=1)
    make.path.unlink()
    for export in exports:
        laptop.cli(*export)
    assert [name for name in committed_in(laptop) if make.session[:8] in name and not name.endswith(".html")] == []


def committed_in(machine):
    """Return the names of all files in the last commit, whichever part they are in."""
    return git(machine.shared, "ls-tree", "-r", "--name-only", "HEAD").splitlines()


def test_nothing_else_is_committed_whatever_is_staged(laptop):
    """What a person staged stays staged; what is not katod's stays as it is."""
    (laptop.shared / "notes.txt").write_text("mine")
    (laptop.part / "app").mkdir(parents=True)
    (laptop.part / "app" / "own.md").write_text("mine, too")
    git(laptop.shared, "add", "notes.txt", f"{laptop.part.name}/app/own.md")
    commit(laptop)
    assert not any("notes" in name or "own" in name for name in committed(laptop))
    assert git(laptop.shared, "status", "--porcelain").splitlines() == [
        f"A  {laptop.part.name}/app/own.md",
        "A  notes.txt",
    ]


def test_what_a_person_changed_is_left_to_them(laptop):
    """Their own text is not in a commit of katod's."""
    commit(laptop)
    [transcript] = laptop.part.rglob("*.md")
    transcript.write_text(f"{transcript.read_text()}my own note\n")
    laptop.talk.say(user("and the basket"), says("It is red."))
    commit(laptop)
    assert "my own note" not in git(laptop.shared, "log", "-p")


def test_what_a_person_changed_is_left_to_them_whichever_format_is_exported(laptop):
    """Also what this run did not look at, and files that they put beside an export."""
    laptop.talk.say(user("look"))
    laptop.cli("export", "--all", "-o", str(laptop.shared))
    [transcript] = laptop.part.rglob("*.md")
    transcript.write_text(f"{transcript.read_text()}my own note\n")
    beside = transcript.parent / f"{transcript.stem}.assets"
    beside.mkdir()
    for name in (".env", "passwords.txt", "0123456789abcdef.png"):
        (beside / name).write_text("my secret")
    laptop.cli("export", "--all", "-f", "jsonl", "-o", str(laptop.shared), "--commit")
    assert not re.search("my own note|my secret", git(laptop.shared, "log", "-p"))
    assert len(committed(laptop)) == 2


def test_what_changes_while_it_is_committed_is_left_for_the_next_run(laptop, monkeypatch):
    """A file is compared with what katod wrote as it is given to git."""
    real = ArchiveRepository._require_no_filter

    def change(repository, names):
        real(repository, names)
        [transcript] = laptop.part.rglob("*.md")
        transcript.write_text("my own words")

    with monkeypatch.context() as patch:
        patch.setattr(ArchiveRepository, "_require_no_filter", change)
        commit(laptop, code=1)
    assert "was changed meanwhile, so nothing was committed" in laptop.said
    assert git(laptop.shared, "log", "--format=%s", check=False) == ""


def test_a_list_that_did_not_change_is_not_committed_again(laptop):
    """Nor anything else, whatever became of the work tree meanwhile."""
    commit(laptop)
    first = git(laptop.shared, "rev-parse", "HEAD")
    assert "committed" not in commit(laptop)
    assert git(laptop.shared, "rev-parse", "HEAD") == first


def test_a_repository_within_the_folder_changes_nothing(laptop):
    """Exports are committed to the one that the folder is in."""
    commit(laptop)
    [transcript] = laptop.part.rglob("*.md")
    git(transcript.parent, "init", "-q")
    laptop.talk.say(user("and the basket"), says("It is red."))
    assert "committed 2 files" in commit(laptop)


def test_a_mark_that_leads_to_another_repository_is_not_followed(laptop, tmp_path):
    """A file called `.git` may come with the folder; that of a work tree of its own repository is one."""
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    git(other, "commit", "-q", "--allow-empty", "-m", "mine")
    shutil.rmtree(laptop.shared / ".git")
    (laptop.shared / ".git").write_text(f"gitdir: {other / '.git'}\n")
    commit(laptop, code=1)
    assert "is in the work tree of a repository that is elsewhere" in laptop.said
    assert git(other, "log", "--format=%s") == "mine\n"
    (laptop.shared / ".git").unlink()
    shutil.rmtree(laptop.part, ignore_errors=True)
    laptop.shared.rmdir()
    git(other, "worktree", "add", "-q", str(laptop.shared))
    assert "committed 2 files to shared" in commit(laptop)


def test_what_git_says_is_passed_on(laptop):
    """A damaged configuration is no missing repository."""
    (laptop.shared / ".git" / "config").write_text("[half\n")
    commit(laptop, code=1)
    assert "bad config" in laptop.said
    assert not laptop.part.exists()


def test_what_was_forgotten_is_gone_with_the_next_commit(laptop):
    """With its list; the history of a repository is its person's."""
    laptop.session(2).say(user("words"), says("more"))
    laptop.once()
    commit(laptop)
    laptop.cli("forget", "00000002", "--outputs", "--yes")
    (laptop.session(2).path).unlink()
    commit(laptop)
    assert git(laptop.shared, "ls-files").count(".md") == 1
    assert "00000002" not in git(laptop.shared, "show", f"HEAD:{laptop.part.name}/{MANIFEST}")


def test_older_files_of_what_was_forgotten_are_gone_with_the_next_commit(laptop):
    """Until then, they stay as they were committed."""
    one = laptop.session(2).say(user("words"), says("more"), user("last"))
    commit(laptop)
    one.rewrite(lambda number, _: number != 1)
    commit(laptop)
    assert git(laptop.shared, "ls-files").count("00000002") == 2
    laptop.cli("forget", one.session, "--outputs", "--yes")
    one.path.unlink()
    commit(laptop)
    assert "00000002" not in git(laptop.shared, "ls-files")


def test_pictures_are_committed_with_their_transcript(laptop):
    """They are in a folder beside it."""
    make = laptop.claude()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    make.append(make.user([picture, {"type": "text", "text": "look"}]), make.says("nice"))
    commit(laptop)
    assert [name for name in committed(laptop) if ".assets/" in name]


BUSY = [
    "MERGE_HEAD",
    "SQUASH_MSG",
    "index.lock",
    "rebase-merge",
    "rebase-apply",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_START",
]


@pytest.mark.whole
@each("name", BUSY)
def test_a_repository_at_work_is_left_alone_and_named(tmp_path_factory, monkeypatch, name):
    """What was exported is there, and committed the next time."""
    for key, value in WHO.items():
        monkeypatch.setenv(key, value)
    laptop = Machine("laptop", tmp_path_factory.mktemp("busy"))
    laptop.claude().say(user("the lantern"), says("It is blue."))
    laptop.shared.mkdir()
    git(laptop.shared, "init", "-q", "-b", "main")
    (laptop.shared / ".git" / name).write_text("")
    assert commit(laptop, code=1) == "wrote 1\n"
    assert f"{laptop.shared}: a" in laptop.said
    assert "in progress, so nothing was committed" in laptop.said
    assert git(laptop.shared, "status", "--porcelain") == f"?? {laptop.part.name}/\n"
    (laptop.shared / ".git" / name).unlink()
    assert "committed 2 files" in commit(laptop)


def test_without_a_branch_or_a_repository_nothing_is_committed(laptop, tmp_path):
    """One line says why; without a repository, nothing is exported, either."""
    commit(laptop)
    git(laptop.shared, "checkout", "-q", "--detach")
    laptop.talk.say(user("and the basket"), says("It is red."))
    commit(laptop, code=1)
    assert "no branch is checked out" in laptop.said
    laptop.cli("export", "--all", "--commit", "-o", str(tmp_path / "plain"), code=1)
    assert "is not in a git repository" in laptop.said
    assert not list((tmp_path / "plain").rglob("*.md"))


def test_nothing_of_a_repository_runs(laptop, tmp_path):
    """Neither hooks, nor a monitor, nor a program that signs, nor an editor; with a filter, nothing is committed."""
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\nexit 0\n')
    program.chmod(0o755)
    hooks = laptop.shared / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change",
        "pre-auto-gc", "fsmonitor-watchman", "pre-push", "post-checkout", "pre-merge-commit",
    ):  # fmt: skip
        (hooks / name).symlink_to(program)
    for key in (
        "core.fsmonitor", "gpg.program", "core.editor", "core.pager", "core.sshCommand", "diff.external",
        "core.askPass", "core.alternateRefsCommand",
    ):  # fmt: skip
        git(laptop.shared, "config", key, str(program))
    for key in ("commit.gpgSign", "tag.gpgSign", "push.gpgSign"):
        git(laptop.shared, "config", key, "true")
    git(laptop.shared, "config", "trailer.x.command", str(program))
    git(laptop.shared, "config", "gc.auto", "1")
    assert "committed 2 files" in commit(laptop)
    (laptop.shared / "photo.bin").write_text("a")
    git(laptop.shared, "add", "photo.bin")
    git(laptop.shared, "-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
        "commit", "-qm", "mine", "--no-verify")  # fmt: skip
    ran.unlink(missing_ok=True)
    git(laptop.shared, "config", "filter.secret.clean", str(program))
    git(laptop.shared, "config", "merge.evil.driver", str(program))
    (laptop.shared / ".git" / "rr-cache").mkdir()
    (laptop.shared / ".gitattributes").write_text("*.bin filter=secret\n* merge=evil\n")
    os.utime(laptop.shared / "photo.bin", (1, 1))
    laptop.talk.say(user("first"), says("yes"))
    assert "committed 2 files" in commit(laptop)
    assert not ran.exists()
    (laptop.shared / ".gitattributes").write_text("*.md filter=secret\n")
    laptop.talk.say(user("and the basket"), says("It is red."))
    commit(laptop, code=1)
    assert "its attributes set the filter secret" in laptop.said
    (laptop.shared / ".gitattributes").unlink()
    git(laptop.shared, "config", "hook.mine.command", str(program))
    commit(laptop, code=1)
    assert "its configuration has hooks" in laptop.said
    assert not ran.exists()


def test_what_a_repository_ignores_is_not_committed(laptop):
    """Its person decides, and is told; without the list, nobody could read the rest."""
    (laptop.shared / ".gitignore").write_text("*.md\n")
    assert "not committed, because the repository ignores them: 1" in commit(laptop)
    assert committed(laptop) == {f"{laptop.part.name}/{MANIFEST}"}


def test_a_repository_that_ignores_the_list_is_left_alone(laptop):
    """Without it, nobody can read the rest."""
    (laptop.shared / ".gitignore").write_text(".*\n")
    commit(laptop, code=1)
    assert f"it ignores {MANIFEST}" in laptop.said


def test_a_link_in_the_place_of_an_export_is_not_committed(laptop, tmp_path):
    """Nor anything behind it."""
    commit(laptop)
    [transcript] = laptop.part.rglob("*.md")
    (tmp_path / "secret").write_text("a secret")
    transcript.unlink()
    transcript.symlink_to(tmp_path / "secret")
    commit(laptop)
    assert "a secret" not in git(laptop.shared, "log", "-p")
    assert "120000" not in git(laptop.shared, "ls-tree", "-r", "HEAD")


def test_who_commits_has_to_be_known(laptop, monkeypatch):
    """Git says so; what was exported is there."""
    for name in WHO:
        monkeypatch.delenv(name)
    commit(laptop, code=1)
    assert "git does not know your name and e-mail address" in laptop.said
    assert list(laptop.part.rglob("*.md"))


def test_commit_is_for_all(laptop):
    """One session is no archive."""
    laptop.cli("export", "latest", "--commit", code=2)
    assert "--commit requires --all" in laptop.said


@pytest.mark.parametrize("merges", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_machines_that_meet_in_any_order_have_the_same_bytes(tmp_path, merges, request):
    """No merge has a conflict: each writes below its own name alone."""
    done = play(tmp_path, request.node.name, merges)
    assert done["merged"] >= merges


def test_my_laptop_died_my_other_machine_has_it(laptop, tmp_path):
    """All that it pushed is found, shown and handed on; nothing of it has to be set up again."""
    laptop.talk.say(user("::start login\nAdd a login page"), says("It is in login.ts."))
    laptop.once()
    git(laptop.shared, "init", "-q", "--bare", "-b", "main", str(tmp_path / "remote.git"))
    laptop.cli("export", "--all", "-f", "jsonl", "-o", str(laptop.shared), "--commit")
    git(laptop.shared, "push", "-q", str(tmp_path / "remote.git"), "main")
    part = laptop.part.name
    shutil.rmtree(laptop.home)
    shutil.rmtree(laptop.shared)
    desktop = Machine("desktop", tmp_path)
    git(desktop.home, "clone", "-q", str(tmp_path / "remote.git"), str(desktop.shared))
    assert "laptop: 1 session in" in desktop.cli("status")
    found = desktop.cli("search", "login page")
    session = found.split("\t")[1]
    assert "It is in login.ts." in desktop.cli("show", session)
    done = desktop.katod("resume", session, check=False)
    assert b"are on the machine laptop" in done.stderr
    assert f"katod handoff {session}".encode() in done.stderr
    assert "Add a login page" in desktop.cli("handoff", session)
    desktop.session(2).say(user(f"::start\n{desktop.cli('handoff', session)}"), says("I go on."))
    desktop.once()
    desktop.cli("export", "--all", "-f", "jsonl", "-o", str(desktop.shared), "--commit")
    assert {path.name for path in desktop.shared.iterdir()} == {".git", part, desktop.part.name}


KINDS = ["sha1", "sha256"]


@pytest.mark.whole
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_deleted_is_not_staged_in_a_repository_of_any_kind(laptop, kind):
    """Git's index has no line of it, whatever the length of a hash is."""
    repository(laptop, kind)
    forget_what_was_committed(laptop)
    assert "committed 2 files" in commit(laptop)
    assert git(laptop.shared, "status", "--porcelain") == ""
    assert git(laptop.shared, "ls-files").count(".md") == 1


def repository(laptop, kind):
    """Make the repository of the shared folder again, with hashes of a kind."""
    shutil.rmtree(laptop.shared / ".git")
    git(laptop.shared, "init", "-q", "-b", "main", f"--object-format={kind}")


def forget_what_was_committed(laptop):
    """Commit another session, and forget it; its agent deletes it, too."""
    laptop.session(2).say(user("words"), says("more"))
    laptop.once()
    commit(laptop)
    laptop.cli("forget", "00000002", "--outputs", "--yes")
    laptop.session(2).path.unlink()


class EndsAtGit:
    """Runs git, and ends the process before one of its commands."""

    def __init__(self, last=0):
        self.count = 0
        self.last = last
        self.run = commits.run

    def __call__(self, *given, **named):
        self.count += 1
        if self.count == self.last:
            os._exit(CUT)
        return self.run(*given, **named)


@pytest.mark.fault("killed while it commits an export")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_commit_of_the_person_takes_no_killed_one_back(laptop, tmp_path, monkeypatch, kind):
    """Before whichever command of git katod ends: what was forgotten stays so, and the next run commits the rest."""
    repository(laptop, kind)
    forget_what_was_committed(laptop)
    laptop.talk.say(user("and the basket"), says("It is red."))
    before = shutil.copytree(laptop.shared, tmp_path / "before")
    found = []
    for last in range(1, 100):
        shutil.rmtree(laptop.shared)
        shutil.copytree(before, laptop.shared)
        if not killed(laptop, monkeypatch, last):
            break
        found.append(transcripts(laptop))
        (laptop.shared / "mine.txt").write_text("mine")
        git(laptop.shared, "add", "mine.txt")
        git(laptop.shared, "commit", "-q", "-m", "mine")
        assert transcripts(laptop) <= found[-1], last
        commit(laptop)
        assert transcripts(laptop) == 1, last
        assert git(laptop.shared, "status", "--porcelain") == "", last
        assert git(laptop.shared, "for-each-ref", "--format=%(refname)") == "refs/heads/main\n", last
    assert {*found} == {1, 2}


def transcripts(laptop):
    """Return how many transcripts the last commit has."""
    return git(laptop.shared, "ls-tree", "-r", "--name-only", "HEAD").count(".md")


def killed(laptop, monkeypatch, last):
    """Commit in another process until a command of git; return whether it came to that."""

    def act():
        monkeypatch.setattr(commits, "run", EndsAtGit(last))
        commit(laptop)

    return in_new_process(act, ends=(0, CUT)) == CUT


def test_nothing_is_committed_if_the_index_cannot_be_updated(laptop, monkeypatch):
    """Else the next commit of the person would take it back."""
    commit(laptop)
    laptop.talk.say(user("and the basket"), says("It is red."))
    before = git(laptop.shared, "rev-parse", "HEAD")
    with monkeypatch.context() as patched:
        real = ArchiveRepository._require_no_filter

        def locked(repository, names):
            real(repository, names)
            (laptop.shared / ".git" / "index.lock").write_text("")

        patched.setattr(ArchiveRepository, "_require_no_filter", locked)
        commit(laptop, code=1)
    assert "git's index could not be updated" in laptop.said
    assert "so nothing was committed" in laptop.said
    assert git(laptop.shared, "rev-parse", "HEAD") == before
    (laptop.shared / ".git" / "index.lock").unlink()
    assert "committed 2 files" in commit(laptop)


def test_a_branch_that_moves_meanwhile_is_left_alone(laptop, monkeypatch):
    """And git's index is as it was."""
    commit(laptop)
    laptop.talk.say(user("and the basket"), says("It is red."))
    real = ArchiveRepository._publish

    def publish(repository, *given):
        git(laptop.shared, "commit", "-q", "--allow-empty", "-m", "mine")
        real(repository, *given)

    with monkeypatch.context() as patched:
        patched.setattr(ArchiveRepository, "_publish", publish)
        commit(laptop, code=1)
    assert "the branch could not be moved" in laptop.said
    assert git(laptop.shared, "log", "--format=%s").splitlines()[0] == "mine"
    assert git(laptop.shared, "diff", "--cached", "--name-only") == ""
    assert "committed 2 files" in commit(laptop)
