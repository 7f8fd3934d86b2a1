"""What `katod usage` keeps: numbers and keyed hashes, which can be lost without loss."""

import sqlite3
import stat
from contextlib import closing

import pytest

from katod.model import START, SessionKey, Stat
from katod.store.usagecache import CACHE_NAME, KeyedHash, UsageCache, UsageSourceRow, forget_usage

KEY = SessionKey("claude", "s1")


def row(cache, path, session="s1"):
    hashes, seen = cache.hashes, Stat(5, 2**62, 1, 2)
    return UsageSourceRow(
        hashes.of(path), hashes.session("claude", session), b"", seen, START, hashes.of("/app"), b"", False, b"k", b"[]", b"{}"
    )  # fmt: skip


def opened(folder, version=1, zone="UTC"):
    cache = UsageCache.open(folder, version, zone)
    assert cache is not None
    return cache


@pytest.fixture
def kept(tmp_path):
    """Return a state directory in which two sources of one session and one of another are known."""
    with closing(opened(tmp_path)) as cache:
        rows = [(row(cache, "/a"), b"1"), (row(cache, "/b"), b"2"), (row(cache, "/c", "s2"), b"3")]
        cache.save(rows, [])
    return tmp_path


def test_what_was_stored_is_known_later(kept):
    """The hashes of paths are the same, as the key is kept with them."""
    with closing(opened(kept)) as cache:
        assert cache.sources() == {
            found.path: found for found in (row(cache, "/a"), row(cache, "/b"), row(cache, "/c", "s2"))
        }
        assert cache.answers(cache.hashes.of("/b")) == b"2"
        assert cache.answers(cache.hashes.of("/elsewhere")) == b""


def test_a_source_that_changed_replaces_what_was_known(kept):
    """And one that is gone is dropped."""
    with closing(opened(kept)) as cache:
        cache.save([(row(cache, "/a"), b"new")], [cache.hashes.of("/b")])
        assert set(cache.sources()) == {cache.hashes.of("/a"), cache.hashes.of("/c")}
        assert [cache.answers(cache.hashes.of(path)) for path in ("/a", "/b", "/c")] == [b"new", b"", b"3"]


def test_only_its_owner_can_read_it(kept):
    """Like the ledger."""
    assert stat.S_IMODE((kept / CACHE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize(("version", "zone"), [(2, "UTC"), (1, "Europe/Berlin")])
def test_what_another_version_or_time_zone_made_is_dropped(kept, version, zone):
    """Its days are others."""
    with closing(opened(kept, version, zone)) as cache:
        assert cache.sources() == {}
    with closing(opened(kept, version, zone)) as cache:
        assert cache.sources() == {}


def test_what_is_gone_may_stay_in_another_time_zone(kept):
    """Under the same hashes; what is known of a source does not hold for one that is there, which is read again."""
    with closing(opened(kept)) as cache:
        before, key = cache.sources(), cache.hashes.key
    for zone in ("Europe/Berlin", "America/New_York"):
        with closing(UsageCache.open(kept, 1, zone, keeps_gone=True)) as cache:
            after = cache.sources()
            assert cache.hashes.key == key
            assert cache.answers(cache.hashes.of("/b")) == b"2"
    assert after.keys() == before.keys()
    for path, found in after.items():
        assert found.seen != before[path].seen
        assert found.seen[:2] == before[path].seen[:2]
        assert found.cursor.offset == 0
        assert found._replace(seen=before[path].seen, cursor=before[path].cursor) == before[path]
    with closing(UsageCache.open(kept, 2, zone, keeps_gone=True)) as cache:
        assert cache.sources() == {}


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(100)])
def test_a_damaged_file_is_replaced(kept, content):
    """Everything in it can be read again."""
    (kept / CACHE_NAME).write_bytes(content)
    with closing(opened(kept)) as cache:
        assert cache.sources() == {}
        cache.save([(row(cache, "/a"), b"1")], [])
    with closing(opened(kept)) as cache:
        assert len(cache.sources()) == 1


def test_without_a_state_directory_nothing_is_kept(tmp_path):
    """A command that reads makes none. A link is not followed either."""
    assert UsageCache.open(tmp_path / "none", 1, "UTC") is None
    (tmp_path / CACHE_NAME).symlink_to(tmp_path / "elsewhere")
    assert UsageCache.open(tmp_path, 1, "UTC") is None
    forget_usage(tmp_path, [KEY])
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_another_process_writes_is_not_waited_for(kept, monkeypatch):
    """What cannot be stored now is read again next time."""
    monkeypatch.setattr("katod.store.usagecache._PATIENCE", 0)
    with closing(sqlite3.connect(kept / CACHE_NAME)) as other, closing(opened(kept)) as cache:
        other.execute("BEGIN EXCLUSIVE")
        cache.save([(row(cache, "/d"), b"4")], [])
        other.rollback()
        assert len(cache.sources()) == 3


def test_forgetting_drops_all_sources_of_a_session(kept):
    """Their bytes are overwritten, too; the other session stays."""
    with closing(opened(kept)) as cache:
        session, other = cache.hashes.session("claude", "s1"), cache.hashes.session("claude", "s2")
    assert session in (kept / CACHE_NAME).read_bytes()
    forget_usage(kept, [KEY._replace(subagent="a1")])
    with closing(opened(kept)) as cache:
        assert set(cache.sources()) == {cache.hashes.of("/c")}
        assert cache.answers(cache.hashes.of("/a")) == b""
    content = (kept / CACHE_NAME).read_bytes()
    assert session not in content
    assert other in content


def test_forgetting_removes_a_file_that_cannot_be_read(kept, tmp_path):
    """It may have the session."""
    (kept / CACHE_NAME).write_bytes(b"no database, but who knows")
    forget_usage(kept, [KEY])
    assert not (kept / CACHE_NAME).exists()
    forget_usage(tmp_path / "none", [KEY])


def test_hashes_depend_on_their_key():
    """Nobody can try out the paths that there may be without it."""
    one, other = KeyedHash(b"1" * 16), KeyedHash(b"2" * 16)
    assert one.of("/a") == KeyedHash(one.key).of("/a") != other.of("/a")
    assert one.number("x") != other.number("x")
    assert KeyedHash.random().key != KeyedHash.random().key
    assert (one.of(""), one.session("claude", "")) == (b"", b"")


@pytest.mark.parametrize(("version", "zone"), [(1, "UTC"), (2, "UTC")])
def test_a_locked_file_stays(kept, monkeypatch, version, zone):
    """Nothing is known of it now, and nothing can be forgotten: that is an error, as the sessions are still in it."""
    monkeypatch.setattr("katod.store.usagecache._PATIENCE", 0)
    before = (kept / CACHE_NAME).stat().st_ino
    with closing(sqlite3.connect(kept / CACHE_NAME)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert UsageCache.open(kept, version, zone) is None
        with pytest.raises(OSError, match="locked") as error:
            forget_usage(kept, [KEY])
        assert error.value.filename == str(kept / CACHE_NAME)
        other.rollback()
    assert (kept / CACHE_NAME).stat().st_ino == before
    with closing(opened(kept)) as cache:
        assert len(cache.sources()) == 3


def test_what_another_version_made_is_overwritten_in_its_file(kept):
    """Who has the file open stores nothing in it any more: its hashes have another key."""
    before = (kept / CACHE_NAME).stat().st_ino
    with closing(opened(kept)) as old, closing(opened(kept, 2)) as new:
        session = old.hashes.session("claude", "s1")
        old.save([(row(old, "/d"), b"4")], [])
        assert (old.sources(), new.sources()) == ({}, {})
    assert (kept / CACHE_NAME).stat().st_ino == before
    assert session not in (kept / CACHE_NAME).read_bytes()


@pytest.mark.parametrize("change", ["DELETE FROM about", "DROP TABLE about", "DROP TABLE sources"])
def test_forgetting_drops_all_rows_if_they_cannot_be_told_apart(kept, change):
    """No other process is using the file then: it can be opened again."""
    with closing(opened(kept)) as cache:
        session = cache.hashes.session("claude", "s1")
    with closing(sqlite3.connect(kept / CACHE_NAME)) as other, other:
        other.execute("PRAGMA secure_delete=ON")
        other.execute(change)
    forget_usage(kept, [KEY])
    assert session not in (kept / CACHE_NAME).read_bytes()
    with closing(opened(kept)) as cache:
        assert cache.sources() == {}
