"""What katod wrote is deleted on request: never through links, and nothing else."""

import errno
import os

import pytest

from katod import durable
from katod.errors import OutputError
from katod.write.output import OutputPath
from katod.write.remove import remove_empty, remove_folder, remove_output, why_not_removed
from katod.write.root import mark_root

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")
ASSET = "0123456789abcdef.png"


@pytest.fixture
def place(tmp_path):
    root = tmp_path / "notes"
    place = OutputPath(root, ("shop", "n.md"), mark_root(root))
    place.path.parent.mkdir()
    place.path.write_text("words")
    return place


def folder_of(place):
    beside = place._replace(parts=("shop", "n.assets"))
    beside.path.mkdir()
    (beside.path / ASSET).write_text("picture")
    return beside


def test_an_output_is_deleted_once(place):
    """One that is gone already is no error; one that is only looked at stays."""
    assert why_not_removed(place) == ""
    assert place.path.exists()
    for _ in range(2):
        remove_output(place)
    assert not place.path.exists()


def linked(place):
    place.path.unlink()
    place.path.symlink_to(place.root.parent / "mine")


def hard_linked(place):
    os.link(place.path, place.root.parent / "other")


def in_a_linked_folder(place):
    place.path.parent.rename(place.root.parent / "mine.d")
    place.path.parent.symlink_to(place.root.parent / "mine.d")


def is_a_folder(place):
    place.path.unlink()
    place.path.mkdir()


def unmounted(place):
    (place.root / place.marker).unlink()


@pytest.mark.whole
@pytest.mark.parametrize("change", [linked, hard_linked, in_a_linked_folder, is_a_folder, unmounted])
def test_anything_else_stays(place, change):
    """A link, a file with two names, a folder, and whatever is on a disk that is not mounted."""
    (place.root.parent / "mine").write_text("mine")
    change(place)
    before = sorted(place.root.parent.rglob("*"))
    with pytest.raises(OutputError) as raised:
        remove_output(place)
    assert why_not_removed(place) == raised.value.what
    assert sorted(place.root.parent.rglob("*")) == before
    assert (place.root.parent / "mine").read_text() == "mine"


def test_a_folder_goes_with_its_attachments(place):
    """One that is gone already is no error."""
    beside = folder_of(place)
    for _ in range(2):
        remove_folder(beside)
    assert not beside.path.exists()
    assert place.path.exists()


def test_other_files_in_a_folder_stay(place):
    """Files that a person put there stay, links and what they lead to as well; attachments go."""
    beside = folder_of(place)
    (beside.path / "mine.txt").write_text("mine")
    (beside.path / "fedcba9876543210.png").symlink_to(beside.path / "mine.txt")
    with pytest.raises(OutputError, match="not empty"):
        remove_folder(beside)
    assert sorted(os.listdir(beside.path)) == ["fedcba9876543210.png", "mine.txt"]


def test_a_linked_folder_stays(place):
    """Nothing in the folder that a link leads to is deleted."""
    beside = folder_of(place)
    beside.path.rename(place.root.parent / "mine")
    beside.path.symlink_to(place.root.parent / "mine")
    with pytest.raises(OutputError):
        remove_folder(beside)
    assert os.listdir(place.root.parent / "mine") == [ASSET]


def test_nothing_is_made_where_there_is_nothing(place):
    """Neither the folder nor those above it."""
    gone = place._replace(parts=("never", "was", "n.assets"))
    remove_folder(gone)
    assert not (place.root / "never").exists()


def empty_of(place):
    beside = place._replace(parts=("shop", "empty"))
    beside.path.mkdir()
    return beside


DELETED = [(remove_output, lambda place: place), (remove_folder, folder_of), (remove_empty, empty_of)]


@pytest.mark.whole
@pytest.mark.parametrize(("remove", "prepared"), DELETED)
def test_what_was_deleted_stays_so_after_a_power_loss(place, remove, prepared, monkeypatch):
    """The folder that it was in is synced without it."""
    one, synced, sync = prepared(place), [], durable.sync_names

    def noted(fd):
        synced.append((os.fstat(fd).st_ino, one.path.exists()))
        sync(fd)

    monkeypatch.setattr(durable, "sync_names", noted)
    remove(one)
    assert synced == [(place.path.parent.stat().st_ino, False)]


@pytest.mark.whole
@pytest.mark.parametrize(("remove", "prepared"), DELETED)
def test_nothing_is_deleted_where_a_disk_may_not_be_mounted(place, remove, prepared):
    """The root has lost what marks it: what has the same path there is something else."""
    one = prepared(place)
    unmounted(place)
    with pytest.raises(OutputError):
        remove(one)
    assert one.path.exists()


@pytest.mark.whole
@pytest.mark.parametrize(("remove", "prepared"), DELETED)
@pytest.mark.parametrize("is_linked", [False, True])
def test_what_cannot_be_deleted_is_named(place, remove, prepared, is_linked, monkeypatch):
    """With its path and the reason."""
    one = prepared(place)
    if is_linked:
        in_a_linked_folder(place)
    else:
        monkeypatch.setattr(os, "rmdir" if remove is not remove_output else "unlink", fails)
    with pytest.raises(OutputError) as caught:
        remove(one)
    assert caught.value.path == one.path
    assert is_linked or caught.value.what == f"cannot be deleted: {os.strerror(errno.EIO)}"
    assert one.path.exists()


def fails(*_arguments, **_named):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_folder_with_something_in_it_is_not_empty(place):
    """It stays, and that is no error; nor is it that there is none any more."""
    one = empty_of(place)
    (one.path / "mine.txt").write_text("mine")
    remove_empty(one)
    assert (one.path / "mine.txt").exists()
    (one.path / "mine.txt").unlink()
    for _ in range(2):
        remove_empty(one)
    assert not one.path.exists()
