"""Choosing on a terminal: the keys, and the terminal itself."""

import os

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from katod.cli.choices import Choices
from katod.cli.layout import TextSpan
from katod.cli.picker import Picker, _fragments
from katod.discover.found import FoundSession
from katod.model import SessionKey
from tests.looping import each
from tests.support.pane import Pane
from tests.support.records import Claude

TITLES = ["Login page", "Basket", "login test"]


def chosen(keys):
    """Return the title of the session that is chosen with these keys, None if none is."""
    found = [FoundSession(SessionKey("claude", f"id-{n}")) for n in range(3)]
    rows = {
        one.key: {
            "agent": "claude",
            "session": one.key.id,
            "title": title,
            "project": "/p",
            "last": "2026-02-10T10:00:00+00:00",
            "recording": False,
            "outputs": [],
        }
        for one, title in zip(found, TITLES, strict=True)
    }
    choices = Choices(found, lambda one: rows[one.key])
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text(keys)
        picked = Picker(choices, {one.key.id: one.key.id for one in found}, DummyOutput()).run()
    return picked and rows[picked.key]["title"]


@pytest.mark.slow
@each(
    "keys, expected",
    [
        ("\r", "Login page"),
        ("\x1b[B\r", "Basket"),
        ("\x0e\x0e\x10\r", "Basket"),
        ("\x1b[B\x1b[B\x1b[A\x1b[A\x1b[A\r", "Login page"),
        ("login\x1b[B\r", "login test"),
        ("zz\r\x7f\x7f\r", "Login page"),
        ("zz\x15bask\r", "Basket"),
        ("\x1b[200~log\nin t\x1b[201~\r", "login test"),
        ("\x1b[F\r", "login test"),
        ("\x1b[F\x1b[H\r", "Login page"),
        ("\x1b[D\x1b[C\x1b[3~\x1b[15~\x1bOP\x1bb\r", "Login page"),
        ("\x1b", None),
        ("\x03", None),
    ],
)
def test_keys_choose_a_session(keys, expected):
    """Arrows move, letters filter, Enter takes the marked one if there is any, Esc and Ctrl-C leave; others do nothing."""
    assert chosen(keys) == expected


HOSTILE = "a\x1b[2Jb\x1b]0;c\x07\u202ed\x9b\ne"


def test_nothing_in_a_line_affects_the_terminal():
    """Whatever it is made from: the last step before the library cleans it."""
    assert "".join(text for _, text, *_ in _fragments([TextSpan(HOSTILE, "bold")], 80)) == "abd e\n"


def test_what_sessions_say_of_themselves_is_cleaned():
    """Agent, id, project and title are drawn without what would affect the terminal, or stand for a key."""
    found = FoundSession(SessionKey("claude", HOSTILE))
    row = {"agent": "claude", "session": HOSTILE, "title": HOSTILE, "project": f"/{HOSTILE}", "outputs": []}
    row |= {"last": "2026-02-10T10:00:00+00:00", "recording": False}
    with create_app_session(output=DummyOutput()):
        drawn = Picker(Choices([found], lambda _: row), {HOSTILE: HOSTILE}, DummyOutput())._drawn()
    shown = "".join(text for _, text, *_ in drawn)
    assert shown.count("abd e") == 3
    assert shown.replace("\n", "").isprintable()


@pytest.mark.slow
def test_a_person_is_asked_on_a_terminal(world):
    """The sessions are listed, newest first, with cleaned titles; what is typed filters them."""
    for number, title in enumerate(("Add a basket", "Add \x1b]0;pwned\x07 logins")):
        session = world.session(number + 1)
        session.append(Claude(session=session.session, cwd=str(world.project)).user(title))
        os.utime(session.path, (1e9 + number, 1e9 + number))
    with Pane(world, "resume") as pane:
        pane.until(["2 sessions", "Add a basket", "logins", "Esc leave"])
        os.write(pane._screen, b"basket\r")
        assert pane.ended() == 0
    assert f"claude --resume {world.session(1).session}" in pane.text
    assert "pwned" not in pane.raw


@pytest.mark.slow
@pytest.mark.parametrize("key", [b"\x1b", b"\x03"])
def test_leaving_is_a_failure_without_a_word(world, key):
    """Nothing was done: the exit code says so, and nothing else is printed."""
    world.claude().append(Claude().user("words"))
    with Pane(world, "export") as pane:
        pane.until("Esc leave")
        os.write(pane._screen, key)
        assert pane.ended() == 1
    assert "Traceback" not in pane.text
    assert "Aborted" not in pane.text
