"""`katod doctor`: the whole examination, which changes nothing."""

import io
import os
import signal
import sys

import click
import orjson
import pytest

from katod.cli import doctor
from katod.doctor import daemon
from katod.doctor import examine as examination
from katod.doctor.findings import ok
from katod.service.lock import Lock
from katod.store.ledger import LEDGER_NAME
from tests.support.live import Live
from tests.support.world import World


@pytest.fixture(autouse=True)
def started_elsewhere(monkeypatch):
    """Leave out the environment of the katod that runs: here it is this process, which was started with another one."""
    monkeypatch.setattr(daemon, "environment_of", lambda _: None)


@pytest.fixture
def quiet(world, monkeypatch):
    """Return a world that is examined on a machine without a service manager; a daemon seems to run."""
    monkeypatch.setenv("PATH", "/nowhere")
    lock = Lock.take(world.state)
    yield world
    lock.release()


def recorded(world):
    """Record a session."""
    source = world.claude()
    source.append(source.user("::start notes\nhello"))
    world.process()


def state_of(folder):
    """Return every file below a folder, with its content, mode, inode and time of change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        changed = 0 if path.name.endswith("-shm") else status.st_mtime_ns  # its writer's changes get a time later
        found[path] = (status.st_mode, status.st_ino, changed, content)
    return found


def findings(world, code=0):
    """Return what `--json` prints, by check."""
    rows = orjson.loads(world.cli("doctor", "--json", code=code))["findings"]
    return {row["check"]: row for row in rows}


def test_nothing_wrong_is_exit_code_0(world, monkeypatch):
    """Each area is printed with marks; a recording, its directory and its ledger are fine."""
    monkeypatch.setenv("PATH", "/nowhere")
    recorded(world)
    lock = Lock.take(world.state)
    said = world.cli("doctor")
    lock.release()
    assert said.endswith("0 problems, 0 warnings\n")
    assert f"output:\n  ✓ {world.out} is writable\n  ✓ only you can read it\n  ✓ its marker is present" in said
    assert "Claude Code" in said


@pytest.mark.slow
def test_it_changes_nothing(world, monkeypatch):
    """No file is written or created, not even beside the ledger; also while a daemon writes it."""
    monkeypatch.setenv("PATH", "/nowhere")
    recorded(world)
    before = state_of(world.home)
    world.cli("doctor", code=1)
    assert state_of(world.home) == before
    with Live(world) as live:
        source = world.session(7)
        source.append(source.user("::start more\nhello"))
        live.until_written("hello", "more.md")
        live.process.send_signal(signal.SIGSTOP)  # so that every change is one of doctor's
        assert (world.state / f"{LEDGER_NAME}-wal").stat().st_size
        before = state_of(world.home)
        said = world.katod("doctor", check=False).stdout.decode()
        assert state_of(world.home) == before
        live.process.send_signal(signal.SIGCONT)
    assert "ledger.db is intact" in said


def test_a_daemon_that_does_not_run_is_exit_code_1(world, monkeypatch):
    """And an indented line says what to do."""
    monkeypatch.setenv("PATH", "/nowhere")
    said = world.cli("doctor", code=1)
    assert "  ✗ katod is not running (this machine has no systemd)\n      → " in said


def test_json_has_every_finding(quiet):
    """One object, with the version and stable keys."""
    row = findings(quiet)["agents.none"]
    assert row.keys() == {"area", "check", "level", "text", "advice"}
    assert (row["area"], row["level"]) == ("agents", "warning")


def test_an_invalid_configuration_is_a_finding(quiet):
    """The defaults are examined nevertheless."""
    quiet.config.write_text("[output]\ndirectroy = '/x'\n")
    found = findings(quiet, code=1)
    assert "unknown key `output.directroy`" in found["configuration.valid"]["text"]
    assert found["output.writable"]["path"] == str(quiet.out)
    quiet.config.unlink()
    assert "no such file" in findings(quiet, code=1)["configuration.valid"]["text"]


def test_the_defaults_need_no_file(quiet, monkeypatch):
    """A configuration that was not named may be missing."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(quiet.home / "none"))
    monkeypatch.delitem(quiet.variables, "KATOD_CONFIG")
    monkeypatch.delenv("KATOD_CONFIG")
    assert "using the defaults" in findings(quiet)["configuration.valid"]["text"]


def test_a_damaged_ledger_is_a_finding(quiet):
    """Everything else is examined nevertheless."""
    (quiet.state / LEDGER_NAME).write_bytes(b"no database")
    found = findings(quiet, code=1)
    assert found["ledger.intact"]["level"] == "problem"
    assert "output.writable" in found


def test_katod_may_never_have_run(tmp_path, monkeypatch):
    """Without a state directory, none is created."""
    monkeypatch.setenv("PATH", "/nowhere")
    world = World(tmp_path / "home", monkeypatch, seen_empty=False)
    assert "never run" in findings(world, code=1)["ledger.intact"]["text"]
    assert not world.state.exists()


def test_an_examination_that_fails_is_a_finding(quiet, monkeypatch):
    """The others go on."""

    def fail(_):
        yield ok("clock.right", "first")
        raise OSError(5, "Input/output error")

    monkeypatch.setitem(examination._ALL, "clock", fail)
    found = findings(quiet, code=1)
    assert "Input/output error" in found["clock.failed"]["text"]
    assert {"clock.right", "output.writable"} <= found.keys()


@pytest.mark.slow
def test_a_lost_marker_is_written_on_request(world, monkeypatch):
    """Without the option it is only missed; with it, recordings go on, and the marker is the one that katod knows."""
    monkeypatch.setenv("PATH", "/nowhere")
    recorded(world)
    [marker] = world.out.glob(".katod-*")
    marker.unlink()
    assert findings(world, code=1)["output.marker"]["level"] == "problem"
    assert not marker.exists()
    assert f"wrote {marker}" in world.cli("doctor", "--write-marker", code=1)
    assert marker.exists()
    assert "no marker is missing" in world.cli("doctor", "--write-marker", code=1)
    assert findings(world, code=1)["output.marker"]["level"] == "ok"


def test_without_what_it_needs_no_marker_is_written(quiet):
    """A ledger that knows the marker, and a configuration that names the directory."""
    (quiet.state / LEDGER_NAME).write_bytes(b"no database")
    quiet.cli("doctor", "--write-marker", code=1)
    assert "no marker is known" in quiet.said
    quiet.config.write_text("[outptu]\n")
    quiet.cli("doctor", "--write-marker", code=1)
    assert "unknown key" in quiet.said


def test_an_output_without_unicode_gets_ascii(quiet, monkeypatch):
    """Marks have another form there, and other characters are escaped; hostile ones are removed everywhere."""
    quiet.configure(directory=str(quiet.home / "nöt\x1b[31mes"))
    assert f"✓ {quiet.home}/nötes is created" in quiet.cli("doctor")
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    with monkeypatch.context() as now:
        now.setattr(sys, "stdout", stream)
        with pytest.MonkeyPatch.context() as variables:
            for name, value in quiet.variables.items():
                variables.setenv(name, value)
            context = click.Context(doctor.doctor, obj=doctor.Context(None))
            with context:
                doctor.doctor.callback(as_json=False, write_marker=False)
        stream.flush()
    said = raw.getvalue().decode("ascii")
    assert f"  + {quiet.home}/n\\xf6tes is created" in said
    assert os.linesep + "daemon:" in said
