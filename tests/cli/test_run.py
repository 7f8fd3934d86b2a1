"""`katod run`: the daemon in the foreground."""

import json

import pytest

from tests.support.records import Claude


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


def test_the_log_is_json_lines_of_the_configured_level(recorded):
    """Each line on stderr is an object that names its event; below the level nothing is logged."""
    lines = [json.loads(line) for line in recorded.katod("run", "--once").stderr.splitlines()]
    assert "command.applied" in [line["event"] for line in lines]
    recorded.configure(level="error")
    recorded.claude().append(Claude(start=9).user("::stop"))
    assert recorded.katod("run", "--once").stderr == b""


def test_a_bad_configuration_ends_it_with_one_line(recorded):
    """The mistake is named, with exit code 1, and nothing is written."""
    recorded.config.write_text("[output]\ndirectroy = '/x'\n")
    done = recorded.katod("run", "--once", check=False)
    assert done.returncode == 1
    assert b"unknown key `output.directroy`" in done.stderr
    assert b"Traceback" not in done.stderr
    assert recorded.written() == {}
