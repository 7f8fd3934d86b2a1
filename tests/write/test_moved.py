"""Outputs that a person renamed or moved: found again, and nothing else taken for them."""

import os

import pytest

from katod.write.moved import MovedFiles, find_moved, is_at
from katod.write.output import FileFingerprint, OutputPath, append, make, owner_number

TEXT = b"# A talk\n\nSome words, and more of them.\n"
INTENT = b"\nWhat comes next.\n"

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


class Shelf:
    """An output directory with one output, and another directory that an output may be in."""

    def __init__(self, folder):
        self.out, self.project = folder / "out", folder / "project"
        self.out.mkdir()
        self.project.mkdir()
        self.place = OutputPath(self.out, ("app", "talk.md"))
        make(self.place, owner_number("ledger.db"))
        self.known = append(self.place, TEXT)

    def find(self, intent=b""):
        """Return the path at which the output is found, None if it is not."""
        found = find_moved(self.place, self.known, intent, [OutputPath(self.out, ())])
        return found and found.place.path

    def find_surely(self, *, deep):
        """Return the path at which a reader finds it, by its inode alone."""
        found = MovedFiles().find(self.place, self.known, b"", deep=deep)
        return found and found.path

    def put(self, name, content):
        """Write another file into the output directory."""
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path)


@pytest.mark.parametrize("name", ["app/mine.md", "mine.md", "a/b/c/talk.md"])
@pytest.mark.parametrize("text", [TEXT, TEXT + b"a note\n", TEXT + INTENT, TEXT + INTENT[:5], b"a note\n" + TEXT])
def test_a_file_is_found_by_its_inode(shelf, name, text):
    """Below the output directory, whatever follows what katod wrote last."""
    path = shelf.put(name, b"")
    shelf.place.path.write_bytes(text)
    shelf.place.path.rename(path)
    assert shelf.find(INTENT) == path


def test_a_copy_is_found_by_its_content(shelf):
    """A file that was moved to another disk has another inode, but the same words at its end."""
    path = shelf.put("mine.md", TEXT)
    shelf.place.path.unlink()
    shelf.put("other.md", b"# Another talk\n\nOther words, and as many of them.\n")
    assert shelf.find() == path


def test_of_two_copies_none_is_taken(shelf):
    """It is not known which one the person goes on with."""
    for name in ("one.md", "two.md"):
        shelf.put(name, TEXT)
    shelf.place.path.unlink()
    assert shelf.find() is None


def test_the_inode_decides_between_copies(shelf):
    """A copy made before the file was renamed is not the file."""
    shelf.put("a copy.md", TEXT)
    path = shelf.place.path.rename(shelf.out / "mine.md")
    assert shelf.find() == path


@pytest.mark.whole
@pytest.mark.parametrize("name", ["talk.md~", "talk~.md", "talk.orig.md", ".talk.md", "talk.txt", ".trash/talk.md"])
def test_copies_of_editors_and_hidden_files_are_not_found(shelf, name):
    """What an editor or a trash keeps is not the output."""
    path = shelf.put(name, b"")
    shelf.place.path.rename(path)
    assert shelf.find() is None


def test_a_file_that_reuses_the_inode_is_not_found(shelf):
    """A file without katod's last words is another one."""
    path = shelf.place.path.rename(shelf.out / "mine.md")
    path.write_bytes(b"A new note of mine, in a file with the same inode.\n")
    assert shelf.find() is None


def test_links_are_not_followed(shelf, tmp_path):
    """Neither a symbolic link to the moved file nor a folder behind one is an output."""
    moved = shelf.place.path.rename(tmp_path / "talk.md")
    (shelf.out / "talk.md").symlink_to(moved)
    (shelf.out / "elsewhere").symlink_to(tmp_path)
    assert shelf.find() is None


@pytest.mark.whole
@pytest.mark.parametrize(("content", "there"), [(b"", False), (INTENT[:7], True), (INTENT, True), (b"a note", False)])
def test_a_file_in_which_nothing_was_committed_is_found_by_inode_and_intent(shelf, content, there):
    """A new output that a kill left empty or half-written is recognised by the beginning of the intent."""
    path = shelf.place.path.rename(shelf.out / "mine.md")
    path.write_bytes(content)
    shelf.known = FileFingerprint(shelf.known.dev, shelf.known.ino)
    assert shelf.find(INTENT) == (path if there else None)


def test_an_output_of_a_project_is_looked_for_in_its_own_folder_only(shelf):
    """A project may have very many files; an output that was moved within it is found where it was."""
    shelf.place = OutputPath(shelf.project, ("talk.md",))
    make(shelf.place, owner_number("ledger.db"))
    shelf.known = append(shelf.place, b"# Another talk\n\nOther words, and as many of them.\n")
    path = shelf.place.path.rename(shelf.project / "mine.md")
    assert shelf.find() == path
    (shelf.project / "docs").mkdir()
    path.rename(shelf.project / "docs/mine.md")
    assert shelf.find() is None


def test_a_reader_finds_a_file_by_its_inode_alone(shelf):
    """A copy is not taken for it; only a deep look goes below its root."""
    path = shelf.out / "sorted" / "mine.md"
    path.parent.mkdir()
    assert is_at(shelf.place, shelf.known.ino)
    shelf.place.path.rename(path)
    shelf.put("copy.md", TEXT)
    assert shelf.find_surely(deep=True) == path
    assert shelf.find_surely(deep=False) is None
    assert not is_at(shelf.place, shelf.known.ino)


def test_each_directory_is_listed_once(shelf, monkeypatch):
    """However many outputs are looked for in it."""
    shelf.place.path.rename(shelf.out / "mine.md")
    moved, listed, real = MovedFiles(), [], os.walk
    monkeypatch.setattr(os, "walk", lambda root: listed.append(root) or real(root))
    assert all(moved.find(shelf.place, shelf.known, b"", deep=True) for _ in range(3))
    assert listed == [shelf.out]
