"""The real Claude Code after `katod setup`: what its user sees of a recording, and what is left after `--remove`."""

import json
import re

import pytest

from katod.setup.hook import COMMAND_WAITS
from katod.setup.scripts import NOT_RUNNING
from tests.support.live import until
from tests.support.world import SOURCE

from .claude import Claude
from .scenario import talk

pytestmark = pytest.mark.slow
SIGN = "● rec"
OWN = 'Prefer short answers.\n\n* "::start" is mine, too'


class WithHooks(Claude):
    """A client that shares its process ids with katod, whose status line asks for one; its user has settings."""

    @property
    def manner(self):
        """Return how it behaves: the status line replaces the line about shortcuts."""
        return super().manner._replace(ready="manual mode on")

    def configure(self, port):
        """Add settings and instructions of the user's own."""
        variables = super().configure(port)
        settings = self.files / "settings.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()), indent=4) + "\n")
        (self.files / "CLAUDE.md").write_text(OWN)
        return variables | {"PYTHONPATH": str(SOURCE)}

    def terminal(self):
        """Return a terminal outside of the process namespace."""
        found = super().terminal()
        found._namespace = Outer(self._namespace)
        return found


class Outer:
    """A namespace that is only one of the network."""

    def __init__(self, namespace):
        self._namespace = namespace

    def enter(self, argv):
        return self._namespace.enter(argv, pids=False)


CLIENT = WithHooks


def settings_of(client):
    """Return every settings and instruction file of the client, by name."""
    files = [path for path in client.files.iterdir() if path.is_file() and not path.name.startswith(".claude.json")]
    return {path.name: path.read_bytes() for path in files if path.name != "history.jsonl"}


def test_a_recording_is_shown_and_a_misspelt_command_is_corrected(play):
    """The user sees the recording and the correction, the model neither; afterwards all settings are as before."""
    before = settings_of(play.client)
    with play.katod("markdown") as katod:
        world = katod.world
        world.cli("setup", "claude", "--yes")
        assert set(settings_of(play.client)) == {*before, "settings.json.katod-backup"}
        play.client.left = play.client.kept()
        with talk(play) as person:
            person.open()
            correct(person)
            see_recorded(person, play)
            miss_katod(person, katod)
            assert "katod:" not in play.request()  # the conversation so far
            assert "katod is not running" not in play.request()
            person.leave()
        katod.start()
        until(lambda: katod.running and not world.status()["recordings"], "the command that was typed meanwhile")
        world.cli("setup", "--remove", "--yes")
        play.client.left = play.client.kept()
    assert settings_of(play.client) == before
    assert not list(world.state.rglob("*.sh"))


def correct(person):
    """Misspell a command: the client shows the correction."""
    person.ask("hello")
    assert SIGN not in person.terminal.screen()
    person.ask("::strat login\nwords below a misspelling")
    person.terminal.wait_for('katod: "::strat" is not a command; did you mean "::start"?')
    assert SIGN not in person.terminal.screen()


def see_recorded(person, play):
    """Start and stop a recording: the status line shows it, and the model does not see the command as for it."""
    person.ask("::start login\nthe first recorded words")
    person.terminal.wait_for(f"{SIGN} login.md")
    assert "the first recorded words" in play.last_text()
    assert "::start login" not in play.last_text()
    print(person.terminal.screen())
    person.ask("::stop\nand on")
    person.terminal.until(lambda: SIGN not in person.terminal.screen(), "the end of the sign")


def miss_katod(person, katod):
    """Kill katod while it records: the status line says so, and so does the hook of a command."""
    person.ask("::start\nrecorded again")
    person.terminal.wait_for(f"{SIGN} login.md")
    katod.kill()
    person.ask("::stop\nwith nobody there")
    person.terminal.wait_for(re.escape(COMMAND_WAITS.partition(" (")[0]))
    person.terminal.wait_for(NOT_RUNNING)
    print(person.terminal.screen())
