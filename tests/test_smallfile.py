"""Small files: read safely, and replaced whole."""

import os

import pytest

from katod import durable
from katod.smallfile import create_small, read_part, read_small, write_small


def test_links_are_followed_unless_only_an_own_file_will_do(tmp_path):
    """An own file is neither a symbolic nor a hard link."""
    real, link, hard = tmp_path / "real", tmp_path / "link", tmp_path / "hard"
    real.write_bytes(b"x")
    assert read_small(real, 1, own=True) == b"x"
    link.symlink_to(real)
    assert read_small(link, 1) == b"x"
    with pytest.raises(OSError, match="symbolic link"):
        read_small(link, 1, own=True)
    os.link(real, hard)
    assert read_small(hard, 1) == b"x"
    with pytest.raises(OSError, match="hard link"):
        read_small(hard, 1, own=True)
    assert read_small(hard, 1, own=True, linked=True) == b"x"


def test_what_is_no_small_file_is_refused_at_once(tmp_path):
    """A FIFO that nobody writes to, and a byte too many."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").write_bytes(b"xx")
    for name, reason in (("fifo", "regular"), ("large", "larger than 1 bytes")):
        for own in (True, False):
            with pytest.raises(OSError, match=reason):
                read_small(tmp_path / name, 1, own=own)


@pytest.mark.parametrize(
    ("begin", "most", "part"), [(0, 2, b"ab"), (1, 9, b"bcd"), (9, 9, b""), (-2, 9, b"cd"), (-9, 3, b"abc")]
)
def test_a_part_begins_anywhere(tmp_path, begin, most, part):
    """A file that is shorter gives what it has; a pipe is refused at once."""
    path = tmp_path / "file"
    path.write_bytes(b"abcd")
    assert read_part(path, begin, most) == part
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        read_part(tmp_path / "pipe", begin, most)


def test_a_file_is_replaced_whole_and_private(tmp_path):
    """A link at its name is replaced, not followed; what a crash left beside it does not matter."""
    path, other = tmp_path / "x.json", tmp_path / "other"
    other.write_bytes(b"mine")
    path.symlink_to(other)
    (tmp_path / "x.json.part").symlink_to(other)
    write_small(path, b"one")
    write_small(path, b"two")
    assert (path.read_bytes(), other.read_bytes()) == (b"two", b"mine")
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["other", "x.json"]


def test_a_private_file_is_one_that_nobody_else_has_access_to(tmp_path):
    """Links to it are followed; the mode is that of the file that is read, and it is named."""
    path, link = tmp_path / "key", tmp_path / "link"
    create_small(path, b"x", 0o600)
    link.symlink_to(path)
    assert read_small(link, 1, private=True) == b"x"
    for mode in (0o610, 0o604):
        path.chmod(mode)
        with pytest.raises(PermissionError, match=f"others have access to it .mode 0{mode:o}"):
            read_small(link, 1, private=True)


def test_a_new_file_takes_the_place_of_nothing(tmp_path, monkeypatch):
    """Neither a file nor a link is followed or replaced; what could not be written whole is not there."""
    path = tmp_path / "x"
    path.symlink_to(tmp_path / "y")
    with pytest.raises(FileExistsError):
        create_small(path, b"x", 0o600)
    assert os.listdir(tmp_path) == ["x"]
    path.unlink()

    def fail(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable, "sync", fail)
    with pytest.raises(OSError, match="No space"):
        create_small(path, b"x", 0o600)
    assert os.listdir(tmp_path) == []
