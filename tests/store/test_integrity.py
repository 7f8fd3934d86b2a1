"""Integrity of a ledger: what is accepted, what is quarantined, and what is refused and not touched."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing

import pytest

from katod import durable
from katod.errors import LedgerDamaged, LedgerError, LedgerUnreleased
from katod.log import EventLog
from katod.model import SessionKey
from katod.store import integrity
from katod.store.integrity import APPLICATION_ID, TABLES_VERSION, quarantined, stated_identity
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import SeenRow
from tests.looping import each
from tests.support.outputs import counts
from tests.support.parts import MemoryDatabase
from tests.support.records import Claude
from tests.support.world import World

KEY = SessionKey("claude", "s")
LOG = EventLog()


def database(path, *statements):
    """Create a database as any program might."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def unreleased(path, version=3):
    """Create a ledger as katod did before its first release."""
    database(path, "CREATE TABLE applied (id INTEGER PRIMARY KEY)", f"PRAGMA user_version = {version}")


def newer(path):
    """Create a ledger of a newer version of katod."""
    database(
        path,
        "CREATE TABLE t (x)",
        f"PRAGMA application_id={APPLICATION_ID}",
        f"PRAGMA user_version={TABLES_VERSION + 1}",
    )


def opened(folder):
    """Open and close the ledger in a folder; return its sessions and the names of quarantined files."""
    ledger = Ledger.open(folder, LOG)
    sessions = [row.key for row in ledger.sessions()]
    ledger.close()
    return sessions, [path.name for path in quarantined(folder, LEDGER_NAME)]


@pytest.fixture
def path(tmp_path):
    """Return the path of a ledger with one session."""
    ledger = Ledger.open(tmp_path, LOG)
    ledger.add_session(KEY)
    ledger.close()
    return tmp_path / LEDGER_NAME


# -- what is accepted --------------------------------------------------------------------------------


def test_an_intact_ledger_is_opened_as_it_is(path):
    """An intact ledger has the application id and the version in its header, and keeps its rows."""
    assert opened(path.parent) == ([KEY], [])
    assert stated_identity(path) == (APPLICATION_ID, TABLES_VERSION)


def test_a_ledger_is_readable_for_its_owner_only(path):
    """The ledger is made private when opened, even if it was copied with other permissions."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    opened(path.parent)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_commit_is_on_the_disk_before_it_returns(tmp_path):
    """The database uses WAL mode, and each commit is synced."""
    connection = integrity.connect(tmp_path / "x.db")
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    connection.close()


def test_a_file_without_tables_gets_them(tmp_path):
    """A crash during creation may leave a file without tables: they are created, and nothing is lost."""
    database(tmp_path / LEDGER_NAME, "PRAGMA journal_mode=WAL")
    assert opened(tmp_path) == ([], [])
    assert stated_identity(tmp_path / LEDGER_NAME) == (APPLICATION_ID, TABLES_VERSION)


# -- unreleased versions -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_unreleased_ledger_is_quarantined(tmp_path, version):
    """The quarantined file is named as unreleased and keeps its content."""
    unreleased(tmp_path / LEDGER_NAME, version)
    before = (tmp_path / LEDGER_NAME).read_bytes()
    assert opened(tmp_path) == ([], ["ledger.db.unreleased-1"])
    assert (tmp_path / "ledger.db.unreleased-1").read_bytes()[100:] == before[100:]


def test_a_ledger_of_earlier_tables_is_quarantined_as_unreleased(tmp_path):
    """Its tables lack columns; it is neither damaged nor newer."""
    database(
        tmp_path / LEDGER_NAME, "CREATE TABLE t (x)", f"PRAGMA application_id={APPLICATION_ID}", "PRAGMA user_version=1"
    )
    (tmp_path / LEDGER_NAME).chmod(0o600)
    assert opened(tmp_path) == ([], ["ledger.db.unreleased-1"])


def test_after_an_unreleased_ledger_all_is_history(tmp_path, monkeypatch):
    """`katod status` names the file; commands typed before are ignored, and those typed from now on are obeyed."""
    world = World(tmp_path / "home", monkeypatch, seen_empty=False)
    world.state.mkdir()
    unreleased(world.state / LEDGER_NAME)
    make, source = Claude(), world.claude()
    source.append(make.user("::start\nbefore"))
    world.once()
    assert world.written() == {}
    assert "ledger.db.unreleased-1" in world.cli("status")
    source.append(make.user("::start\nafter"))
    world.once()
    [text] = world.written().values()
    assert counts(text, "before", "after") == [0, 1]


# -- what is refused ---------------------------------------------------------------------------------


def test_a_newer_ledger_is_refused_and_keeps_its_bytes(tmp_path):
    """An older katod neither writes nor reads a newer ledger."""
    newer(tmp_path / LEDGER_NAME)
    before = (tmp_path / LEDGER_NAME).read_bytes()
    for open_it in (lambda: Ledger.open(tmp_path, LOG), lambda: Ledger.read(tmp_path)):
        with pytest.raises(LedgerError, match="newer version of katod") as raised:
            open_it()
        assert raised.value.hint == "upgrade katod, or move the file away"
    assert os.listdir(tmp_path) == [LEDGER_NAME]
    assert (tmp_path / LEDGER_NAME).read_bytes() == before


def test_a_newer_ledger_whose_log_was_not_taken_up_is_refused(path, tmp_path):
    """A newer katod was killed soon after an upgrade: what is new is in the log alone."""
    there = tmp_path / "killed"
    there.mkdir()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE later (id INTEGER)")
    connection.execute(f"PRAGMA user_version={TABLES_VERSION + 1}")
    for name in (LEDGER_NAME, f"{LEDGER_NAME}-wal", f"{LEDGER_NAME}-shm"):
        shutil.copy(path.with_name(name), there / name)
    connection.close()
    for open_it in (Ledger.read, lambda folder: Ledger.open(folder, LOG)):
        with pytest.raises(LedgerError, match="newer version of katod"):
            open_it(there)
    assert not [name for name in os.listdir(there) if "damaged" in name]


@pytest.mark.parametrize("bit", range(2, 32))
def test_a_flipped_bit_of_the_version_is_damage(path, bit):
    """The tables are those of this version: no newer katod wrote them."""
    Ledger.open(path.parent, LOG).close()
    with path.open("r+b") as file:
        file.seek(60)  # where SQLite keeps `user_version`
        file.write((TABLES_VERSION ^ 1 << bit).to_bytes(4, "big"))
    with pytest.raises(LedgerError, match="the version in it is not that of its tables"):
        Ledger.read(path.parent)
    Ledger.open(path.parent, LOG).close()
    assert [name for name in os.listdir(path.parent) if "damaged" in name]
    Ledger.read(path.parent).close()


@pytest.mark.parametrize("name", [LEDGER_NAME, f"{LEDGER_NAME}-wal"])
def test_a_link_is_refused(path, name):
    """A link may lead to someone else's file, so it is neither opened nor renamed."""
    aside = path.with_name("aside")
    if name == LEDGER_NAME:
        path.rename(aside)
    aside.touch()
    path.with_name(name).symlink_to(aside)
    with pytest.raises(LedgerError, match="must not be a symbolic link"):
        Ledger.open(path.parent, LOG)
    assert path.with_name(name).is_symlink()


def test_a_folder_that_cannot_be_written_is_no_damage(path, monkeypatch):
    """A disk error is reported as one, and the ledger stays where it is."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(integrity, "make_private", full)
    with pytest.raises(LedgerError, match="cannot be used: No space left"):
        Ledger.open(path.parent, LOG)
    assert path.exists()


def test_a_ledger_that_cannot_be_renamed_is_an_error(path, monkeypatch):
    """A ledger that cannot be renamed is not overwritten: katod does not start."""
    path.write_bytes(b"garbage" * 1000)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(durable, "rename", refuse)
    with pytest.raises(LedgerError, match="cannot be quarantined: Permission denied"):
        Ledger.open(path.parent, LOG)


# -- damage ------------------------------------------------------------------------------------------


def truncate(path):
    path.write_bytes(b"")


def scribble(path):
    path.write_bytes(b"garbage" * 1000)


def cut(path):
    path.write_bytes(path.read_bytes()[:6000])


def become_a_folder(path):
    path.unlink()
    path.mkdir()


def belong_to_another_program(path):
    path.unlink()
    database(path, "CREATE TABLE notes (x)", "PRAGMA application_id = 7")


def belong_to_no_program(path):
    path.unlink()
    database(path, "CREATE TABLE notes (x)")


def lose_a_table(path):
    database(path, "DROP TABLE outputs")


def hold_a_strange_row(path):
    database(path, "UPDATE sessions SET key = 'private words'")


def hold_text_for_a_number(path):
    database(path, "INSERT INTO roots VALUES ('/r', 'claude', 'yesterday')")


def hold_text_that_is_none(path):
    database(path, "UPDATE sessions SET cwd = CAST(x'ff' AS TEXT)")


def lose_its_log(path):
    path.with_name(f"{LEDGER_NAME}-shm").write_bytes(b"x")


def have_a_folder_as_log(path):
    path.with_name(f"{LEDGER_NAME}-wal").mkdir()


def have_a_damaged_log(path):
    path.with_name(f"{LEDGER_NAME}-wal").write_bytes(b"x" * 4096)


DAMAGES = [
    truncate, scribble, cut, become_a_folder, belong_to_another_program, belong_to_no_program, lose_a_table,
    hold_a_strange_row, hold_text_for_a_number, hold_text_that_is_none, lose_its_log, have_a_folder_as_log, have_a_damaged_log,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_ledger_is_quarantined_and_a_new_one_created(path, damage):
    """Nothing of the damaged ledger is deleted; the log event has the file and the reason, but no content."""
    damage(path)
    logged = []
    Ledger.open(path.parent, EventLog(lambda *event: logged.append(event))).close()
    assert [path.name for path in quarantined(path.parent, LEDGER_NAME)] == ["ledger.db.damaged-1"]
    [(level, name, fields)] = logged
    assert (level, name, fields["path"]) == ("error", "ledger.quarantined", f"{path}.damaged-1")
    assert "private" not in fields["problem"]
    assert opened(path.parent)[0] == []


def test_a_log_goes_with_its_ledger(path):
    """The WAL is kept with its ledger, as it may contain the last commits; the shared-memory file is deleted."""
    have_a_damaged_log(path)
    lose_its_log(path)
    integrity.quarantine(path, LedgerDamaged("x"), LOG)
    assert path.with_name("ledger.db.damaged-1-wal").read_bytes() == b"x" * 4096
    assert sorted(os.listdir(path.parent)) == ["ledger.db.damaged-1", "ledger.db.damaged-1-wal"]


def test_quarantined_ledgers_are_numbered_and_listed_oldest_first(tmp_path):
    """Numbers are compared as numbers, and other files are not listed."""
    for name in ("damaged-10", "damaged-9", "damaged-x", "damaged-1-wal", "unreleased-2"):
        (tmp_path / f"{LEDGER_NAME}.{name}").touch()
    (tmp_path / LEDGER_NAME).write_bytes(b"garbage" * 1000)
    assert opened(tmp_path)[1] == [
        f"{LEDGER_NAME}.{name}" for name in ("damaged-1", "unreleased-2", "damaged-9", "damaged-10")
    ]


# -- reading while a daemon runs ---------------------------------------------------------------------


@each(
    ("damage", "problem"),
    [
        (scribble, "file is not a database"),
        (become_a_folder, "not a regular file"),
        (belong_to_no_program, "written by another program"),
        (lambda path: (path.unlink(), unreleased(path)), "written by an unreleased version of katod"),
    ],
)
def test_who_only_reads_is_told_and_quarantines_nothing(tmp_path_factory, damage, problem):
    """A reader raises an error; only the daemon quarantines, as it holds the lock."""
    folder = tmp_path_factory.mktemp("state")
    Ledger.open(folder, LOG).close()
    damage(folder / LEDGER_NAME)
    with pytest.raises(LedgerError, match=problem) as raised:
        Ledger.read(folder)
    assert "quarantines" in raised.value.hint
    assert quarantined(folder, LEDGER_NAME) == []


# -- examining -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_found_without_a_change(path, damage):
    """Whatever makes the daemon quarantine a ledger is an error with the file and no content; every file stays."""
    damage(path)
    before = contents(path.parent)
    with pytest.raises(LedgerError) as raised:
        Ledger.examine(path.parent)
    assert str(path) in str(raised.value)
    assert raised.value.hint
    assert "private" not in str(raised.value)
    assert contents(path.parent) == before


def test_an_intact_ledger_is_examined_without_a_change(path):
    """No file is created beside it, or left there, with and without a log; a missing ledger is none yet."""
    before = contents(path.parent)
    ledger = Ledger.examine(path.parent)
    assert [row.key for row in ledger.sessions()] == [KEY]
    ledger.close()
    assert contents(path.parent) == before
    writer = Ledger.open(path.parent, LOG)
    with writer.transaction():
        writer.add_session(SessionKey("claude", "another"))
    before = contents(path.parent)
    ledger = Ledger.examine(path.parent)
    assert len(ledger.sessions()) == 2
    ledger.close()
    assert contents(path.parent) == before
    writer.close()
    assert Ledger.examine(path.parent / "nowhere") is None


def test_what_a_killed_daemon_left_is_examined_without_a_change(path):
    """The log is read, although its index is not valid and cannot be repaired without writing it."""
    killed = path.parent / "killed"
    killed.mkdir()
    writer = Ledger.open(path.parent, LOG)
    with writer.transaction():
        writer.add_session(SessionKey("claude", "another"))
    for name in (LEDGER_NAME, f"{LEDGER_NAME}-wal"):
        (killed / name).write_bytes((path.parent / name).read_bytes())
    (killed / f"{LEDGER_NAME}-shm").write_bytes(bytes(32768))
    writer.close()
    before = {file.name: file.read_bytes() for file in killed.iterdir()}
    ledger = Ledger.examine(killed)
    assert len(ledger.sessions()) == 2
    ledger.close()
    assert {file.name: file.read_bytes() for file in killed.iterdir()} == before


def test_damage_in_what_is_seldom_read_is_found(path):
    """A page with the ids of events: no list of the ledger reads it."""
    writer = Ledger.open(path.parent, LOG)
    with writer.transaction():
        writer.add_seen(SeenRow(1, number, number, 1) for number in range(2000))
    writer.close()
    path.write_bytes(path.read_bytes()[:-4096] + b"\xff" * 4096)
    with pytest.raises(LedgerDamaged):
        Ledger.examine(path.parent)


def test_a_link_in_place_of_a_ledger_is_not_examined(path):
    """As little as the daemon uses it."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")
    with pytest.raises(LedgerError, match="symbolic link"):
        Ledger.examine(path.parent)


def contents(folder):
    """Return the content of each file but the shared memory, which readers of a log have to lock."""
    return {
        path.name: path.read_bytes() if path.is_file() and path.suffix != ".db-shm" else b""
        for path in folder.iterdir()
    }


def test_a_ledger_that_is_just_being_made_is_none_yet(tmp_path):
    """An empty file is not damage for a reader: the daemon may be about to write it."""
    (tmp_path / LEDGER_NAME).touch()
    assert Ledger.read(tmp_path) is None


# -- errors ------------------------------------------------------------------------------------------


def failing(statement, connection=None):
    try:
        (connection or MemoryDatabase()).execute(statement)
    except sqlite3.Error as error:
        return error
    raise AssertionError(statement)


@each(
    ("error", "damage"),
    [
        (LedgerDamaged("x"), True),
        (failing("SELECT * FROM missing"), True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), True),
        (sqlite3.OperationalError("Could not decode to UTF-8"), True),
        (OSError(28, "full"), False),
        (LedgerError("x"), False),
        (ValueError("x"), False),
    ],
)
def test_only_damage_is_damage(error, damage):
    """A full disk or an error in katod says nothing about the ledger."""
    assert integrity.is_damage(error) is damage


def test_an_error_of_sqlite_is_damage_by_its_code():
    """Whether an SQLite error is damage depends on its code: a locked ledger is not damaged."""
    error = sqlite3.OperationalError("x")
    for code, damage in ((5, False), (13, False), (10, False), (11, True), (26, True), (11 | 1 << 8, True)):
        error.sqlite_errorcode = code
        assert integrity.is_damage(error) is damage


def test_a_message_never_shows_what_was_stored():
    """SQLite's error for text that cannot be decoded contains that text, so it is replaced."""
    shown = [integrity.safe_database_message(error) for error in (
        sqlite3.OperationalError("Could not decode to UTF-8 column 'cwd' with text 'private'"),
        failing("SELECT * FROM missing"), LedgerUnreleased("it was written by an unreleased version of katod"),
    )]  # fmt: skip
    assert shown == [
        "the ledger contains data that katod did not write", "no such table: missing",
        "it was written by an unreleased version of katod",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["a#b", "a?b", "a%25b", "a b"])
def test_a_ledger_is_read_whatever_its_directory_is_called(tmp_path, name):
    """The path is quoted in the URI with which SQLite opens it, and reading creates no file elsewhere."""
    folder = tmp_path / name
    folder.mkdir()
    Ledger.open(folder, EventLog()).close()
    ledger = Ledger.read(folder)
    assert ledger is not None
    ledger.close()
    assert list(tmp_path.iterdir()) == [folder]


# -- what is deleted ---------------------------------------------------------------------------------


def test_what_is_deleted_is_overwritten(tmp_path):
    """Deleted rows are overwritten at once, and nothing is copied to files elsewhere."""
    connection = integrity.connect(tmp_path / "x.db")
    assert connection.execute("PRAGMA secure_delete").fetchone()[0] == 1
    assert connection.execute("PRAGMA temp_store").fetchone()[0] == 2
    connection.close()


def raw(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_erasing_leaves_nothing_of_what_was_deleted_before(tmp_path):
    """Not even of rows that were deleted while nothing overwrote them: the file is rewritten, its log is emptied."""
    connection = integrity.connect(tmp_path / "x.db")
    connection.execute("PRAGMA secure_delete=OFF")
    connection.execute("CREATE TABLE t (a TEXT)")
    connection.execute("INSERT INTO t VALUES ('quagga')")
    connection.execute("DELETE FROM t")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    assert b"quagga" in (tmp_path / "x.db").read_bytes()
    assert integrity.erase(connection, rewrite=True)
    assert b"quagga" not in raw(tmp_path)
    connection.close()


def test_a_reader_keeps_the_log(tmp_path, monkeypatch):
    """While another program reads, the log cannot be emptied; afterwards it can."""
    monkeypatch.setattr(integrity, "_PATIENCE_WITH_READERS", 0.01)
    connection = integrity.connect(tmp_path / "x.db")
    connection.execute("CREATE TABLE t (a TEXT)")
    connection.execute("INSERT INTO t VALUES ('quagga')")
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchone()
        connection.execute("DELETE FROM t")
        assert not integrity.erase(connection, rewrite=False)
        assert b"quagga" in raw(tmp_path)
    assert integrity.erase(connection, rewrite=False)
    assert b"quagga" not in raw(tmp_path)
    assert connection.execute("PRAGMA busy_timeout").fetchone()[0] == 10_000
    connection.close()


def test_a_ledger_without_a_table_that_was_added_gets_it(tmp_path):
    """Its content stays, and it is not quarantined."""
    ledger = Ledger.open(tmp_path, EventLog())
    ledger.add_session(SessionKey("claude", "s"))
    ledger.db.execute("DROP TABLE tombstones")
    ledger.close()
    ledger = Ledger.open(tmp_path, EventLog())
    assert [row.key.id for row in ledger.sessions()] == ["s"]
    assert ledger.tombstones.of_session(SessionKey("claude", "s")) is None
    ledger.close()


def test_quarantined_ledgers_are_searched_whole(tmp_path, monkeypatch):
    """A word is found in the file and in its log, also where two reads meet; all files of a ledger are deleted."""
    monkeypatch.setattr(integrity, "_CHUNK", 4)
    names = [tmp_path / f"ledger.db.damaged-{number}" for number in range(4)]
    names[0].write_bytes(b"a quagga")
    names[1].write_bytes(b"a quag")
    (tmp_path / "ledger.db.damaged-1-wal").write_bytes(b"..quagga..")
    names[2].write_bytes(b"quag-ga")
    assert integrity.containing(names, [b"quagga", b""]) == names[:2]
    integrity.delete_quarantined(names[1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger.db.damaged-0", "ledger.db.damaged-2"]


def test_a_damaged_tombstone_is_damage(tmp_path):
    """It is found when the ledger is opened, not when a file is compared with it."""
    ledger = Ledger.open(tmp_path, EventLog())
    ledger.db.execute("INSERT INTO tombstones VALUES (x'01', x'02', x'03', x'04', 'not JSON', 0, 0, '[]', 0, 0)")
    ledger.close()
    Ledger.open(tmp_path, EventLog()).close()
    assert [path.name for path in quarantined(tmp_path, LEDGER_NAME)] == ["ledger.db.damaged-1"]


def test_a_ledger_whose_creation_was_cut_short_is_no_damage(tmp_path):
    """What is left of it is no ledger yet: the next start creates one, and nothing else stays."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        (tmp_path / f"{LEDGER_NAME}.part{suffix}").write_bytes(b"SQLite for")
    assert opened(tmp_path) == ([], [])
    assert [path.name for path in tmp_path.iterdir()] == [LEDGER_NAME]


def test_a_ledger_has_its_name_when_it_is_complete(tmp_path, monkeypatch):
    """Whenever power fails, there is no empty file with this name, which would be taken for damage."""
    seen = []
    sync = durable.sync_names

    def synced(folder):
        seen.append((tmp_path / LEDGER_NAME).stat().st_size)
        sync(folder)

    monkeypatch.setattr(durable, "sync_names", synced)
    tables = integrity.create_tables

    def created(*arguments):
        seen.append((tmp_path / LEDGER_NAME).exists())
        tables(*arguments)

    monkeypatch.setattr(integrity, "create_tables", created)
    Ledger.open(tmp_path, LOG).close()
    assert seen[0] is False
    assert seen[1] > 0
