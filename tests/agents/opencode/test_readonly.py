"""Reading another program's database leaves no trace and blocks nobody."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.agents.opencode import readonly
from katod.agents.opencode.readonly import decoded, reading, row_time
from katod.agents.opencode.sweep import sessions_in
from katod.errors import SourceError, SourceGone, SourceUnusable
from katod.model import Cursor
from tests.looping import each
from tests.support.records import OpenCode, says


def test_reading_leaves_the_folder_as_it_is(store: OpenCode) -> None:
    """Reading creates and removes no file, whether the owner is running, has exited cleanly, or has crashed."""

    def look() -> set[str]:
        before = set(os.listdir(store.path.parent))
        try:
            assert dict(sessions_in(str(store.path)))
            with AGENTS["opencode"].open(f"{store.path}#{store.id}") as file:
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
    """The owner can write without waiting while katod reads."""
    store.database.execute("PRAGMA busy_timeout = 0")
    with reading(str(store.path)) as database:
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM part").fetchone()
        store.say(says("written meanwhile"))
        database.execute("SELECT count(*) FROM part").fetchone()


def test_a_reader_takes_no_lock_that_a_starting_owner_meets(store: OpenCode) -> None:
    """An owner that enables WAL mode with no busy timeout while katod reads does not get "database is locked"."""
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


# -- databases made to hurt --------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@pytest.mark.whole
@pytest.mark.fault("database that costs without end")
@pytest.mark.parametrize("table", ["session", "message", "part"])
def test_a_view_in_place_of_a_table_is_not_run(store: OpenCode, table: str) -> None:
    """An endless view is refused before its first row."""
    columns = [row[1] for row in store.database.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(f"'x' || i AS {name}" for name in columns)
    store.run(f"ALTER TABLE {table} RENAME TO {table}_", f"CREATE VIEW {table} AS {ENDLESS} SELECT {values} FROM n")
    with pytest.raises(SourceError, match=r"are views|no table of sessions"):
        dict(sessions_in(str(store.path)))


@pytest.mark.fault("database that costs without end")
def test_a_reading_that_takes_too_long_is_given_up(store: OpenCode, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not tried again until the database changes."""
    with monkeypatch.context() as slow:
        slow.setattr(readonly, "_LONGEST", -1.0)
        slow.setattr(readonly, "_OPERATIONS", 1)
        with pytest.raises(SourceUnusable, match="took longer"):
            dict(sessions_in(str(store.path)))
    with pytest.raises(SourceUnusable, match="took longer"):
        dict(sessions_in(str(store.path)))
    store.say(says("a change"))
    assert dict(sessions_in(str(store.path)))


@pytest.mark.whole
@pytest.mark.fault("database that costs without end")
@pytest.mark.parametrize("limit", ["_LARGEST_VALUE", "_LARGEST_TOTAL"])
def test_text_of_an_implausible_size_is_given_up(store: OpenCode, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """A value, or all text together, may only be so large."""
    monkeypatch.setattr(readonly, limit, 2_000)
    store.say(*(says("words " * 200) for _ in range(2)))
    assert dict(sessions_in(str(store.path)))
    store.say(says("words " * 2_000))
    with (
        pytest.raises(SourceUnusable, match="it contains"),
        AGENTS["opencode"].open(f"{store.path}#{store.id}") as file,
    ):
        file.read(Cursor(), 0)


def test_a_database_of_an_unknown_version_is_named(store: OpenCode) -> None:
    """Without the tables that katod reads, it is found but not understood."""
    path = str(store.path).partition("#")[0]
    with pytest.raises(SourceError, match="found, not understood") as why, reading(path) as database:
        database.execute("SELECT id FROM no_such_table")
    assert str(why.value.path) == path


def test_a_database_that_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    """Agents delete their files, so this is normal."""
    with pytest.raises(SourceGone), reading(str(tmp_path / "gone.db")):
        pass


@each(
    ("data", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (b'{"a": 1}', {"a": 1}),
        ('{"a": ', {}),
        ("[1]", {}),
        ("null", {}),
        (None, {}),
        (5, {}),
        (1.5, {}),
    ],
)
def test_a_cell_that_has_no_object_counts_as_an_empty_one(data: object, value: object) -> None:
    """A database may have any value in any column: one that is no JSON object is no reason to fail."""
    assert decoded(data) == value


@each(
    ("value", "time"),
    [(0, 0), (1, 1), (1_770_000_000_000, 1_770_000_000_000), (-1, 0), (1 << 62, 0), ("1", 0), (1.5, 0)],
)
def test_a_time_that_cannot_be_one_counts_as_unknown(value: object, time: int) -> None:
    """Times are milliseconds after 1970, up to the last one that a date can show."""
    assert row_time(value) == time
