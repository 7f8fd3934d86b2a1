"""Directories of outputs: created and marked once, and recognised later."""

import os
import stat

import pytest

from katod.errors import OutputError
from katod.write.root import mark_root, require_root, write_marker

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def test_an_output_directory_is_created_with_a_marker(tmp_path):
    """The directory and its parents are private, and contain an empty hidden file with a random name."""
    root = tmp_path / "notes" / "katod"
    marker = mark_root(root)
    assert os.listdir(root) == [marker]
    assert marker.startswith(".katod-")
    assert (root / marker).read_bytes() == b""
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    other = mark_root(tmp_path / "other")
    assert other != marker


def test_a_marker_is_adopted(tmp_path):
    """A directory that another ledger marked keeps its one marker."""
    marker = mark_root(tmp_path)
    (tmp_path / ".katod-mine").touch()
    assert mark_root(tmp_path) == marker
    assert len(os.listdir(tmp_path)) == 2


def test_a_directory_that_cannot_be_marked_is_an_output_error(tmp_path):
    """The error names the directory and the reason."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file: cannot be written: "):
        mark_root(tmp_path / "file")


def test_a_directory_with_its_marker_is_as_it_was(tmp_path):
    """Nothing is raised for the directory that was marked, nor for any other that exists and needs no marker."""
    require_root(tmp_path / "n.md", tmp_path, mark_root(tmp_path))
    require_root(tmp_path / "n.md", tmp_path, "", dev=-1)


@pytest.mark.whole
@pytest.mark.parametrize("there", [False, True], ids=["missing", "empty"])
def test_a_directory_that_is_missing_or_unmarked_is_named_with_what_to_do(tmp_path, there):
    """The error says which directory, and which command accepts an empty one."""
    root = tmp_path / "my notes"
    if there:
        root.mkdir()
    with pytest.raises(OutputError) as caught:
        require_root(root / "n.md", root, ".katod-1")
    assert str(root) in caught.value.what
    assert caught.value.hint.endswith(f"mkdir -p '{root}' && touch '{root}'/.katod-1")


def test_a_lost_marker_is_written_again(tmp_path):
    """It is private and empty; a marker that is there, and the directory's content, are left alone."""
    marker = mark_root(tmp_path)
    (tmp_path / marker).unlink()
    (tmp_path / "mine.md").write_text("mine")
    write_marker(tmp_path, marker)
    write_marker(tmp_path, marker)
    assert stat.S_IMODE((tmp_path / marker).stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == [marker, "mine.md"]


@pytest.mark.whole
@pytest.mark.parametrize("name", ["../x", "x", ".katod-1", ""])
def test_only_a_marker_is_written(tmp_path, name):
    """A damaged ledger cannot make katod create another file."""
    with pytest.raises(OutputError, match="not a marker"):
        write_marker(tmp_path, name)
    assert os.listdir(tmp_path) == []


def test_a_marker_is_not_written_into_a_directory_that_does_not_exist(tmp_path):
    """Its disk may not be mounted: the directory is not created."""
    with pytest.raises(OutputError, match="No such file") as caught:
        write_marker(tmp_path / "gone", f".katod-{'0' * 16}")
    assert "mounted" in caught.value.hint
    assert not (tmp_path / "gone").exists()
