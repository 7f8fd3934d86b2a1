"""What katod says of a session whose person refuses, interrupts a tool, whose client is killed, and that goes on."""

import json
import os
import re
import signal
import time

from katod.agents.processes import _processes
from katod.states import SILENT_AFTER
from tests.support.live import until
from tests.support.world import World

from .dialogs import leave_tool, refuse
from .scenario import talk

SLOW = 15.0  # seconds, beside those that katod waits: an answer of Gemini is done after ten


def hold_until_killed(play, *, in_tool=True):
    """Hold a conversation whose states are known, kill the client in the middle of a turn, and go on in another one.

    It is killed while a tool runs, or else while the model answers.
    """
    world = World(play.client.home, seen_empty=False)
    world.variables |= play.client.environment
    with talk(play) as person:
        person.open()
        person.ask("hello")
        until(lambda: state(world) == "done", "the end of the first turn")
        refuse(person, "copy the note (write)")
        until(lambda: state(world) == "done", "the end of the refused turn", SLOW)
        leave_tool(person, "wait a moment (nap)")
        until(lambda: state(world) == "done", "the end of the interrupted turn", SLOW)
        if in_tool:
            begin_tool(person, "wait once more (nap)")
        else:
            person.begin("a long one (slow)")
        time.sleep(SILENT_AFTER + 3)
        assert state(world) == "working"
        kill(play.client)
        until(lambda: state(world) == "idle", "the end of a client", SLOW)
        if person.client.continued:
            person.client.left = person.client.kept()
            person.open(*person.client.continued)
            person.ask("we go on")
            until(lambda: state(world) == "done", "the end of the first turn of the next client", SLOW)


def state(world):
    """Return what the only session is doing, as it is printed."""
    (row,) = (json.loads(line) for line in world.cli("sessions", "--json").splitlines())
    assert "assumed" not in row or row["state"] == "done"  # of an answer of Gemini
    return row["state"]


def begin_tool(person, prompt):
    """Send a prompt whose call takes long, and allow the call."""
    heard, asks = person.heard(), person.client.manner.asks
    person.terminal.submit(prompt)
    person.terminal.until(lambda: person.heard() > heard, "the call")
    time.sleep(1.5)
    if asks and re.search(asks, person.terminal.screen()):
        person.terminal.press("Enter")


def kill(client):
    """Kill whatever works in the client's project, but not what shows it."""
    for one in _processes():
        if one.folder == str(client.project) and not any("tmux" in name for name in one.names):
            os.kill(int(one.number), signal.SIGKILL)
