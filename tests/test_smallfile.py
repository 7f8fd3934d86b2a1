"""Small files: read safely, and replaced whole."""

import os

import pytest

from katod.smallfile import read_small, write_small


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
