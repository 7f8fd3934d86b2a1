"""Reading another program's database leaves no trace and blocks nobody."""

import os
import subprocess
import sys
from pathlib import Path

from katod.agents import AGENTS
from katod.agents.opencode.readonly import reading
from katod.agents.opencode.sweep import sessions_in
from katod.errors import SourceError
from katod.model import Cursor
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
