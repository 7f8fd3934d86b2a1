"""Files that are written as a whole."""

import errno
import os

import pytest

from katod.errors import OutputReplaced, TargetRefused
from katod.write import whole
from katod.write.whole import digest_at, drafted, stamp_at

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


@pytest.fixture
def root(tmp_path):
    """Return a descriptor of the folder."""
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def write(root, path, data, *parts, expected=None):
    """Write a file as a whole."""
    with drafted(root, "draft") as draft:
        draft.write(data)
        draft.complete()
        draft.publish(path, parts, expected)
        return draft.digest


def test_a_new_file_has_its_name_when_it_is_complete(root, tmp_path):
    """Its folders are created, both are private, and no draft is left."""
    digest = write(root, tmp_path, b"one", "a", "b.md")
    assert (tmp_path / "a" / "b.md").read_bytes() == b"one"
    assert digest_at(tmp_path, ("a", "b.md")) == digest
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "b.md").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a"]


def test_what_is_not_published_is_removed(root, tmp_path):
    """Whatever ends it."""
    with pytest.raises(TypeError), drafted(root, "draft") as draft:
        draft.write("no bytes")
    with drafted(root, "draft") as draft:
        draft.write(b"one")
    assert os.listdir(tmp_path) == []


@pytest.mark.whole
@pytest.mark.parametrize("linking", [True, False])
def test_a_new_file_never_replaces_another(root, tmp_path, monkeypatch, linking):
    """With and without links, on which it relies where there are some."""
    if not linking:

        def none(*_, **__):
            raise OSError(errno.EPERM, "no links")

        monkeypatch.setattr(os, "link", none)
    (tmp_path / "a.md").write_bytes(b"mine")
    with pytest.raises(OutputReplaced):
        write(root, tmp_path, b"one", "a.md")
    assert (tmp_path / "a.md").read_bytes() == b"mine"
    write(root, tmp_path, b"one", "b.md")
    assert (tmp_path / "b.md").read_bytes() == b"one"
    assert sorted(os.listdir(tmp_path)) == ["a.md", "b.md"]


def test_a_file_that_appears_at_the_last_moment_is_not_replaced(root, tmp_path, monkeypatch):
    """The link itself refuses."""
    monkeypatch.setattr(whole, "stamp_at", lambda *_: None)
    (tmp_path / "a.md").write_bytes(b"mine")
    with pytest.raises(OutputReplaced):
        write(root, tmp_path, b"one", "a.md")
    assert (tmp_path / "a.md").read_bytes() == b"mine"


def test_only_the_expected_file_is_replaced(root, tmp_path):
    """By another size or time it is known not to be it."""
    write(root, tmp_path, b"one", "a.md")
    expected = stamp_at(root, "a.md")
    os.utime(tmp_path / "a.md", (1, 1))
    with pytest.raises(OutputReplaced):
        write(root, tmp_path, b"two", "a.md", expected=expected)
    write(root, tmp_path, b"two", "a.md", expected=stamp_at(root, "a.md"))
    assert (tmp_path / "a.md").read_bytes() == b"two"


def test_nothing_is_written_through_a_link(root, tmp_path):
    """Neither through a folder nor through the file."""
    (tmp_path / "else").mkdir()
    (tmp_path / "a").symlink_to(tmp_path / "else")
    with pytest.raises(TargetRefused):
        write(root, tmp_path, b"one", "a", "b.md")
    assert list((tmp_path / "else").iterdir()) == []
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "b.md").symlink_to(tmp_path / "mine")
    write(root, tmp_path, b"one", "b.md", expected=stamp_at(root, "b.md"))
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_only_a_regular_file_has_a_hash(tmp_path):
    """Nothing waits for a FIFO, and no link is followed."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    assert [digest_at(tmp_path, (name,)) for name in ("fifo", "link", "folder")] == ["", "", ""]
