"""A ledger that is damaged, blank, foreign or newer: no old command runs again, and nothing is written twice."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from katod.store.integrity import check_database
from katod.store.ledger import Ledger
from katod.store.tables import SCHEMA
from tests.examples import mostly
from tests.support.live import read_only, without_privileges
from tests.support.world import CUT

from .checks import marks_of

PAGE = 4096


def recorded(world):
    """Return a session recorded to `notes.md` and one whose recording has stopped; the ledger is left with a log."""
    session, other = world.session(1), world.session(2)
    session.append(session.user("::start notes.md\nmark-00000001-000001."), session.says("mark-00000001-000002."))
    other.append(other.user("::start other.md\nmark-00000002-000001.\n::stop"), other.says("nobody records this"))
    assert world.once_until(leave_open)
    return session, other


def leave_open():
    """Make the process exit without closing the ledger, as if it was killed."""

    def close(_):
        os._exit(CUT)

    Ledger.close = close


def ledger_of(world):
    return world.state / "ledger.db"


def log_of(world):
    return world.state / "ledger.db-wal"


def closed(world):
    """Checkpoint the write-ahead log into the ledger and return the ledger's path."""
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
    os.truncate(path, path.stat().st_size - 5000)  # more than a page: the end of the last one may be unused


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
        ledger.execute("UPDATE sessions SET metadata = CAST(metadata || x'ff' AS TEXT) WHERE metadata LIKE '%mark-%'")
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
USUAL = (garbage, no_text, head_of_the_log)


@pytest.mark.fault("ledger damaged")
@pytest.mark.parametrize("damage", mostly(USUAL, DAMAGES), ids=lambda damage: damage.__name__)
def test_a_damaged_ledger_is_set_aside_and_nothing_old_counts(world, damage):
    """The ledger is quarantined under a name that `status` shows; no old command runs, no old output is written to."""
    sessions = recorded(world)
    damage(world)
    begins_anew(world, sessions)


@pytest.mark.slow
@pytest.mark.fault("ledger damaged")
def test_no_page_of_a_ledger_can_be_lost_unnoticed(world):
    """Whichever page is corrupt, the ledger is quarantined."""
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


@pytest.mark.slow
@pytest.mark.fault("ledger damaged")
def test_flipped_bytes_double_nothing(world):
    """Whichever bytes are flipped, either the ledger is quarantined or recording continues correctly."""
    session, _ = recorded(world)
    whole, lines = closed(world).read_bytes(), {path: path.read_text() for path in world.out.rglob("*.md")}
    session.append(session.says("mark-00000001-000003."))
    for at in range(50, len(whole), 3331):
        restored(world, whole[:at] + bytes(255 - byte for byte in whole[at : at + 9]) + whole[at + 9 :], lines)
        world.process()
        aside = (world.state / "ledger.db.damaged-1").exists()
        marks = {path.name: marks_of(path)[0] for path in lines}
        assert marks["other.md"] == ["mark-00000002-000001."]
        assert marks["notes.md"] == [f"mark-00000001-{number:06d}." for number in range(1, 3 if aside else 4)], at


def restored(world, ledger, texts):
    """Restore the outputs to these texts, with this ledger as the only state."""
    shutil.rmtree(world.state)
    world.state.mkdir(mode=0o700)
    ledger_of(world).write_bytes(ledger)
    for path, text in texts.items():
        path.write_text(text)


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"ten bytes.", b"\0" * 32])
def test_a_log_to_which_nothing_was_committed_is_no_damage(world, content):
    """A log without a commit, as a power cut may leave it, is not damage."""
    session, _ = recorded(world)
    closed(world)
    log_of(world).write_bytes(content)
    session.append(session.says("mark-00000001-000003."))
    world.process()
    goes_on(world)


class Contended:
    """A ledger whose checkpoint lock another program holds, as `katod status` may for a moment."""

    def __init__(self, connection):
        self._connection = connection

    def execute(self, statement):
        asked = "SELECT 1, -1, -1" if "wal_checkpoint" in statement else statement
        return self._connection.execute(asked)


def test_a_ledger_that_somebody_reads_is_no_damage(world):
    """A log whose progress cannot be determined because of another reader is not damage."""
    recorded(world)
    with closing(sqlite3.connect(ledger_of(world))) as connection:
        check_database(Contended(connection), ledger_of(world), SCHEMA)


@pytest.mark.slow
@pytest.mark.fault("ledger damaged")
def test_what_a_damaged_ledger_holds_is_not_shown(world):
    """The log names the file and the kind of damage, but no text of the conversation."""
    recorded(world)
    no_text(world)
    said = world.katod("run", "--once").stderr
    assert b"ledger.quarantined" in said
    assert b"mark-" not in said


@pytest.mark.slow
@pytest.mark.fault("ledger blank")
def test_a_blank_ledger_is_begun_anew(world):
    """An empty ledger, as a power cut may leave it, is quarantined and reported, and no old command runs."""
    sessions = recorded(world)
    os.truncate(closed(world), 0)
    begins_anew(world, sessions)


@pytest.mark.slow
@pytest.mark.fault("ledger blank")
def test_without_its_ledger_katod_begins_anew(world):
    """Without any state, all sessions are history, and old outputs stay unchanged."""
    sessions = recorded(world)
    shutil.rmtree(world.state)
    nothing_old_counts(world, sessions)


def begins_anew(world, sessions):
    """Assert that the ledger is quarantined unchanged and shown in `status`, and that only new commands run."""
    found = ledger_of(world)
    inode = found.lstat().st_ino
    nothing_old_counts(world, sessions)
    aside = found.with_name("ledger.db.damaged-1")
    assert aside.lstat().st_ino == inode
    problems = {row["path"]: row["problem"] for row in world.status()["problems"]}
    assert "quarantined" in problems[str(aside)]


def nothing_old_counts(world, sessions):
    """Assert that outputs change only after a new command, and that old outputs are not taken over."""
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
    assert [row["command"] for row in world.status()["refused"]] == ["start"]
    session.append(session.user("::start fresh.md\nmark-00000001-000003."))
    world.process()
    rows = world.outputs()
    assert "fresh.md" in [row.path.name for row in rows]
    assert all(row.path.read_bytes() == world.export(row) for row in rows)
    assert world.contents() == outputs | {row.path.name: row.path.read_bytes() for row in rows}


# -- what stays unchanged ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.fault("ledger of a newer katod")
@pytest.mark.parametrize("command", [("run", "--once"), ("status",)], ids=" ".join)
def test_a_ledger_of_a_newer_katod_is_refused(world, command):
    """The command exits with one line that says what to do, and the file stays unchanged."""
    recorded(world)
    with sqlite3.connect(closed(world)) as ledger:
        ledger.execute("CREATE TABLE later (id INTEGER)")
        ledger.execute("PRAGMA user_version = 999")
    ledger.close()
    before, outputs = ledger_of(world).read_bytes(), world.contents()
    assert "newer version of katod" in refused(world, *command)
    assert ledger_of(world).read_bytes() == before
    assert sorted(path.name for path in world.state.glob("ledger*")) == ["ledger.db"]
    assert world.contents() == outputs


@pytest.mark.slow
@pytest.mark.fault("ledger damaged")
def test_a_link_in_the_ledgers_place_is_refused(world):
    """The link's target does not belong to katod: it keeps its content and its name."""
    recorded(world)
    target = world.home / "elsewhere"
    closed(world).rename(target)
    ledger_of(world).symlink_to(target)
    before = target.read_bytes()
    assert "symbolic link" in refused(world, "run", "--once")
    assert ledger_of(world).is_symlink()
    assert target.read_bytes() == before


@pytest.mark.slow
@pytest.mark.fault("ledger damaged")
def test_a_ledger_that_may_not_be_written_is_made_private_and_goes_on(world):
    """Missing permissions are restored; they are not damage, and nothing is quarantined."""
    session, _ = recorded(world)
    session.append(session.says("mark-00000001-000003."))
    closed(world).chmod(0o400)
    world.state.chmod(0o500)
    world.katod("run", "--once", prefix=without_privileges())
    goes_on(world)


@pytest.mark.slow
@pytest.mark.fault("ledger on a read-only disk")
@pytest.mark.parametrize(
    ("name", "problem"),
    [("", "is on a read-only file system"), ("ledger.db", "cannot be written")],
)
def test_a_ledger_on_a_read_only_disk_waits(world, name, problem):
    """A read-only disk is not damage: katod exits with one line, and continues once it can write."""
    session, _ = recorded(world)
    session.append(session.says("mark-00000001-000003."))
    assert problem in refused(world, "run", "--once", prefix=read_only(closed(world).parent / name))
    world.process()
    goes_on(world)


def goes_on(world):
    """Assert that the last message is recorded once and that no ledger was quarantined."""
    row = world.outputs()[0]
    assert row.path.read_bytes().count(b"mark-00000001-000003.") == 1
    assert row.path.read_bytes() == world.export(row)
    assert [path for path in world.state.iterdir() if "damaged" in path.name] == []


def refused(world, *arguments, prefix=()):
    """Run a command that exits with 1, and return its one-line error."""
    done = world.katod(*arguments, check=False, prefix=prefix)
    (line,) = done.stderr.decode().splitlines()
    assert done.returncode == 1
    return line
