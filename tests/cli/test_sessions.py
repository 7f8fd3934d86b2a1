"""`katod sessions`: what is listed, on a terminal and in a pipe."""

import io
import sys

import click
import orjson
import pytest

from katod.cli import sessions
from katod.cli.context import Context
from tests.support.records import Claude


class Terminal(io.StringIO):
    """An output that is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_terminal_shows_every_column(world, monkeypatch, width):
    """However narrow it is, agent and session id are shown: the title is cut."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", str(width))
    world.claude().append(Claude().user("words " * 30))
    row = orjson.loads(world.cli("sessions", "--json"))
    with monkeypatch.context() as shown_to_people:
        shown_to_people.setattr(sys, "stdout", terminal)
        sessions._table([row])
    shown = terminal.getvalue()
    assert "claude" in shown
    assert "6f1c2c1e" in shown
    assert "…" in shown
    assert all(len(line.rstrip()) <= width for line in click.unstyle(shown).splitlines())


def test_a_pipe_gets_one_line_a_session(world):
    """Fields are separated by tabs, and nothing is cut."""
    world.claude().append(Claude().user("What is this?"))
    assert world.cli("sessions").split("\t")[1:] == ["claude", "6f1c2c1e", "app", "What is this?\n"]


def test_a_wrong_date_is_wrong_usage(world):
    """`--since` takes a date or a number of days."""
    world.cli("sessions", "--since", "yesterday", code=2)
    assert "expected a date" in world.said


def test_a_description_leaves_out_what_is_not_known(world):
    """An unknown field is left out of the JSON."""
    world.claude().append(Claude().user("x"))
    assert '"subagent"' not in world.cli("sessions", "--json")


def test_a_folder_that_cannot_be_read_is_told(world, monkeypatch):
    """A list that is empty for lack of permission says so."""
    monkeypatch.setattr(Context, "found", lambda self: self.problems.update({"/closed": "Permission denied"}) or {})
    world.cli("sessions")
    assert "/closed: Permission denied" in world.said


def test_without_sessions_it_says_so(world):
    """An empty list is explained on stderr, so that a pipe gets nothing."""
    assert world.cli("sessions") == ""
    assert "no sessions found" in world.said
