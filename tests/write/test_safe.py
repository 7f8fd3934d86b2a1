"""Opening outputs: links and odd files that someone else may have created are not followed."""

import errno
import os
import stat
from pathlib import Path
from unittest import mock

import pytest

from katod.errors import TargetRefused
from katod.write.safe import PRIVATE_DIRECTORY, PRIVATE_FILE, examine, make_root, open_file, open_parent
from tests.looping import each

PARTS = ("app", "docs", "auth.md")


pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.fixture
def root(tmp_path):
    """Return an allowed root; a file outside of it must never change."""
    (tmp_path / "outside/docs").mkdir(parents=True)
    (tmp_path / "outside/docs/auth.md").write_text("precious")
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def write(root, parts=PARTS, *, create):
    """Open an output as katod does and append one byte."""
    with open_parent(root, parts, make=create) as parent:
        fd = open_file(parent, parts[-1], create=create)
        try:
            os.write(fd, b"x")
        finally:
            os.close(fd)


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


# -- creating --------------------------------------------------------------------------------------


@pytest.mark.whole
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_new_file_and_folders_are_private(root, umask):
    """Whatever the umask, only the owner has access to a new output and its folders."""
    old = os.umask(umask)
    try:
        make_root(root / "new")
        write(root / "new", create=True)
    finally:
        os.umask(old)
    for folder in ("new", "new/app", "new/app/docs"):
        assert mode(root / folder) == PRIVATE_DIRECTORY
    assert mode(root / "new/app/docs/auth.md") == PRIVATE_FILE


def test_folders_that_are_there_keep_their_modes(root):
    """An existing folder keeps its mode."""
    (root / "app").mkdir(mode=0o755)
    (root / "app").chmod(0o755)
    write(root, create=True)
    assert (mode(root / "app"), mode(root / "app/docs")) == (0o755, PRIVATE_DIRECTORY)


def test_new_file_is_exclusive(root):
    """An existing file is never opened as a new one."""
    write(root, create=True)
    with pytest.raises(FileExistsError):
        write(root, create=True)
    assert (root / "app/docs/auth.md").read_bytes() == b"x"


def test_file_is_opened_for_appending(root):
    """Writes go to the end of the file."""
    write(root, create=True)
    (root / "app/docs/auth.md").write_bytes(b"mine")
    write(root, create=False)
    assert (root / "app/docs/auth.md").read_bytes() == b"minex"


def test_nothing_is_made_to_look(root):
    """Opening a missing file creates neither it nor its folders."""
    with pytest.raises(FileNotFoundError):
        write(root, create=False)
    assert list(root.iterdir()) == []


# -- links and odd files ---------------------------------------------------------------------------


@pytest.mark.whole
@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("depth", [1, 2])
def test_linked_folder_is_refused(root, create, depth):
    """A symbolic link in place of a folder, at any depth, is not followed."""
    folder = root.joinpath(*PARTS[:depth])
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.symlink_to(root.parent / "outside" / ("docs" if depth == 2 else ""))
    with pytest.raises(TargetRefused, match=r"link|not a directory"):
        write(root, create=create)
    assert (root.parent / "outside/docs/auth.md").read_text() == "precious"
    assert os.listdir(root.parent / "outside") == ["docs"]


@pytest.mark.whole
@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("target", ["outside/docs/auth.md", "outside/new.md"])
def test_linked_file_is_refused(root, create, target):
    """A symbolic link in place of the file is refused, even if its target does not exist."""
    (root / "app/docs").mkdir(parents=True)
    (root / "app/docs/auth.md").symlink_to(root.parent / target)
    with pytest.raises(TargetRefused, match="regular file"):
        write(root, create=create)
    assert (root.parent / "outside/docs/auth.md").read_text() == "precious"
    assert not (root.parent / "outside/new.md").exists()


def test_what_is_at_a_path_is_said_without_writing(root):
    """A link is called one, whatever it leads to."""
    root.mkdir(exist_ok=True)
    (root / "empty.md").touch()
    (root / "taken.md").write_text("x")
    assert [examine(root, (name,)) for name in ("new.md", "empty.md", "taken.md")] == ["new", "empty", "taken"]
    (root / "link.md").symlink_to(root / "taken.md")
    with pytest.raises(TargetRefused, match=r"^link\.md is a symbolic link$"):
        examine(root, ("link.md",))
    with pytest.raises(TargetRefused, match="not a directory"):
        examine(root, ("taken.md", "below.md"))


def test_link_to_itself_is_refused(root):
    """A link to itself is refused like any other link."""
    (root / "app").symlink_to("app")
    with pytest.raises(TargetRefused):
        write(root, create=True)
    with pytest.raises(TargetRefused):
        examine(root, PARTS)


def test_root_itself_may_be_a_link(root, tmp_path):
    """The root was chosen by the user, so a link there is followed."""
    (tmp_path / "link").symlink_to(root)
    write(tmp_path / "link", create=True)
    assert (root / "app/docs/auth.md").read_bytes() == b"x"


def test_hard_link_is_refused(root):
    """A file with a second hard link is refused: it may be an important file of the user."""
    (root / "app/docs").mkdir(parents=True)
    os.link(root.parent / "outside/docs/auth.md", root / "app/docs/auth.md")
    with pytest.raises(TargetRefused, match="hard link"):
        write(root, create=False)
    assert (root.parent / "outside/docs/auth.md").read_text() == "precious"


@pytest.mark.whole
@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["fifo", "directory"])
def test_what_is_no_file_is_refused_without_waiting(root, make, create):
    """A FIFO or a directory in place of the file is refused, and opening it does not block."""
    (root / "app/docs").mkdir(parents=True)
    make(root / "app/docs/auth.md")
    with pytest.raises(TargetRefused, match="regular file"):
        write(root, create=create)


@pytest.mark.whole
@pytest.mark.parametrize("create", [True, False])
def test_file_in_the_place_of_a_folder_is_refused(root, create):
    """A path with a file in place of a folder is refused."""
    (root / "app").write_text("a note")
    with pytest.raises(TargetRefused, match="not a directory"):
        write(root, create=create)
    assert (root / "app").read_text() == "a note"


def test_file_of_another_user_is_refused(root, monkeypatch):
    """A file of another user is not written to."""
    write(root, create=True)
    monkeypatch.setattr(os, "getuid", lambda: os.stat(root).st_uid + 1)
    with pytest.raises(TargetRefused, match="another user"):
        write(root, create=False)
    with pytest.raises(TargetRefused, match="another user"):
        examine(root, PARTS)


# -- examining -------------------------------------------------------------------------------------


def test_examining_tells_new_empty_and_taken(root):
    """A path is new, empty or taken, and examining it creates nothing."""
    assert examine(root, PARTS) == "new"
    assert list(root.iterdir()) == []
    (root / "app/docs").mkdir(parents=True)
    assert examine(root, PARTS) == "new"
    (root / "app/docs/auth.md").touch()
    assert examine(root, PARTS) == "empty"
    (root / "app/docs/auth.md").write_text("a note")
    assert examine(root, PARTS) == "taken"


def test_path_below_a_missing_root_is_new(root):
    """A root that does not exist yet is created with the output."""
    assert examine(root / "later", PARTS) == "new"


@pytest.mark.whole
@pytest.mark.parametrize(
    "kind", ["link", "dangling", "linked folder", "fifo", "directory", "hard link", "file as folder"]
)
def test_examining_refuses_what_opening_would(root, kind):
    """A path that could not be written to is refused when the command is typed."""
    path = root.joinpath(*PARTS)
    outside = root.parent / "outside/docs/auth.md"
    if kind == "linked folder":
        (root / "app").symlink_to(root.parent / "outside")
    elif kind == "file as folder":
        (root / "app").write_text("a note")
    else:
        path.parent.mkdir(parents=True)
    if kind in ("link", "dangling"):
        path.symlink_to(outside if kind == "link" else "nothing")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "hard link":
        os.link(outside, path)
    with pytest.raises(TargetRefused) as caught:
        examine(root, PARTS)
    assert "folder" in kind or caught.value.what.startswith("auth.md ")


@each(("number", "refused"), [(errno.EMFILE, False), (errno.EACCES, True)])
def test_a_trouble_of_the_machine_that_passes_says_nothing_of_a_file(number, refused):
    """It is raised, so that the step is repeated; any other trouble is a refusal."""
    broken = mock.patch("katod.write.safe.open_parent", side_effect=OSError(number, "trouble"))
    with broken, pytest.raises(TargetRefused if refused else OSError, match="trouble"):
        examine(Path("/o"), ("a.md",))
