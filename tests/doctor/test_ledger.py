"""The ledger: intact, and what it says of recent errors."""

import sqlite3

from katod.archive.folders import ASIDE, NAME
from katod.doctor import ledger
from katod.doctor.ledger import examine_errors, examine_state, open_ledger
from katod.errors import LedgerError
from katod.model import Identity, SessionKey, Stat
from katod.store import integrity
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import RefusalRow, SampleRow, SourceRow
from katod.store.statefolder import Trouble
from tests.doctor.test_outputs import ledger_with
from tests.support.parts import memory_ledger

KEY = SessionKey("claude", "s")


def opened(state):
    """Return what is said of the ledger, which is closed again."""
    ledger, [finding] = open_ledger(state)
    if ledger is not None:
        ledger.close()
    return finding


def test_a_ledger_is_intact_or_not_there_yet(world, tmp_path):
    """Both are fine."""
    assert opened(world.state).text == f"{world.state / LEDGER_NAME} is intact"
    assert "never run" in opened(tmp_path / "nowhere").text


def test_a_damaged_ledger_is_a_problem(world):
    """Found by SQLite's check, or earlier; what to do is said."""
    path = world.state / LEDGER_NAME
    data = bytearray(path.read_bytes())
    data[4096:8192] = b"\xff" * 4096
    for content in (bytes(data), b"no database", b""):
        path.write_bytes(content)
        finding = opened(world.state)
        assert finding.level == "problem"
        assert "restart katod" in finding.advice
        assert "transcripts are not affected" in finding.advice


def test_what_comes_of_the_state_directory_is_not_said_twice(world, monkeypatch):
    """Another finding says why the ledger cannot be read; damage is damage, whatever the disk is."""
    monkeypatch.setattr(ledger, "trouble_with", lambda state: Trouble(state, "belongs to another user", "chown"))
    path = world.state / LEDGER_NAME
    path.write_bytes(b"no database")
    assert "restart katod" in opened(world.state).advice

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(integrity, "check_files", refuse)
    assert open_ledger(world.state) == (None, [])


def test_a_ledger_that_is_busy_is_a_warning(world, monkeypatch):
    """It is no damage, and the next try may succeed."""

    def busy(_):
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr(Ledger, "examine", busy)
    assert opened(world.state).level == "warning"


def test_a_ledger_of_a_newer_version_is_a_problem(world, monkeypatch):
    """The hint of the error is the advice."""

    def newer(_):
        raise LedgerError("written by a newer version of katod", hint="upgrade katod")

    monkeypatch.setattr(Ledger, "examine", newer)
    assert opened(world.state).advice.startswith("upgrade katod; ")


def test_a_quarantined_ledger_is_a_warning(home):
    """Until it is deleted."""
    home.state.mkdir()
    aside = home.state / f"{LEDGER_NAME}.damaged-1"
    aside.touch()
    assert home.examined(examine_state)["ledger.quarantined"].advice.endswith(f"rm {aside}")


def test_a_damaged_list_of_directories_is_a_warning(home):
    """It is needed when copies are to be forgotten; also after an export began another one."""
    home.state.mkdir()
    assert "archives.damaged" not in home.examined(examine_state)
    for name in (NAME, ASIDE):
        (home.state / name).write_text("{")
        found = home.examined(examine_state)["archives.damaged"]
        assert (found.level, found.data["path"]) == ("warning", str(home.state / name))
        assert found.advice.endswith(f"rm {home.state / ASIDE}")


def test_no_errors_are_said(home):
    """Without a ledger, nothing is known of them."""
    assert home.examined(examine_errors) == {}
    assert list(home.examined(examine_errors, memory_ledger())) == ["errors.none"]


def test_parked_recordings_are_problems(home):
    """Each with its reason; the list is short."""
    ledger = ledger_with(*((home.out, f"{number}.md", "", True) for number in range(7)))
    for row in ledger.outputs():
        ledger.save_output(row._replace(problem="No space left on device"))
    found = [finding for finding in examine_errors(home.case(ledger=ledger)) if finding.check == "errors.parked"]
    assert len(found) == 6
    assert found[0].text == f"{home.out}/0.md: No space left on device"
    assert found[-1].text == "and 2 other parked recordings with a problem"


def test_sources_with_a_problem_are_problems(home):
    """Those that no longer exist are not."""
    ledger = memory_ledger()
    ledger.add_session(KEY)
    for name, gone in (("a", False), ("b", True)):
        row = SourceRow(0, 1, f"/{name}.jsonl", Identity(KEY), Stat(1, 2, 3, 4), gone=gone, problem="cannot be read")
        ledger.add_source(row)
    assert [finding.text for finding in examine_errors(home.case(ledger=ledger))] == ["/a.jsonl: cannot be read"]


def test_samples_that_were_not_understood_are_problems(home):
    """Katod is too old for the agent."""
    ledger = memory_ledger()
    ledger.samples.save(SampleRow("codex", "9.0", 1, "/x", 20, 15))
    finding = home.examined(examine_errors, ledger)["errors.strange"]
    assert (finding.level, finding.data["version"]) == ("problem", "9.0")
    assert "15 of 20 records of codex 9.0" in finding.text


def test_the_latest_refused_command_is_said(home):
    """It is no problem of katod's."""
    ledger = memory_ledger()
    for reason in ("first", "second"):
        ledger.add_refusal(RefusalRow(0, KEY, "2026-02-10T22:36:00Z", "start", reason))
    finding = home.examined(examine_errors, ledger)["errors.refused"]
    assert (finding.level, finding.text) == ("ok", "the latest refused command: ::start in claude:s: second")


def test_an_output_over_which_an_older_copy_was_saved_is_a_problem(world, home):
    """With the command that appends what is missing."""
    source = world.claude()
    source.append(source.user("::start notes\none"))
    world.once()
    [path] = world.files()
    older = path.read_bytes()
    source.append(source.says("two"))
    world.once()
    path.write_bytes(older)
    world.once()
    finding = home.with_ledger(examine_errors)["errors.missing"]
    assert finding.level == "problem"
    assert "katod verify --append-missing 1" in finding.advice
