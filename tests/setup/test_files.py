"""Files of agents are replaced as a whole, and only if they are plain files of this user."""

import os
import stat

import pytest

from katod.errors import SetupError
from katod.setup import files
from katod.setup.files import LARGEST, Change, Files


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home directory with an agent's folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.agent").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def path(home):
    """A file of the agent's."""
    path = home / ".agent/settings.json"
    path.write_bytes(b"old")
    return path


def refusal(act, *arguments):
    """Return why something is refused."""
    with pytest.raises(SetupError) as raised:
        act(*arguments)
    return f"{raised.value} ({raised.value.hint})"


def test_a_file_is_replaced_with_its_mode(path, no_descriptor_is_left):
    """The new content is there as a whole, with the mode of the old file; nothing else is left in the folder."""
    path.chmod(0o640)
    before = path.stat().st_ino
    Files().change(Change(path, b"old", b"new"))
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    assert path.stat().st_ino != before
    assert os.listdir(path.parent) == [path.name]


def test_a_file_that_is_replaced_keeps_its_group(path, monkeypatch):
    """Others of that group go on reading it; a new file has the group that its directory gives."""
    given, real = [], os.fchown
    monkeypatch.setattr(os, "fchown", lambda fd, user, group: given.append((user, group)) or real(fd, user, group))
    if os.getuid() == 0:
        os.chown(path, -1, 12345)
    group = path.stat().st_gid
    Files().change(Change(path, b"old", b"new"))
    Files().change(Change(path.with_name("backup"), None, b"old", group=group))
    Files().change(Change(path.with_name("other"), None, b"new"))
    assert given == [(-1, group), (-1, group), (-1, -1)]
    assert {path.stat().st_gid, path.with_name("backup").stat().st_gid} == {group}


def test_a_file_is_created_and_removed(home, no_descriptor_is_left):
    """Missing folders are created, private ones; a new file has the mode that was asked for."""
    path = home / ".config/new/AGENTS.md"
    Files().change(Change(path, None, b"new", 0o700))
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o700)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    Files().change(Change(path, b"new", None))
    assert Files().read(path) is None


def test_a_file_that_changed_meanwhile_is_left_alone(path):
    """Somebody wrote to it, created it or removed it after it was shown."""
    for before in (b"older", None):
        assert "changed in the meantime" in refusal(Files().change, Change(path, before, b"new"))
    assert path.read_bytes() == b"old"
    assert "changed in the meantime" in refusal(Files().change, Change(path.with_name("gone"), b"old", b"new"))


def test_links_are_followed_only_if_asked(home, path):
    """A link in the place of the file or of a folder is named; followed, its target is replaced and it stays a link."""
    elsewhere = home / "dotfiles"
    path.parent.rename(elsewhere)
    path.parent.symlink_to(elsewhere)
    assert ".agent is a symbolic link (use --follow-links" in refusal(Files().read, path)
    assert ".agent is a symbolic link" in refusal(Files().change, Change(path, b"old", b"new"))
    assert Files(follow=True).read(path).data == b"old"
    Files(follow=True).change(Change(path, b"old", b"new"))
    assert path.parent.is_symlink()
    assert (elsewhere / path.name).read_bytes() == b"new"
    link = home / "link.json"
    link.symlink_to(elsewhere / path.name)
    assert "link.json is a symbolic link" in refusal(Files().read, link)
    link.unlink()
    link.symlink_to(home / "nowhere")
    assert "link.json is a symbolic link" in refusal(Files().read, link)


def test_a_file_with_another_name_is_refused(path):
    """With a hard link, the other name would keep the old content: links cannot be followed there."""
    os.link(path, path.with_name("other"))
    assert refusal(Files().read, path).endswith("settings.json has more than one hard link ()")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_refused_at_once(path, make):
    """A FIFO is not waited for, a folder is not replaced."""
    path.unlink()
    make(path)
    assert "is not a regular file" in refusal(Files().read, path)
    assert "is not a regular file" in refusal(Files().change, Change(path, None, b"new"))


def test_a_file_that_is_too_large_is_refused(path):
    """No file is read without a bound."""
    path.write_bytes(b"x" * LARGEST)
    assert len(Files().read(path).data) == LARGEST
    with path.open("ab") as file:
        file.write(b"x")
    assert "is larger than" in refusal(Files().read, path)


def test_files_of_another_user_are_refused(home, path, monkeypatch):
    """As root in somebody's home, katod neither replaces nor creates files there."""
    monkeypatch.setattr(files.os, "getuid", lambda: os.stat(home).st_uid + 1)
    for change in (Change(path, b"old", b"new"), Change(home / ".new/file", None, b"new")):
        assert "belongs to another user" in refusal(Files().change, change)
        assert "belongs to another user" in refusal(Files().read, change.path)
    assert not (home / ".new").exists()


def test_a_directory_that_was_named_elsewhere(tmp_path, home):
    """A directory outside of the home, as a variable names it, is used; missing folders in it are created."""
    path = tmp_path / "elsewhere/agent/settings.json"
    assert Files().read(path) is None
    Files().change(Change(path, None, b"new"))
    assert path.read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    """If the disk is full, the file is as it was, and no other one is left."""

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    assert "No space left on device" in refusal(Files().change, Change(path, b"old", b"new"))
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]
