"""Whether the files of the state directory are still those that this process opened."""

import os

import pytest

from katod.errors import StateLost
from katod.service.lock import LOCK_NAME, Lock
from katod.service.openstate import OpenState
from katod.store.ledger import LEDGER_NAME
from tests.looping import each

LOG = f"{LEDGER_NAME}-wal"


@pytest.fixture
def state(tmp_path):
    """Return a state directory with files as katod has them."""
    for name in (LEDGER_NAME, LOG):
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def held(state):
    """Return what a katod has open in it."""
    lock = Lock.take(state)
    found = OpenState(state, lock)
    assert found.lost() == []
    yield found
    lock.release()


def test_nothing_is_lost_while_files_only_grow(held, state):
    """Their content, and other files in the directory, do not count."""
    (state / LEDGER_NAME).write_bytes(b"more")
    (state / "paused").touch()
    held.require()
    assert held.has_ledger


@each("name", [LOCK_NAME, LEDGER_NAME, LOG])
def test_a_file_that_is_deleted_or_replaced_is_lost(tmp_path_factory, name):
    """The error names the directory and the file, and says what to do; only without the ledger do recordings end."""
    state = tmp_path_factory.mktemp("state")
    for file in (LEDGER_NAME, LOG):
        (state / file).touch()
    lock = Lock.take(state)
    held = OpenState(state, lock)
    held.require()
    (state / "new").touch()
    os.rename(state / "new", state / name)
    assert held.lost() == [name]
    (state / name).unlink()
    with pytest.raises(StateLost, match=f"removed or replaced: {name}") as caught:
        held.require()
    assert (caught.value.path, "restart katod" in caught.value.hint) == (state, True)
    assert held.has_ledger is (name != LEDGER_NAME)
    lock.release()


def test_the_log_of_the_ledger_counts_once_there_is_one(state):
    """SQLite creates it with the first transaction."""
    (state / LOG).unlink()
    lock = Lock.take(state)
    held = OpenState(state, lock)
    assert held.lost() == []
    (state / LOG).touch()
    assert held.lost() == []
    (state / LOG).unlink()
    assert held.lost() == [LOG]
    lock.release()


def test_what_cannot_be_told_is_not_lost(held, monkeypatch):
    """The disk may answer again."""

    def fail(*_arguments, **_named):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "stat", fail)
    assert held.lost() == []


def test_all_is_lost_with_the_directory(held, state):
    """Whatever is at its path now."""
    state.rename(state.with_name("aside"))
    assert held.lost() == [LOCK_NAME, LEDGER_NAME, LOG]
    state.touch()
    assert held.lost() == [LOCK_NAME, LEDGER_NAME, LOG]
    state.unlink()
    state.with_name("aside").rename(state)
    assert held.lost() == []
