"""What is asked about."""

import os

import pytest

from katod.edits.edits import Cause, Edit
from katod.errors import SelectionError
from katod.model import SessionKey
from katod.why.git import Repository
from katod.why.places import FilePlace, FilePlaces
from katod.why.target import AskedFile, LineRange, file_in_commit, file_on_disk, parse_target
from tests.looping import each
from tests.why.test_git import folder, git

__all__ = ["folder"]


@each("text, path, lines", [
    ("a.py", "a.py", LineRange()), ("a.py:3", "a.py", LineRange(3, 3)), ("a.py:3-7", "a.py", LineRange(3, 7)),
    ("a.py:7-3", "a.py", LineRange(3, 7)), ("C:\\x", "C:\\x", LineRange()), ("a:b:2", "a:b", LineRange(2, 2)),
])  # fmt: skip
def test_lines_follow_the_name_of_a_file(text, path, lines):
    """One, or the first and the last of several."""
    assert parse_target(text) == (type(parse_target(text)[0])(path), lines)


def test_a_file_may_be_called_like_lines_of_another(tmp_path, monkeypatch):
    """Then it is meant."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py:3").touch()
    assert parse_target("a.py:3")[1] == LineRange()


def test_lines_that_a_file_does_not_have_are_refused():
    """Of a range, those that it has are shown."""
    assert list(LineRange(2, 9).of(3)) == [2, 3]
    assert list(LineRange().of(0)) == []
    with pytest.raises(SelectionError, match="has only 3 lines"):
        LineRange(4, 9).of(3)
    with pytest.raises(SelectionError, match="counted from 1"):
        parse_target("a.py:0")
    with pytest.raises(SelectionError, match="is empty"):
        LineRange(1, 1).of(0)


def places(*files, cwd, path, time=None):
    """Return what a session in a directory has of files at a path."""
    return FilePlaces(files).of(str(path), str(cwd), time)


def test_a_file_is_found_where_other_work_trees_and_links_have_it(folder, tmp_path):
    """Under each of its names, and through links to its folder, or to one above it."""
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    (tmp_path / "link").symlink_to(folder / "src")
    (tmp_path / "above").symlink_to(tmp_path)
    file = file_on_disk(tmp_path / "link" / "größe.py")
    assert file.name == "src/größe.py"
    cases = {
        (folder, folder / "src" / "old.py"): "", ("/", folder / "src" / "größe.py"): "", ("", folder / "src" / "größe.py"): "",
        (folder, tmp_path / "tree" / "src" / "größe.py"): str(tmp_path / "tree"),
        (tmp_path / "above" / "a folder" / "src", tmp_path / "above" / "a folder" / "src" / "größe.py"): "",
        (tmp_path / "above", tmp_path / "above" / "tree" / "src" / "größe.py"): str(tmp_path / "tree"),
    }  # fmt: skip
    for (cwd, path), tree in cases.items():
        assert places(file, cwd=cwd, path=path) == [FilePlace(0, tree)], (cwd, path)
    (tmp_path / "free.txt").write_text("one\n")
    assert places(file_on_disk(tmp_path / "free.txt"), cwd="/", path=tmp_path / "free.txt") == [FilePlace(0)]


def test_a_file_of_the_same_name_in_a_folder_called_like_the_repository_is_another_one(folder):
    """As in the usual layout of Python; and if it is not clear which of two folders the repository is, none is named."""
    (folder / "a folder" / "src").mkdir(parents=True)
    file = file_on_disk(folder / "src" / "größe.py")
    for cwd, root in (
        (folder, folder), (folder / "gone" / "a folder", folder), ("/home/x/a folder", "/home/x/a folder"),
        ("/home/x", "/home/x/a folder"),
    ):  # fmt: skip
        assert places(file, cwd=cwd, path=f"{root}/src/größe.py")
        assert not places(file, cwd=cwd, path=f"{root}/a folder/src/größe.py")
    assert not places(file, cwd="/home/x/a folder/a folder", path="/home/x/a folder/a folder/src/größe.py")
    assert places(file, cwd="/home/a folder/x/a folder", path="/home/a folder/x/a folder/src/größe.py")
    assert not places(file, cwd=folder / "gone" / "a folder", path=folder / "gone" / "a folder" / "src" / "größe.py")


def test_a_file_has_each_of_its_names_while_it_had_it(folder):
    """What is made later under an old name is another file; without a time, only the present name counts."""
    old, new = 1767225600, 1767312000
    (folder / "src" / "old.py").touch()
    git(folder, "add", ".", day=3)
    git(folder, "commit", "-qm", "third", day=3)
    git(folder, "rm", "-q", "src/old.py", day=4)
    git(folder, "commit", "-qm", "fourth", day=4)
    file = file_on_disk(folder / "src" / "größe.py")
    cases = {"old.py": [(old - 9, True), (new, True), (new + 1, False), (0, False)],
             "größe.py": [(old - 9, True), (old + 2, True), (new + 9, True), (0, True)]}  # fmt: skip
    for name, times in cases.items():
        for time, found in times:
            assert bool(places(file, cwd=folder, path=folder / "src" / name, time=time)) == found, (name, time)
    assert places(file, cwd=folder, path=folder / "src" / "old.py")


def test_a_name_that_no_other_file_had_counts_at_any_time(folder):
    """After a rebase all commits are of its time, and a branch goes on under the old name; a deleted file is another."""
    early, late = 1767225600 - 9, 1767312000 + 9

    def found(name, time):
        return bool(
            places(file_on_disk(folder / "src" / "größe.py"), cwd=folder, path=folder / "src" / name, time=time)
        )

    assert found("größe.py", early)
    assert found("old.py", late)
    assert not found("old.py", 0)
    (folder / "src" / "old.py").touch()  # not committed yet
    assert not found("old.py", late)
    (folder / "src" / "old.py").unlink()
    assert found("old.py", late)


def test_a_name_that_another_file_has_or_had_counts_only_while_it_was_this_ones(folder):
    """Before it, or because it was copied and is still there; what a commit does not have yet is no other file."""
    (folder / "two.py").write_text((folder / "src" / "größe.py").read_text())
    git(folder, "add", ".", day=3)
    git(folder, "commit", "-qm", "copied", day=3)
    (folder / "src" / "old.py").touch()
    git(folder, "add", ".", day=4)
    git(folder, "commit", "-qm", "new", day=4)
    repository = Repository(folder)
    assert file_on_disk(folder / "src" / "größe.py").shared == {"src/old.py"}
    assert file_in_commit(repository, "src/größe.py", git(folder, "rev-parse", "HEAD~1")).shared == set()
    assert "src/größe.py" in file_on_disk(folder / "two.py").shared
    git(folder, "rm", "-q", "src/old.py", "two.py", day=5)
    git(folder, "commit", "-qm", "deleted", day=5)
    git(folder, "mv", "src/größe.py", "two.py", day=6)
    git(folder, "commit", "-qm", "renamed", day=6)
    assert file_on_disk(folder / "two.py").shared == {"src/old.py", "two.py"}


def test_a_link_is_asked_about_as_what_it_links_to(folder):
    """Its own content in the repository is a path."""
    (folder / "link.py").symlink_to("src/größe.py")
    file = file_on_disk(folder / "link.py")
    assert (file.name, len(file.versions), file.path) == ("src/größe.py", 2, folder / "link.py")


def test_a_project_of_the_same_name_on_this_machine_is_another_one(folder, tmp_path):
    """A session that works elsewhere here edits other files; one of another machine may edit this one."""
    (tmp_path / "work" / "a folder").mkdir(parents=True)
    file = file_on_disk(folder / "src" / "größe.py")
    cases = {
        "/home/else/a folder": True,
        r"C:\code\a folder": True,
        "c:/code/a folder": True,
        str(tmp_path / "work" / "a folder"): False,
        "": False,
    }
    for cwd, found in cases.items():
        path = f"{cwd}/src/größe.py".replace("\\", "/")
        assert [place.is_certain for place in places(file, cwd=cwd, path=path)] == [True] * found, cwd


def test_a_clone_is_called_like_the_repository_in_each_of_its_work_trees(folder, tmp_path):
    """That is how the main work tree is called, also by what is asked in another one; that one's own name counts, too."""
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    for root, names in ((tmp_path / "tree", ("a folder", "tree")), (folder, ("a folder",))):
        file = file_on_disk(root / "src" / "größe.py")
        for name in ("a folder", "tree"):
            for cwd in ("/nowhere", f"/nowhere/{name}", f"/nowhere/{name}/src"):
                found = places(file, cwd=cwd, path=f"/nowhere/{name}/src/größe.py")
                assert found == [FilePlace(0)] * (name in names), (root, cwd)


def test_a_drive_is_the_same_however_its_letter_is_written(folder):
    """Editors and shells write it otherwise; any other part of a path counts as it is."""
    file = file_on_disk(folder / "src" / "größe.py")
    for cwd, path in ((r"c:\code\a folder", "C:/code/a folder"), (r"C:\code\a folder", "c:/code/a folder")):
        assert places(file, cwd=cwd, path=f"{path}/src/größe.py")
        assert not places(file, cwd=cwd, path=f"{path.replace('code', 'Code')}/src/größe.py")
    assert not places(file, cwd="/home/a folder", path="/Home/a folder/src/größe.py")


def test_where_a_directory_is_seen_is_found_out_once(folder, monkeypatch):
    """However many files a commit has, and sessions edited: links are followed on the disk."""
    (folder / "more.py").touch()
    repository, asked = Repository(folder), list[str]()
    monkeypatch.setattr("katod.why.places._linked", lambda root, cwd: asked.append(cwd) or [])
    files = [AskedFile(folder / name, name, [], repository, []) for name in ("a.py", "b.py", "c.py")]
    found = FilePlaces(files)
    for name in ("a.py", "b.py", "none.py"):
        found.of(str(folder / name), str(folder))
    assert asked == [str(folder)]


def test_a_folder_of_the_same_name_that_is_gone_may_have_been_another_one(folder, tmp_path):
    """It was on this machine: what it was in is there."""
    cwd = tmp_path / "work" / "a folder"
    [found] = places(file_on_disk(folder / "src" / "größe.py"), cwd=cwd, path=cwd / "src" / "größe.py")
    assert found == FilePlace(0, str(cwd), is_certain=False)


def test_a_commit_has_a_file_as_it_was_and_edits_until_then(folder):
    """Later ones wrote nothing of it."""
    file = file_in_commit(
        file_on_disk(folder / "src" / "größe.py").repository, "src/old.py", git(folder, "rev-parse", "HEAD~1")
    )
    assert file.lines[-1] == "and a third"

    def edit(time):
        return Edit(Cause(SessionKey("claude", "s"), "c", "", "", time), ())

    assert file.may_have(edit("2025-12-31T00:00:00Z"))
    assert file.may_have(edit("2026-01-01T00:00:00.400Z"))  # git knows no parts of seconds
    assert not file.may_have(edit("2026-01-02T00:00:00Z"))


def test_a_name_with_a_line_break_is_not_read_from_a_commit(folder):
    """And it is said why."""
    (folder / "a\nb").write_text("one\n")
    git(folder, "add", ".", day=3)
    git(folder, "commit", "-qm", "named", day=3)
    with pytest.raises(SelectionError, match="line break"):
        file_in_commit(Repository(folder), "a\nb", git(folder, "rev-parse", "HEAD"))


def test_what_cannot_be_read_is_refused(tmp_path):
    """With what is wrong with it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin").write_bytes("schön\n".encode("latin-1"))
    assert file_on_disk(tmp_path / "latin").lines == ["sch\ufffdn"]
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(SelectionError, match="is not a file"):
            file_on_disk(path)
