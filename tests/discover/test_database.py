"""Sessions in a database: what is seen of them, and that nothing is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from katod.discover.database import sessions
from katod.errors import SourceError, SourceGone
from katod.readonly import reading
from katod.tail.reader import Cursor
from katod.tail.source import open_source
from tests.support.records import OTHER, OpenCode, says, user
from tests.support.world import World


@pytest.fixture
def store(world: World) -> OpenCode:
    """A database with one session, which its owner has open."""
    made = OpenCode(world)
    made.say(user("hello"), says("hi"))
    return made


def test_only_what_changed_looks_changed(world: World, store: OpenCode) -> None:
    """Each session has a stat of its own."""
    other = OpenCode(world, OTHER)
    other.count = 100
    other.say(user("hello")).age()
    store.say(says("something"))
    before = dict(sessions(str(store.path)))
    assert len(before) == 2
    store.say(says("more"))
    after = dict(sessions(str(store.path)))
    assert [path for path in after if after[path] != before[path]] == [f"{store.path}#{store.id}"]


def test_reading_leaves_the_folder_as_it_is(store: OpenCode) -> None:
    """No file is made, whether the owner is there, has gone in order, or has crashed."""

    def look() -> set[str]:
        before = set(os.listdir(store.path.parent))
        try:
            assert dict(sessions(str(store.path)))
            with open_source(f"{store.path}#{store.id}") as file:
                assert file.read(Cursor(), 0).lines
        except SourceError:
            assert before == {"opencode.db", "opencode.db-wal"}
        assert set(os.listdir(store.path.parent)) == before
        return before

    assert "opencode.db-wal" in look()
    log = Path(f"{store.path}-wal").read_bytes()
    store.database.close()
    assert look() == {"opencode.db"}
    Path(f"{store.path}-wal").write_bytes(log)
    assert look() == {"opencode.db", "opencode.db-wal"}


def test_a_reader_never_stops_the_owner(store: OpenCode) -> None:
    """While katod reads, its owner writes without waiting."""
    store.database.execute("PRAGMA busy_timeout = 0")
    with reading(str(store.path)) as database:
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM part").fetchone()
        store.say(says("written meanwhile"))
        database.execute("SELECT count(*) FROM part").fetchone()


def test_a_session_that_was_deleted_is_gone(store: OpenCode) -> None:
    """A vanished source is no error of the database."""
    store.run(("DELETE FROM session WHERE id = ?", (store.id,)))
    with pytest.raises(SourceGone), open_source(f"{store.path}#{store.id}"):
        pass


def test_another_database_is_a_source_error(tmp_path: Path) -> None:
    """What has none of the tables, or is no database, is named."""
    path = tmp_path / "x.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(SourceError):
        dict(sessions(str(path)))


def test_later_reads_leave_out_what_is_settled(world: World, store: OpenCode) -> None:
    """One more answer costs what is open, not the whole session."""
    for number in range(20):
        store.say(user(f"prompt {number}"), says("x" * 5000))
    with open_source(f"{store.path}#{store.id}") as file:
        first = file.read(Cursor(), 0)
    store.say(says("the end"))
    with open_source(f"{store.path}#{store.id}") as file:
        later = file.read(first.cursor, 0)
    assert len(first.lines[0].data) > 100_000
    assert len(later.lines[0].data) < 20_000
    assert b"the end" in later.lines[0].data
    with open_source(f"{store.path}#{store.id}") as file:
        assert not file.read(later.cursor, 0).lines


def test_a_reader_takes_no_lock_that_a_starting_owner_meets(store: OpenCode) -> None:
    """An owner that turns the log on without patience, while katod reads, is not told that it is locked."""
    keep = [path.read_bytes() for path in sorted(store.path.parent.iterdir())]
    names = sorted(path.name for path in store.path.parent.iterdir())
    store.database.close()
    for name, data in zip(names, keep, strict=True):
        (store.path.parent / name).write_bytes(data)
    owner = (
        "import sqlite3, sys; owner = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None);"
        "owner.execute('PRAGMA journal_mode = WAL'); owner.execute('UPDATE session SET title = 1')"
    )
    with reading(str(store.path)) as database:
        database.execute("BEGIN")
        assert database.execute("SELECT count(*) FROM part").fetchone()
        subprocess.run([sys.executable, "-c", owner, str(store.path)], check=True, timeout=60)
