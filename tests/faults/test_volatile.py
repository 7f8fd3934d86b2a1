"""The model of a disk that loses power: what was synced survives each crash, and each loss that it allows occurs."""

import random
import stat
from itertools import count

import pytest

from .volatile import VolatileDisk

FILE, FOLDER = stat.S_IFREG | 0o600, stat.S_IFDIR | 0o700


def made(*paths):
    """Return a disk with empty files, all of it synced."""
    disk = VolatileDisk(count().__next__)
    for path in paths:
        disk.create(path, FILE)
    disk.sync_all()
    return disk


def survivors(begin, seeds=200):
    """Return what crashes leave of a disk: the contents of its files by path, each once."""
    found = set()
    for seed in range(seeds):
        disk = begin()
        disk.crash(random.Random(seed).randint)
        found.add(frozenset((path, bytes(node.data)) for path, node in disk.paths().items()))
    return [dict(files) for files in found]


def test_what_was_synced_survives():
    """A file with its name and its data, whatever else is pending."""

    def begin():
        disk = made()
        node = disk.create("/a", FILE)
        disk.write(node, 0, b"kept")
        disk.sync(node)
        disk.sync(disk.find("/"))
        disk.write(node, 4, b"lost")
        disk.create("/b", FILE)
        return disk

    found = survivors(begin)
    assert all(files["/a"].startswith(b"kept") for files in found)
    assert {files["/a"] for files in found} >= {b"kept", b"keptlost", b"kept\0\0\0\0", b"keptl\0\0\0"}


def test_a_sync_of_a_file_does_not_promise_its_name():
    """Nor does the sync of a directory promise data."""

    def begin():
        disk = made("/b")
        disk.sync(disk.create("/a", FILE))
        disk.write(disk.find("/b"), 0, b"x")
        disk.sync(disk.find("/"))
        disk.create("/c", FILE)
        disk.sync(disk.find("/c"))
        return disk

    found = survivors(begin)
    assert {"/c" in files for files in found} == {True, False}
    assert all("/a" in files for files in found)
    assert {files["/b"] for files in found} == {b"", b"x", b"\0"}


def test_two_files_survive_in_either_order():
    """What was written first may be lost alone."""

    def begin():
        disk = made("/a", "/b")
        disk.write(disk.find("/a"), 0, b"1")
        disk.write(disk.find("/b"), 0, b"2")
        return disk

    found = survivors(begin)
    assert {"/a": b"1", "/b": b""} in found
    assert {"/a": b"", "/b": b"2"} in found


def test_a_rename_replaces_at_once_or_not_at_all():
    """There is always a file with the name, and never a second one; its data may be missing."""

    def begin():
        disk = made("/a")
        disk.write(disk.find("/a"), 0, b"old")
        disk.sync_all()
        disk.write(disk.create("/new", FILE), 0, b"new")
        disk.rename("/new", "/a")
        return disk

    found = survivors(begin)
    assert all(set(files) in ({"/a"}, {"/a", "/new"}) for files in found)
    assert {files["/a"] for files in found} >= {b"old", b"new", b""}
    assert all(files["/a"] == b"old" for files in found if "/new" in files)


def two_folders():
    """Return a disk with two empty folders, which are on it."""
    disk = made()
    for path in ("/one", "/two"):
        disk.create(path, FOLDER)
    disk.sync_all()
    return disk


@pytest.mark.parametrize("synced", ["/one", "/two"])
def test_a_rename_between_directories_is_on_disk_with_either(synced):
    """So is what was done before in both of them: the file has one name."""

    def begin():
        disk = two_folders()
        disk.create("/one/a", FILE)
        disk.rename("/one/a", "/two/a")
        disk.sync(disk.find(synced))
        return disk

    assert survivors(begin) == [{"/two/a": b""}]


def test_directories_may_keep_their_names_independently():
    """Where there is no journal, what was done later in one may survive what was done before in another."""

    def begin():
        disk = two_folders()
        disk.create("/one/a", FILE)
        disk.create("/two/a", FILE)
        return disk

    found = survivors(begin)
    assert {frozenset(files) for files in found} == {
        frozenset(names) for names in ((), ("/one/a",), ("/two/a",), ("/one/a", "/two/a"))
    }


def test_an_overwritten_sector_is_old_or_new():
    """What is added may end at any byte."""

    def begin():
        disk = made("/a")
        disk.write(disk.find("/a"), 0, bytes([1]) * 1024)
        disk.sync_all()
        disk.write(disk.find("/a"), 0, bytes([2]) * 1024)
        return disk

    found = {files["/a"] for files in survivors(begin)}
    assert found == {bytes([1]) * 1024, bytes([2]) * 512 + bytes([1]) * 512, bytes([2]) * 1024}


def test_the_number_of_a_lost_file_is_given_again():
    """As file systems do: content tells the files apart."""
    disk = made()
    number = disk.create("/a", FILE).number
    while "/a" in disk.paths():
        disk = made()
        disk.create("/a", FILE)
        disk.crash(random.Random(number).randint)
        number += 1
    assert disk.create("/b", FILE).number == 2
