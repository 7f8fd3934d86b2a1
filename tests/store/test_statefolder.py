"""Whether katod can work with the state directory, and what is said if not."""

import os
import sqlite3
from types import SimpleNamespace

import pytest

from katod.archive import excludedonce, machine
from katod.archive import folders as archives
from katod.archive.folders import ASIDE
from katod.cli import cleared
from katod.cli.saving import _ASKED
from katod.errors import LedgerError
from katod.log import EventLog
from katod.project.allowed import STORE
from katod.rescue import notes
from katod.serve import address
from katod.serve.access import token
from katod.service import control, home, interrupted, pause, recordingfiles, running
from katod.service.lock import LOCK_NAME
from katod.setup import made
from katod.store import statefolder
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.statefolder import trouble_with
from katod.store.usagecache import CACHE_NAME
from katod.tables import dataset

DISK = {
    "f_flag": 0,
    "f_blocks": 10**7,
    "f_bfree": 10**6,
    "f_bavail": 10**6,
    "f_frsize": 4096,
    "f_files": 10,
    "f_ffree": 5,
    "f_favail": 5,
}


@pytest.fixture
def state(tmp_path):
    """Return a state directory with a ledger and a lock."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    Ledger.open(folder, EventLog()).close()
    (folder / "lock").touch(mode=0o600)
    return folder


def on(monkeypatch, **disk):
    """Have every path on a disk with these numbers."""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**DISK | disk))


def as_user(monkeypatch, uid, *closed):
    """Be a user who has no access to files with these names."""
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(os, "access", lambda path, _: os.path.basename(path) not in closed)


def test_a_directory_that_can_be_used_has_no_trouble(state, tmp_path):
    """Nor one that is still to be created, or a link to one; that something else is no directory is said elsewhere."""
    link = tmp_path / "link"
    link.symlink_to(state)
    file = tmp_path / "file"
    file.touch()
    assert [trouble_with(path) for path in (state, tmp_path / "a" / "b", link, file)] == [None] * 4


@pytest.mark.parametrize(
    ("disk", "what", "hint"),
    [
        ({"f_flag": os.ST_RDONLY}, "read-only", "make its disk writable"),
        ({"f_bfree": 10, "f_bavail": 10}, "full disk: 40 kB", "free some space"),
        ({"f_ffree": 0, "f_favail": 0}, "no more files", "free some space"),
    ],
)
def test_a_disk_that_takes_nothing_is_named(state, tmp_path, monkeypatch, disk, what, hint):
    """Full or read-only, also where the directory does not exist yet."""
    on(monkeypatch, **disk)
    for path in (state, tmp_path / "none"):
        trouble = trouble_with(path)
        assert what in trouble.what
        assert hint in trouble.hint


def test_a_disk_that_does_not_count_files_is_not_full(state, monkeypatch):
    """There is no such number on Btrfs."""
    on(monkeypatch, f_files=0, f_ffree=0, f_favail=0)
    assert trouble_with(state) is None


def test_what_root_created_is_given_back(state, monkeypatch):
    """The whole directory, or files in it: one command for all."""
    mine = os.stat(state).st_uid
    as_user(monkeypatch, mine + 1)
    trouble = trouble_with(state)
    assert trouble.what == "belongs to another user"
    assert trouble.hint.endswith(f'sudo chown -R "$(id -u)" {state}')
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: [Foreign(entry) for entry in real(path)])
    as_user(monkeypatch, mine, "lock", LEDGER_NAME)
    trouble = trouble_with(state)
    assert trouble.what == f"has files of another user: {LEDGER_NAME}, lock"
    assert "chown -R" in trouble.hint


class Foreign:
    """An entry of a directory that belongs to somebody else."""

    def __init__(self, entry):
        self.name, self.path, self.is_symlink, self.is_dir = entry.name, entry.path, entry.is_symlink, entry.is_dir

    def stat(self):
        return SimpleNamespace(st_uid=-1)


def test_a_mode_that_is_wrong_is_set(state, monkeypatch):
    """Of the directory, and of files in it."""
    mine = os.stat(state).st_uid
    as_user(monkeypatch, mine, "lock")
    trouble = trouble_with(state)
    assert (trouble.what, trouble.hint) == ("has files that you cannot write: lock", f"chmod -R u+rwX {state}")
    as_user(monkeypatch, mine, "state")
    assert trouble_with(state).hint == f"chmod 700 {state}"


NAMES = [
    STORE, ASIDE, archives.NAME, _ASKED, excludedonce.NAME, home.NAME, interrupted.NAME, machine.NAME, made.NAME,
    pause.NAME, notes.NAME, running.NAME, cleared.NAME, address.NAME, token.NAME, LEDGER_NAME, f"{LEDGER_NAME}-wal",
    CACHE_NAME, LOCK_NAME, control.FOLDER, recordingfiles.FOLDER, dataset.FOLDER,
]  # fmt: skip


def test_all_that_katod_has_there_is_known(state, monkeypatch):
    """Whatever it is, it is named if katod cannot even read it."""
    for name in NAMES:
        (state / name).touch()
        as_user(monkeypatch, os.getuid(), name)
        assert trouble_with(state).what == f"has files that you cannot write: {name}"


def test_what_katod_does_not_need_to_write_is_no_trouble(state, monkeypatch):
    """A file of its person may be as closed as that likes; of katod's own, most are replaced as a whole."""
    for name in ("token", "notes.txt", token.NAME, home.NAME):
        (state / name).touch()
        (state / name).chmod(0o400)
    (state / "token").chmod(0)
    (state / "old").mkdir(mode=0o500)
    monkeypatch.setattr(os, "access", is_given)
    assert trouble_with(state) is None
    (state / "lock").chmod(0o400)
    assert trouble_with(state).what == "has files that you cannot write: lock"


def is_given(path, wanted):
    """Say what the mode of a file gives its owner: root may do anything."""
    return os.stat(path).st_mode >> 6 & wanted == wanted


def test_a_link_and_what_is_gone_are_no_trouble(state, monkeypatch):
    """Links are told by whoever meets them; a file may be removed meanwhile."""
    (state / "lock").unlink()
    (state / "lock").symlink_to("/nowhere")
    assert trouble_with(state) is None


def test_a_path_that_leads_nowhere_says_why(state, monkeypatch):
    """Such as one below a directory that this user may not enter."""

    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "lstat", refuse)
    trouble = trouble_with(state)
    assert (trouble.path, trouble.what) == (state, "cannot be used: Permission denied")
    assert "owner and mode" in trouble.hint


def test_the_ledger_says_what_is_wrong_with_its_directory(state, monkeypatch):
    """Not what SQLite, or the system, makes of it."""

    def fail(*_, **__):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    on(monkeypatch, f_bfree=0, f_bavail=0)
    monkeypatch.setattr(sqlite3, "connect", fail)
    for use in (lambda: Ledger.open(state, EventLog()), lambda: Ledger.read(state)):
        with pytest.raises(LedgerError, match="is on a full disk: 0 kB are free") as raised:
            use()
        assert (raised.value.path, raised.value.hint) == (state, "free some space on its disk")


def test_what_cannot_be_written_names_the_disk(state, monkeypatch):
    """The hint of a transaction that fails while katod runs."""
    on(monkeypatch, f_flag=os.ST_RDONLY)
    assert statefolder.advice_for(str(state / LEDGER_NAME)).endswith(
        "is on a read-only file system: make its disk writable"
    )
    assert statefolder.advice_for("") == "is the disk full?"


def test_what_a_disk_has_of_its_own_is_no_trouble(state, monkeypatch):
    """A volume has a folder of root's; a disk in memory may count no blocks."""
    (state / "lost+found").mkdir()
    as_user(monkeypatch, os.getuid(), "lost+found")
    assert trouble_with(state) is None
    on(monkeypatch, f_blocks=0, f_bfree=0, f_bavail=0)
    assert trouble_with(state) is None


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    """Neither is the directory there, nor can it be created; the same goes for one above it. Its disk may be away."""
    link = tmp_path / "state"
    link.symlink_to("nowhere")
    for path in (link, link / "katod"):
        trouble = trouble_with(path)
        assert (trouble.path, trouble.what) == (link, "is a link that leads nowhere")
        assert trouble.hint == f"is the disk mounted? If what it leads to was deleted: rm {link}"
