"""The lock: one katod per state directory."""

import errno
import fcntl
import os
import stat

import pytest

from katod import durable
from katod.errors import AlreadyRunning, LedgerError
from katod.serve.access.token import own_token
from katod.serve.address import announced
from katod.service import interrupted
from katod.service.lock import LOCK_NAME, Lock, holder
from katod.setup import made
from katod.store.statefolder import exposed
from tests.support.records import Claude, says, user
from tests.support.world import SESSION, World


@pytest.fixture
def state(tmp_path):
    """Return a state directory that does not exist yet."""
    return tmp_path / "a" / "state"


def test_the_state_directory_is_made_private(state):
    """Taking the lock creates the directory and its parents, accessible to the owner only."""
    Lock.take(state).release()
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / LOCK_NAME).stat().st_mode) == 0o600


def test_the_state_directory_has_its_name_on_disk(state, monkeypatch):
    """So have its parents that are new, from above; later, nothing is left to sync."""
    synced = []
    monkeypatch.setattr(durable, "sync_names", synced.append)
    Lock.take(state).release()
    assert synced == [state.parents[1], state.parent]
    Lock.take(state).release()
    assert len(synced) == 2


def test_a_directory_that_was_there_keeps_its_mode(state):
    """It may be for other programs, too; what katod creates in it is private by itself."""
    state.mkdir(parents=True)
    state.chmod(0o755)
    Lock.take(state).release()
    assert stat.S_IMODE(state.stat().st_mode) == 0o755
    assert stat.S_IMODE((state / LOCK_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o775])
def test_a_directory_that_others_can_write_to_is_refused(state, mode):
    """Such as /tmp: they could put their own files in place of katod's. It stays as it is."""
    state.mkdir(parents=True)
    (state / "of others").touch()
    state.chmod(mode)
    with pytest.raises(LedgerError, match="the state directory can be written to by others") as caught:
        Lock.take(state)
    assert "KATOD_STATE_DIR" in caught.value.hint
    assert stat.S_IMODE(state.stat().st_mode) == mode
    assert [path.name for path in state.iterdir()] == ["of others"]


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_an_empty_directory_becomes_private(state, mode):
    """As a umask, or whoever set the machine up, made it for katod."""
    state.mkdir(parents=True)
    state.chmod(mode)
    assert exposed(state) is None
    Lock.take(state).release()
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


COMMANDS = [
    ["pause"],
    ["rename", SESSION, "a title"],
    ["star", SESSION],
    ["capture", SESSION],
    ["allow", "shop"],
    ["usage"],
    ["setup", "--yes"],
    ["export", "--all", "-o", "all"],
    ["export", "--all", "-o", "shared"],
    pytest.param(["export", "--all", "-f", "parquet", "-o", "tables"], marks=pytest.mark.slow),  # needs an extra
]


@pytest.mark.whole
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_whatever_is_run_first_leaves_a_directory_that_katod_can_use(tmp_path, monkeypatch, command):
    """An empty one that others can write to becomes private before anything is in it: `katod run` refuses no other."""
    world = World(tmp_path / "home", monkeypatch, seen_empty=False)
    world.configure(machine="desk", folders=[str(world.home / "shared")])
    (world.home / "shop").mkdir()
    (world.home / "shop" / ".katod.toml").write_text("[recording]\nexclude = true\n")
    (world.home / "shared").mkdir()
    (world.home / ".claude").mkdir()
    make = Claude(world)
    make.say(user("hello"), says("hello, too"))
    world.state.mkdir()
    world.state.chmod(0o775)
    monkeypatch.chdir(world.home)
    world.cli(*command)
    assert list(world.state.iterdir())
    assert stat.S_IMODE(world.state.stat().st_mode) == 0o700
    Lock.take(world.state).release()


@pytest.mark.whole
@pytest.mark.parametrize(
    "write",
    [
        own_token,
        lambda state: interrupted.leave(state, [interrupted.Interrupted("", 1, "", "")]),
        lambda state: made.note(state, [state]),
    ],
)
def test_whatever_is_written_first_is_written_to_a_private_directory(state, write):
    """One that is not empty is left to whoever uses it."""
    state.mkdir(parents=True)
    state.chmod(0o777)
    write(state)
    assert list(state.iterdir())
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    state.chmod(0o777)
    write(state)
    assert stat.S_IMODE(state.stat().st_mode) == 0o777


def test_a_server_makes_an_empty_directory_private(state):
    """Also one that has its token elsewhere."""
    state.mkdir(parents=True)
    state.chmod(0o777)
    with announced(state, "127.0.0.1", 1):
        assert stat.S_IMODE(state.stat().st_mode) == 0o700


def test_a_file_system_without_locks_is_named(state, monkeypatch):
    """As NFS without its daemon: no katod runs there, and none is said to."""

    def flock(_fd, _how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    Lock.take(state).release()
    (state / LOCK_NAME).write_text("4242\n")
    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LedgerError, match="its file system has no locks: No locks available") as caught:
        Lock.take(state)
    assert "KATOD_STATE_DIR" in caught.value.hint
    assert holder(state) is None


def test_a_lock_that_is_held_names_its_holder(state):
    """The error has the id of the running process, and a hint how to see what it does."""
    held = Lock.take(state)
    with pytest.raises(AlreadyRunning, match=f"PID {os.getpid()}") as caught:
        Lock.take(state)
    assert "katod status" in caught.value.hint
    held.release()


def test_a_refused_lock_leaves_no_descriptor(state, monkeypatch):
    """A refused lock closes its descriptor."""
    held = Lock.take(state)
    opened, opening = [], os.open
    monkeypatch.setattr(os, "open", lambda *given: opened.append(opening(*given)) or opened[-1])
    with pytest.raises(AlreadyRunning):
        Lock.take(state)
    [fd] = opened
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    held.release()


def test_a_released_lock_is_free(state):
    """A released lock can be taken again at once."""
    Lock.take(state).release()
    Lock.take(state).release()


def test_the_holder_is_found_while_it_runs_only(state):
    """The process id is returned while the lock is held, and None before and after."""
    assert holder(state) is None
    held = Lock.take(state)
    assert holder(state) == os.getpid()
    held.release()
    assert holder(state) is None


def test_an_old_process_id_is_overwritten(state):
    """A longer id of an earlier holder is overwritten completely."""
    state.mkdir(parents=True)
    (state / LOCK_NAME).write_text("4194304999\n")
    held = Lock.take(state)
    assert holder(state) == os.getpid()
    held.release()


def test_a_link_in_place_of_the_lock_file_is_refused(state, tmp_path):
    """Nothing is written through a symbolic link."""
    target = tmp_path / "target"
    state.mkdir(parents=True)
    (state / LOCK_NAME).symlink_to(target)
    with pytest.raises(LedgerError, match="cannot be used"):
        Lock.take(state)
    assert not target.exists()


@pytest.mark.fault("file that never ends or waits")
def test_a_fifo_in_place_of_the_lock_file_is_refused(state):
    """Neither the daemon nor a command that asks for it waits."""
    state.mkdir(parents=True)
    os.mkfifo(state / LOCK_NAME)
    with pytest.raises(LedgerError, match="not a regular file"):
        Lock.take(state)
    assert holder(state) is None


def test_a_file_in_place_of_the_directory_is_named(state):
    """A state directory that cannot be created is an error with its path."""
    state.parent.mkdir()
    state.write_text("")
    with pytest.raises(LedgerError, match="cannot be used") as caught:
        Lock.take(state)
    assert caught.value.path == state
