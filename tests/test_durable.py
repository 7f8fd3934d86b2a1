"""The calls that outlive lost power: what is synced, and in which order."""

import fcntl
import os

import pytest

from katod import durable
from katod.smallfile import write_small
from katod.store import integrity

FULL = 51  # F_FULLFSYNC of macOS


@pytest.fixture
def calls(monkeypatch):
    """Return the calls that change the disk, as they are made: the name of each, and what it names."""
    found = []

    def noted(name, real):
        def call(*given, **named):
            found.append((name, *(one for one in given if isinstance(one, str))))
            return real(*given, **named)

        return call

    for name in ("mkdir", "fsync", "fdatasync", "rename", "write"):
        if hasattr(os, name):
            monkeypatch.setattr(os, name, noted(name, getattr(os, name)))
    return found


@pytest.fixture
def mac(monkeypatch):
    """Return the descriptors that were synced as macOS does it, which fails for those in a set."""
    synced, lacking = [], set()

    def control(fd, what):
        assert what == FULL
        if fd in lacking:
            raise OSError(45, "Operation not supported")
        synced.append(fd)

    monkeypatch.setattr(durable, "_FULL", FULL)
    monkeypatch.setattr(fcntl, "fcntl", control)
    return synced, lacking


def test_a_file_that_is_written_as_a_whole_is_on_disk_before_it_has_its_name(tmp_path, calls):
    """Whoever finds the name finds the whole content; then the name is on disk."""
    write_small(tmp_path / "note", b"words")
    names = [name for name, *_ in calls]
    assert names == ["write", "fdatasync" if hasattr(os, "fdatasync") else "fsync", "rename", "fsync"]


def test_each_folder_is_on_disk_before_the_next_one_is_made(tmp_path, calls):
    """Otherwise, lost power could take the upper one with all that is in it."""
    durable.make_folders(tmp_path / "a" / "b", 0o700)
    assert [name for name, *_ in calls] == ["mkdir", "fsync"] * 2
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    durable.make_folders(tmp_path / "a" / "b", 0o700)
    assert len(calls) == 4


def test_on_macos_data_leaves_the_cache_of_the_drive(tmp_path, mac, calls):
    """`fsync` alone leaves it there; for files and folders alike."""
    synced, _ = mac
    with (tmp_path / "note").open("wb") as file:
        durable.sync(file.fileno())
        assert synced == [file.fileno()]
    durable.sync_names(tmp_path)
    assert (len(synced), calls) == (2, [])


def test_a_file_system_without_a_full_sync_is_synced_as_far_as_it_goes(tmp_path, mac, calls):
    """Network and foreign file systems refuse it."""
    synced, lacking = mac
    with (tmp_path / "note").open("wb") as file:
        lacking.add(file.fileno())
        durable.sync(file.fileno())
    assert (synced, calls) == ([], [("fsync",)])


def test_the_ledger_is_synced_fully_where_there_is_such_a_thing(tmp_path):
    """With each commit, and with each checkpoint of its log."""
    connection = integrity.connect(tmp_path / "ledger.db")
    settings = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("fullfsync", "checkpoint_fullfsync")]
    connection.close()
    assert settings == [1, 1]


def test_all_is_written_however_little_is_taken_at_once(tmp_path, monkeypatch):
    """A disk that is almost full takes less than it is given."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:2]))
    fd = durable.create(tmp_path / "note", os.O_WRONLY, 0o600)
    durable.write_all(fd, b"seven words")
    os.close(fd)
    assert (tmp_path / "note").read_bytes() == b"seven words"
    with pytest.raises(FileExistsError):
        durable.create(tmp_path / "note", os.O_WRONLY, 0o600)
