"""`katod`: all commands, and their groups."""

import re
from importlib import import_module
from pkgutil import iter_modules

import click
import pytest

import katod.cli
from katod import cli
from katod.cli import GROUPS, app
from tests.documents import README, commands, text
from tests.looping import each
from tests.support.records import Claude

NOWHERE = "the current directory no longer exists"


def defined():
    """Return the names of all commands that are defined in the package, apart from those of a group of commands."""
    found = {}
    for module in iter_modules(katod.cli.__path__):
        found |= {
            id(value): value
            for value in vars(import_module(f"katod.cli.{module.name}")).values()
            if isinstance(value, click.Command)
        }
    inner = {
        id(command) for group in found.values() if isinstance(group, click.Group) for command in group.commands.values()
    }
    return sorted(command.name for key, command in found.items() if key not in inner)


def test_each_command_is_in_one_group():
    """Every command that is defined is in exactly one of the groups."""
    assert sorted(name for group in GROUPS.values() for name in group) == defined()


def test_the_help_shows_the_groups(world):
    """`katod --help` lists the commands below the titles of their groups, each with the first line of its own help."""
    parts = re.split(r"^(\w[\w ]*):\n", world.cli("--help"), flags=re.MULTILINE)
    shown = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert [title for title in shown if title in GROUPS] == list(GROUPS)
    assert {title: re.findall(r"^  (\w+)", shown[title], re.MULTILINE) for title in GROUPS} == {
        title: list(group) for title, group in GROUPS.items()
    }
    summaries = {name: summary for group in GROUPS.values() for name, summary in group.items()}
    assert {words[0]: command.get_short_help_str(200) for words, command in commands() if len(words) == 1} == summaries


def test_completion_offers_the_commands_in_the_order_of_the_help():
    """Those of one group follow each other."""
    offered = [item.value for item in app.shell_complete(click.Context(app), "")]
    assert offered[: sum(map(len, GROUPS.values()))] == [name for group in GROUPS.values() for name in group]


def test_the_readme_has_the_same_groups():
    """The table of everyday use is divided into the groups of the help."""
    table = text(README).partition("| | you want to | type |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| \*\*(.*?)\*\*", table, re.MULTILINE) == list(GROUPS)


@pytest.mark.parametrize(
    ("typed", "meant"), [("statsu", "status"), ("verfy", "verify"), ("record", "start"), ("unpause", "pause")]
)
def test_a_misspelt_command_is_answered_with_the_nearest_one(world, typed, meant):
    """The exit code is 2, and the nearest command is suggested."""
    world.cli(typed, code=2)
    assert f"Did you mean '{meant}'?" in world.said


def test_an_unknown_command_is_named(world):
    """A word that is like no command gets no suggestion."""
    world.cli("frobnicate", code=2)
    assert "No such command 'frobnicate'" in world.said
    assert "Did you mean" not in world.said


@each(
    ("command", "code", "said"),
    [
        ("show latest", 0, ""), ("show chat.md", 1, "no session matches"), ("resume latest", 0, ""),
        ("verify", 0, ""), ("stop", 0, ""), ("start latest x", 0, ""), ("config show", 0, ""),
        ("start", 1, "there is no session in this directory"), ("keep", 1, "there is no session in this directory"),
        *((command, 1, NOWHERE) for command in ("why x.py:1", "allow", "export latest -o x.md", "export --all -o x")),
    ],
)  # fmt: skip
def test_in_a_directory_that_is_gone(world, tmp_path, monkeypatch, command, code, said):
    """Only what needs a path below it fails, and says why."""
    world.claude().append(Claude().user("::start chat\nhello"))
    world.once()
    gone = tmp_path / "gone"
    gone.mkdir()
    with monkeypatch.context() as within:
        within.chdir(gone)
        gone.rmdir()
        failed = world._invoke(command.split(), code).exception
        assert said in (cli._reason(failed) if isinstance(failed, Exception) else world.said)


@each("raised", ["Could not determine home directory.", "could not determine the home directory for '~/.config'"])
def test_a_home_that_is_not_known_is_one_line(raised):
    """There is neither HOME nor an entry for the user, as in some containers; no other such error is hidden."""
    assert cli._reason(RuntimeError(raised)) == "the home directory is not known (set the variable HOME)"
    assert cli._reason(RuntimeError("another one")) == ""


def test_nothing_that_is_printed_reaches_the_terminal_as_a_command(world):
    """A project named with escape codes, a bell or a change of direction is listed without them."""
    name = "a\x1b]52;c;AAAA\x07b\u202ec"
    world.claude().append(Claude(cwd=f"/home/me/{name}").user("hello \x1b[31mred\x07"))
    world.cli("start", "latest", "\x1b]0;x\x07", code=1)
    for printed in (world.cli("sessions"), world.said, world.cli("status")):
        assert not set(printed) & set("\x1b\x07\u202e")
    assert "hello red" in world.cli("sessions")
