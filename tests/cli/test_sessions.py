"""`katod sessions`: what is listed, on a terminal and in a pipe."""

import io
import sys

import click
import orjson
import pytest

from katod.cli import sessions
from katod.cli.context import Context
from katod.model import SessionKey
from tests.support.records import Claude, Codex


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
        sessions._table([row], {row["session"]: "6f1c2c1e"})
    shown = terminal.getvalue()
    assert "claude" in shown
    assert "6f1c2c1e" in shown
    assert "…" in shown
    assert all(len(line.rstrip()) <= width for line in click.unstyle(shown).splitlines())


def test_a_pipe_gets_one_line_a_session(world):
    """Fields are separated by tabs, and nothing is cut."""
    world.claude().append(Claude().user("What is this?"))
    assert world.cli("sessions").split("\t")[1:] == ["claude", "6f1c2c1e", "app", "What is this?\n"]


def test_each_id_selects_its_session(world):
    """Ids that begin alike, as those of Codex do that begin within a minute, are shown as far as they differ."""
    first, second = "01a1f89e-eea5-7302-86e3-f8e0f705330a", "01a1f89e-eea6-7302-86e3-f8e0f705330b"
    for thread in (first, second):
        world.codex(thread).append(Codex(session=thread).meta(), Codex(session=thread).user(f"words of {thread}"))
    shown = [line.split("\t")[2] for line in world.cli("sessions").splitlines()]
    assert sorted(shown) == ["01a1f89e-eea5", "01a1f89e-eea6"]
    for short in shown:
        assert f"words of {short}" in world.cli("export", short)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([("claude", "aaaabbbbcccc", "")], ["aaaabbbb"]),
        ([("claude", "aaaabbbbcccc", ""), ("codex", "aaaabbbbcd", "")], ["aaaabbbbcc", "aaaabbbbcd"]),
        ([("claude", "aaaabbbb", ""), ("claude", "aaaabbbbc", "")], ["aaaabbbb", "aaaabbbbc"]),
        ([("opencode", "ses_aaaabbbbcccc", "")], ["ses_aaaabbbb"]),
        ([("claude", "aaaabbbbcccc", "aaaabbbbdddd")], ["aaaabbbbc", "aaaabbbbd"]),
    ],
)
def test_short_ids_are_as_short_as_they_can_be(keys, expected):
    """At least eight characters that differ from session to session; more only where another id begins alike."""
    shown = sessions.short_ids(SessionKey(*key) for key in keys)
    assert sorted(short for name, short in shown.items() if name) == expected


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
