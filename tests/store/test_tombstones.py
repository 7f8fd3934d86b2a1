"""Tombstones: found by path, identity and session, and readable by nobody."""

import pytest

from katod.model import Cursor, Identity, SessionKey, Stat
from katod.store.collections import ForgottenSource, Tombstones
from katod.store.rows import SourceRow
from tests.support.parts import memory_ledger

KEY = SessionKey("claude", "6f1c")
SOURCE = SourceRow(1, 1, "/home/me/zanzibar/6f1c.jsonl", Identity(KEY), Stat(9, 8, 7, 6))
REST = ForgottenSource(SOURCE.seen, 9, 5, Cursor(5), 8, ["claude:6f1c:a:0"])


@pytest.fixture
def stones():
    found = Tombstones(())
    found.add(found.make(SOURCE, REST, 12))
    return found


def test_a_tombstone_is_found_by_path_identity_and_session(stones):
    """A file is recognised where it was and where it was moved to, and any other file of its session by that."""
    assert stones.of_source(SOURCE.path, Identity(SessionKey("codex", "x"))) is not None
    assert stones.of_source("/elsewhere", SOURCE.identity) is not None
    assert stones.of_source("/elsewhere", Identity(KEY, "another rollout")) is None
    assert stones.of_session(KEY) is not None
    assert stones.of_session(KEY._replace(subagent="a")) is None


def test_without_tombstones_nothing_is_found():
    """A ledger of which nothing was forgotten has no salt to hash with."""
    assert Tombstones(()).of_source(SOURCE.path, SOURCE.identity) is None
    assert Tombstones(()).of_session(KEY) is None


def test_hashes_of_two_ledgers_differ(stones):
    """They are keyed with a random value, which all tombstones of one ledger share."""
    other = Tombstones(())
    row, again = other.make(SOURCE, REST, 12), other.make(SOURCE, REST, 13)
    assert row.path != stones.of_session(KEY).path
    assert (row.salt, row.path) == (again.salt, again.path)


def test_the_ledger_keeps_tombstones_and_nothing_that_can_be_read(stones):
    """The row comes back as it was stored; a second one of the same path replaces it."""
    ledger = memory_ledger()
    row = stones.of_session(KEY)
    for one in (row, row._replace(forgotten_ns=99)):
        ledger.forget([], [one])
    dump = "\n".join(ledger.db.iterdump())
    assert "zanzibar" not in dump
    assert "6f1c" not in dump
    assert ledger.tombstones.of_source(SOURCE.path, SOURCE.identity) == row._replace(forgotten_ns=99)
