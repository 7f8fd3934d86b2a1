"""Where a disk is full, every command says which file it could not write and what to do, and leaves no half of one."""

import errno
import os

import pytest

from katod import cli, durable
from katod.cli import exporting
from katod.errors import KatodError
from tests.looping import each
from tests.support.records import Claude, says, user

SESSION = "claude:6f1c2c1e"
COMMANDS = [
    ("rename", SESSION, "a title"), ("star", SESSION), ("label", SESSION, "x"), ("start", SESSION), ("capture", SESSION),
    ("keep", SESSION), ("forget", SESSION, "--yes"), ("pause",), ("allow", "{home}/app"),
    ("export", SESSION, "-o", "{home}/copy.md"), ("export", "--all", "-o", "{home}/copies"),
    ("rescue", "--restore", "claude:00000002"), ("config", "init"),
]  # fmt: skip

KEPT = (
    ".katod-export.jsonl",
    "/state/ledger.db",
    "/state/allowed.json",
    "-wal",
    "-shm",
)  # that katod opens, and goes on with


def full(*_, **__):
    """Fail as the system does where it is given a descriptor: without a name."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullFile:
    """An open file to which nothing can be written."""

    write = writelines = flush = staticmethod(full)

    def __init__(self, fd, *_, **__):
        self.fd = fd

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)


@pytest.fixture
def lost(world):
    """Have a session that is there, and one that its agent deleted."""
    world.configure(rescue=True)
    Claude(world).say(user("hello"), says("yes"))
    gone = Claude(world, "00000002-8a53-4c3e-9b5e-0a1d5f8f2c11").say(user("hello"), says("yes"))
    os.utime(gone.path, (1_700_000_000, 1_700_000_000))
    world.once()
    gone.path.unlink()
    world.once()
    (world.project / ".katod.toml").write_text('[content]\ntools = "full"\n')


@each("command", COMMANDS)
def test_a_full_disk_is_said_with_the_file_and_what_to_do(world, lost, monkeypatch, command):
    """In one line, as all other errors are."""
    if command == ("config", "init"):
        world.config.unlink()
    before = files(world)
    command = [word.format(home=world.home) for word in command]
    with monkeypatch.context() as patched:
        for name in ("write", "write_at", "sync"):
            patched.setattr(durable, name, full)
        patched.setattr(exporting, "open", FullFile, raising=False)
        failed = world._invoke(command, 1).exception
    said = cli._reason(failed)
    assert f"{world.home}/" in said, said
    assert "No space left on device" in said
    assert "free some space on its disk" in said or "run it again when the disk is writable" in said
    assert isinstance(failed, KatodError | OSError)
    assert [path for path in files(world) - before if not path.endswith(KEPT)] == []


def files(world):
    """Return the paths of all files."""
    return {str(path) for path in world.home.rglob("*") if path.is_file()}
