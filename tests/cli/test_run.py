"""`katod run`: the daemon in the foreground."""

import errno
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from katod import daemon
from katod.cli import app
from katod.cli.context import Context
from katod.cli.run import _name_others, _tell, _to_people, following
from katod.record.news import News
from tests.support.pane import Pane
from tests.support.records import SESSION, Claude, user
from tests.support.world import World, in_new_process


@pytest.fixture
def recorded(world):
    """Return a world with a session that is about to be recorded."""
    session = world.claude()
    session.append(session.user("::start notes\nhello"))
    return world


def test_once_processes_everything_and_ends(recorded):
    """A command typed before is carried out when the program returns; nothing is printed on stdout."""
    assert recorded.katod("run", "--once").stdout == b""
    assert "hello" in recorded.written()["notes.md"]


def test_agents_that_are_not_supported_are_named_at_the_first_run(tmp_path, monkeypatch, capsys):
    """Nobody waits for their recordings; later runs do not say it again."""
    world = World(tmp_path / "home", monkeypatch, seen_empty=False)
    (world.home / ".factory/sessions").mkdir(parents=True)
    context = Context(world.config)
    _name_others(context)
    assert capsys.readouterr().out == "Also here, not supported: Droid.\n"
    world.once()
    _name_others(context)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_the_log_is_json_lines_of_the_configured_level(recorded):
    """Each line on stderr is an object that names its event; below the level nothing is logged."""
    lines = [json.loads(line) for line in recorded.katod("run", "--once").stderr.splitlines()]
    assert "command.applied" in [line["event"] for line in lines]
    recorded.configure(level="error")
    recorded.claude().append(Claude(start=9).user("::stop"))
    assert recorded.katod("run", "--once").stderr == b""


def test_a_bad_configuration_ends_it_with_one_line(recorded):
    """The mistake is named, with the exit code of wrong usage, and nothing is written."""
    recorded.config.write_text("[output]\ndirectroy = '/x'\n")
    done = recorded.katod("run", "--once", check=False)
    assert done.returncode == 2
    assert b"unknown key `output.directroy`" in done.stderr
    assert b"Traceback" not in done.stderr
    assert recorded.written() == {}


@pytest.mark.fault("asked to stop at any moment")
def test_a_hang_up_during_the_start_does_not_end_it(monkeypatch):
    """It is noted for the daemon, which then reloads the settings."""
    settings = Context.settings

    def loading(context):
        os.kill(os.getpid(), signal.SIGHUP)
        return settings.__get__(context)

    monkeypatch.setattr(Context, "settings", property(loading))
    monkeypatch.setattr(daemon, "run_daemon", lambda *arguments: os._exit(3 if arguments[-2].reload else 4))
    assert in_new_process(lambda: app(["run"], standalone_mode=False), ends=(3, 4, -signal.SIGHUP)) == 3


@pytest.mark.slow
def test_on_a_terminal_it_prints_what_happens(recorded, tmp_path):
    """A line for each recording, with time, project, title and file, and one for a problem; no log."""
    with Pane(recorded, "run") as terminal:
        terminal.until('recording app · "notes" → ~/katod/app/notes.md')
        recorded.claude().append(Claude(start=9).user("::strat"), Claude(start=12).user("::stop"))
        terminal.until(['stopped app · "notes"', "? not a command: a misspelt ::start"])
        assert "command.applied" not in terminal.text


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_a_recorded_session_that_waits_for_its_person_says_so(recorded):
    """At once: its agent's small file is watched, and counts for the process that wrote it."""
    reports = recorded.home / ".claude" / "sessions"
    reports.mkdir()
    began = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    report = {
        "pid": os.getpid(), "sessionId": SESSION, "procStart": began, "status": "waiting",
        "waitingFor": "permission prompt", "statusUpdatedAt": int(time.time() * 1000),
    }  # fmt: skip
    with Pane(recorded, "run") as terminal:
        terminal.until('recording app · "notes"')
        (reports / f"{os.getpid()}.json").write_text(json.dumps(report))
        terminal.until('? Claude Code waits for your permission: app · "notes"')
        [shown] = recorded.status()["recordings"]
        assert (shown["state"], shown["waitsFor"]) == ("blocked", "permission")


def test_what_agents_do_all_the_time_is_no_problem(capsys):
    """Copilot rewrites its file when a prompt is withdrawn: that is only in the log."""
    _to_people(Context(None), "warning", "source.changed", {"session": "copilot:s", "problem": "it is shorter"})
    _to_people(Context(None), "warning", "source.unreadable", {"session": "copilot:s", "problem": "gone"})
    assert capsys.readouterr().err.count("!") == 1


def test_a_window_that_was_closed_stops_no_recording(monkeypatch):
    """Whoever reads the news is gone, and katod goes on."""

    def fail(*_arguments, **_named):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sys.modules["katod.cli.run"], "show", fail)
    _tell(News("recording", "shop"))


def test_it_says_what_is_followed_and_where_it_writes(world, monkeypatch, tmp_path):
    """Once katod is ready: how many session files, of which agents; without any, that there are none."""
    monkeypatch.setenv("HOME", str(world.home))
    Claude(world).say(user("hello"))
    _to_people(Context(None), "info", "daemon.started", {"mode": "events", "sources": 1})
    said = following(Context(None), 1)
    assert said == "Following 1 session file of Claude Code. Transcripts are written to ~/katod."
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    assert "no agent that it knows has sessions here yet" in following(Context(None), 0)
