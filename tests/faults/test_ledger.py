"""A ledger that is damaged, blank, of another program or of a newer katod: nothing old commands or is written again."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from katod.store.integrity import check_database
from katod.store.ledger import Ledger
from tests.examples import mostly
from tests.support.live import read_only, without_privileges
from tests.support.world import CUT

from .checks import marks_of

PAGE = 4096


def recorded(world):
    """Return a session that is recorded to `notes.md`, and one whose recording was stopped; their ledger has a log."""
    session, other = world.session(1), world.session(2)
    session.append(session.user("::start notes.md\nmark-00000001-000001."), session.says("mark-00000001-000002."))
    other.append(other.user("::start other.md\nmark-00000002-000001.\n::stop"), other.says("nobody records this"))
    assert world.once_until(leave_open)
    return session, other


def leave_open():
    """Have the process end without closing the ledger, as when it is killed."""

    def close(_):
        os._exit(CUT)

    Ledger.close = close


def ledger_of(world):
    return world.state / "ledger.db"


def log_of(world):
    return world.state / "ledger.db-wal"


def closed(world):
    """Return the path of the ledger, whose log was taken into it."""
    sqlite3.connect(ledger_of(world)).execute("VACUUM").connection.close()
    assert not log_of(world).exists()
    return ledger_of(world)


def overwritten(path, at, content):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def garbage(world):
    closed(world).write_bytes(b"garbage" * 1000)


def zeros(world):
    path = closed(world)
    path.write_bytes(bytes(path.stat().st_size))


def half_of_it(world):
    path = closed(world)
    os.truncate(path, path.stat().st_size // PAGE // 2 * PAGE)


def the_last_bytes_missing(world):
    path = closed(world)
    os.truncate(path, path.stat().st_size - 100)


def a_folder(world):
    closed(world).unlink()
    ledger_of(world).mkdir()


def a_fifo(world):
    closed(world).unlink()
    os.mkfifo(ledger_of(world))


def another_database(world):
    closed(world).unlink()
    with sqlite3.connect(ledger_of(world)) as other:
        other.execute("CREATE TABLE things (name TEXT)")
    other.close()


def tables_missing(world):
    with sqlite3.connect(closed(world)) as ledger:
        ledger.execute("DROP TABLE ranges")
    ledger.close()


def no_json(world):
    with sqlite3.connect(closed(world)) as ledger:
        ledger.execute("UPDATE outputs SET options = '{' WHERE id = 1")
    ledger.close()


def no_text(world):
    with sqlite3.connect(closed(world)) as ledger:
        ledger.execute("UPDATE outputs SET head = CAST(head || x'ff' AS TEXT) WHERE id = 1")
    ledger.close()


def no_name(world):
    path = closed(world)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE ranges", b"CREATE TABLE \xff\xff\xff\xff\xff\xff"))


def head_of_the_log(world):
    overwritten(log_of(world), 0, b"garbage" * 4)


def middle_of_the_log(world):
    overwritten(log_of(world), log_of(world).stat().st_size // 2, b"garbage" * 10)


def the_log_missing(world):
    log_of(world).unlink()


def a_folder_for_the_log(world):
    log_of(world).unlink()
    log_of(world).mkdir()


DAMAGES = [
    garbage, zeros, half_of_it, the_last_bytes_missing, a_folder, a_fifo, another_database, tables_missing, no_json, no_text,
    no_name,    head_of_the_log, middle_of_the_log, the_log_missing, a_folder_for_the_log,
]  # fmt: skip
USUAL = (garbage, half_of_it, tables_missing, no_text, head_of_the_log)


@pytest.mark.fault("ledger damaged")
@pytest.mark.parametrize("damage", mostly(USUAL, DAMAGES), ids=lambda damage: damage.__name__)
def test_a_damaged_ledger_is_set_aside_and_nothing_old_counts(world, damage):
    """It is kept under a name that the status shows; no old command acts again, and no old output is written to."""
    sessions = recorded(world)
    damage(world)
    begins_anew(world, sessions)


@pytest.mark.fault("ledger damaged")
def test_no_page_of_a_ledger_can_be_lost_unnoticed(world):
    """Whichever page is not what it was, the ledger is set aside."""
    sessions = recorded(world)
    whole = closed(world).read_bytes()
    outputs = world.contents()
    for session in sessions:
        session.append(session.says("more"))
    for at in range(0, len(whole), PAGE):
        page = bytes(255 - byte for byte in whole[at : at + PAGE])
        restored(world, whole[:at] + page + whole[at + PAGE :], {})
        world.process()
        assert (world.state / "ledger.db.damaged-1").exists(), f"page {at // PAGE + 1}"
        assert world.contents() == outputs


@pytest.mark.fault("ledger damaged")
def test_flipped_bytes_double_nothing(world):
    """Whichever bytes of a page are not what they were: the ledger is set aside, or everything goes on as it should."""
    session, _ = recorded(world)
    whole, lines = closed(world).read_bytes(), {path: path.read_text() for path in world.out.rglob("*.md")}
    session.append(session.says("mark-00000001-000003."))
    for at in range(50, len(whole), 1777):
        restored(world, whole[:at] + bytes(255 - byte for byte in whole[at : at + 9]) + whole[at + 9 :], lines)
        world.process()
        aside = (world.state / "ledger.db.damaged-1").exists()
        marks = {path.name: marks_of(path)[0] for path in lines}
        assert marks["other.md"] == ["mark-00000002-000001."]
        assert marks["notes.md"] == [f"mark-00000001-{number:06d}." for number in range(1, 3 if aside else 4)], at


def restored(world, ledger, texts):
    """Have the world as it was, with this ledger."""
    shutil.rmtree(world.state)
    world.state.mkdir(mode=0o700)
    ledger_of(world).write_bytes(ledger)
    for path, text in texts.items():
        path.write_text(text)


@pytest.mark.parametrize("content", [b"", b"ten bytes.", b"\0" * 32])
def test_a_log_to_which_nothing_was_committed_is_no_damage(world, content):
    """A power cut may leave no more of it than that."""
    session, _ = recorded(world)
    closed(world)
    log_of(world).write_bytes(content)
    session.append(session.says("mark-00000001-000003."))
    world.process()
    goes_on(world)


class Contended:
    """A ledger of which another program holds SQLite's lock for checkpoints, as `katod status` may for a moment."""

    def __init__(self, connection):
        self._connection = connection

    def execute(self, statement):
        asked = "SELECT 1, -1, -1" if "wal_checkpoint" in statement else statement
        return self._connection.execute(asked)


def test_a_ledger_that_somebody_reads_is_no_damage(world):
    """How far its log was read cannot be told then, and nothing is made of it."""
    recorded(world)
    with closing(sqlite3.connect(ledger_of(world))) as connection:
        check_database(Contended(connection), ledger_of(world))


@pytest.mark.fault("ledger damaged")
def test_what_a_damaged_ledger_holds_is_not_shown(world):
    """The log names the file and the kind of damage, and no word of what was said."""
    recorded(world)
    no_text(world)
    said = world.katod("run", "--once").stderr
    assert b"ledger.quarantined" in said
    assert b"mark-" not in said


@pytest.mark.fault("ledger blank")
def test_a_blank_ledger_is_begun_anew(world):
    """A disk may leave a file of no length after a power cut: nothing old acts, and it is named."""
    sessions = recorded(world)
    os.truncate(closed(world), 0)
    begins_anew(world, sessions)


@pytest.mark.fault("ledger blank")
def test_without_its_ledger_katod_begins_anew(world):
    """Where the whole state is gone all sessions are history; what stands in old outputs stays as it is."""
    sessions = recorded(world)
    shutil.rmtree(world.state)
    nothing_old_counts(world, sessions)


def begins_anew(world, sessions):
    """The ledger is set aside as it was found and named; nothing old counts; what is typed from now on does."""
    found = ledger_of(world)
    inode = found.lstat().st_ino
    nothing_old_counts(world, sessions)
    aside = found.with_name("ledger.db.damaged-1")
    assert aside.lstat().st_ino == inode
    problems = {row["path"]: row["problem"] for row in world.status()["problems"]}
    assert "quarantined" in problems[str(aside)]


def nothing_old_counts(world, sessions):
    """No output changes until somebody asks for one again, and an old one is not asked for again."""
    outputs = world.contents()
    assert len(outputs) == 2
    world.process()
    for session in sessions:
        session.append(session.says("nobody asked for this"))
    world.process()
    assert world.contents() == outputs
    session = sessions[0]
    session.append(session.user("::start notes.md\nagain"))
    world.process()
    assert world.contents() == outputs
    assert [row["command"] for row in world.status()["refused"]] == ["start"]
    session.append(session.user("::start fresh.md\nmark-00000001-000003."))
    world.process()
    (row,) = world.outputs()
    assert row.path.read_bytes() == world.export(row)
    assert world.contents() == outputs | {"fresh.md": row.path.read_bytes()}


# -- what is left as it is ---------------------------------------------------------------------------------


@pytest.mark.fault("ledger of a newer katod")
@pytest.mark.parametrize("command", [("run", "--once"), ("status",)], ids=" ".join)
def test_a_ledger_of_a_newer_katod_is_refused(world, command):
    """The end is one line that says what to do, and the file keeps its bytes."""
    recorded(world)
    with sqlite3.connect(closed(world)) as ledger:
        ledger.execute("PRAGMA user_version = 999")
    ledger.close()
    before, outputs = ledger_of(world).read_bytes(), world.contents()
    assert "newer version of katod" in refused(world, *command)
    assert ledger_of(world).read_bytes() == before
    assert sorted(path.name for path in world.state.glob("ledger*")) == ["ledger.db"]
    assert world.contents() == outputs


@pytest.mark.fault("ledger damaged")
def test_a_link_in_the_ledgers_place_is_refused(world):
    """Whatever it leads to is not katod's: it keeps its bytes and its name."""
    recorded(world)
    target = world.home / "elsewhere"
    closed(world).rename(target)
    ledger_of(world).symlink_to(target)
    before = target.read_bytes()
    assert "symbolic link" in refused(world, "run", "--once")
    assert ledger_of(world).is_symlink()
    assert target.read_bytes() == before


@pytest.mark.fault("ledger damaged")
def test_a_ledger_that_may_not_be_written_is_made_private_and_goes_on(world):
    """Modes that somebody took away are given back: they are no damage, and nothing is set aside."""
    session, _ = recorded(world)
    session.append(session.says("mark-00000001-000003."))
    closed(world).chmod(0o400)
    world.state.chmod(0o500)
    world.katod("run", "--once", prefix=without_privileges())
    goes_on(world)


@pytest.mark.fault("ledger damaged")
@pytest.mark.parametrize(
    ("name", "problem"),
    [pytest.param("", "cannot be used", marks=pytest.mark.slow), ("ledger.db", "cannot be written")],
)
def test_a_ledger_on_a_read_only_disk_waits(world, name, problem):
    """It is no damage either: katod ends with one line, and goes on when it can write."""
    session, _ = recorded(world)
    session.append(session.says("mark-00000001-000003."))
    assert problem in refused(world, "run", "--once", prefix=read_only(closed(world).parent / name))
    world.process()
    goes_on(world)


def goes_on(world):
    """What was said last is recorded once, and no ledger was set aside."""
    row = world.outputs()[0]
    assert row.path.read_bytes().count(b"mark-00000001-000003.") == 1
    assert row.path.read_bytes() == world.export(row)
    assert [path for path in world.state.iterdir() if "damaged" in path.name] == []


def refused(world, *arguments, prefix=()):
    """Run a command that ends with 1, and return the one line that it says."""
    done = world.katod(*arguments, check=False, prefix=prefix)
    (line,) = done.stderr.decode().splitlines()
    assert done.returncode == 1
    return line
