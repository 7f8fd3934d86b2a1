"""The README knows every command, option, key, event and log event, and shows the program's own help."""

import inspect
import os
import re
import runpy
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from katod.agents import AGENTS
from katod.cli import app
from katod.config import Agent, Settings
from katod.events import KINDS
from katod.log import EventLog

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BEGIN, END = "<!-- help:begin -->\n", "<!-- help:end -->"


def help_text() -> str:
    """What `katod --help` prints on a terminal of 80 columns, as a code block."""
    shown = CliRunner().invoke(app, ["--help"], prog_name="katod", terminal_width=80).stdout
    return f"```text\n{shown.rstrip()}\n```\n"


def commands(group: click.Group, prefix: str = "") -> list[tuple[str, click.Command]]:
    """Every command with its whole name."""
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        found.append((f"{prefix}{name}", command))
        if isinstance(command, click.Group):
            found += commands(command, f"{prefix}{name} ")
    return found


def keys() -> list[str]:
    """Every configuration key."""
    found: list[str] = []
    for table in fields(Settings):
        if table.name == "agents":
            found += [f"agents.{agent}.{key.name}" for agent in AGENTS for key in fields(Agent)]
        else:
            value = getattr(Settings(), table.name)
            found += [f"{table.name}.{key.name}" for key in fields(value)]
    return found


def log_events() -> list[str]:
    """The name of every log event."""
    return re.findall(r'self\._emit\("\w+", "([a-z._]+)"', inspect.getsource(EventLog))


def test_the_help_in_the_readme_is_the_programs_own() -> None:
    """The help text stands in the README as the program prints it; KATOD_UPDATE=1 writes it there."""
    begin, end = README.index(BEGIN) + len(BEGIN), README.index(END)
    if os.environ.get("KATOD_UPDATE"):
        (ROOT / "README.md").write_text(README[:begin] + help_text() + README[end:])
        return
    assert README[begin:end] == help_text()


@pytest.mark.parametrize(("name", "command"), [pytest.param(n, c, id=n) for n, c in commands(app)])
def test_every_command_and_option_is_documented(name: str, command: click.Command) -> None:
    """Each command and each of its long options stands in the README, and each says what it does."""
    assert f"katod {name.split(maxsplit=1)[0]}" in README
    assert all(word in README for word in name.split())
    assert command.help
    for parameter in command.params:
        long = [option for option in parameter.opts if option.startswith("--")]
        shown = [option for option in parameter.opts if re.search(rf"[\[`| ]{option}(?![\w-])", README)]
        assert shown or not long, long


@pytest.mark.parametrize("key", keys())
def test_every_configuration_key_is_documented(key: str) -> None:
    """Each key stands in the README's table and in the commented default file."""
    agent, leaf = key.split(".")[1], key.rpartition(".")[2]
    assert (f"`agents.<name>.{leaf}`" if key.startswith("agents.") else f"`{key}`") in README
    assert not key.startswith("agents.") or f"| `{agent}` |" in README
    assert re.search(
        rf"^{key.rpartition('.')[2]}\s+=|^{key.rpartition('.')[2]} =",
        (ROOT / "config/katod.toml").read_text(),
        re.MULTILINE,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_kind_is_documented(kind: str) -> None:
    """Each canonical kind stands in the README."""
    assert f"`{kind}`" in README


@pytest.mark.parametrize("event", log_events())
def test_every_log_event_is_documented(event: str) -> None:
    """Each log event stands in the README."""
    assert f"`{event}`" in README


def test_the_transcript_in_the_readme_is_what_the_demo_writes() -> None:
    """The excerpt in the README is a part of the demo's real transcript, but for the lines that it leaves out."""
    excerpt = README.split("````markdown\n")[1].split("````")[0]
    shown = CliRunner().invoke(app, ["export", str(ROOT / "fixtures/demo/session.jsonl")], env={"TZ": "UTC"}).stdout
    written = shown.splitlines()
    missing = [line for line in excerpt.splitlines() if line not in written and "Recording started" not in line]
    assert missing == []


def test_the_picture_in_the_readme_is_drawn_from_the_demo() -> None:
    """The committed picture is what its program draws now; run it after a change of the demo or the format."""
    folder = ROOT / "packaging/readme"
    assert runpy.run_path(str(folder / "picture.py"))["draw"]() == (folder / "demo.svg").read_text()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """There is exactly one line with the test command, and it is the one that CI looks for."""
    assert len(re.findall(r"^python3 -m venv .*pytest$", README, re.MULTILINE)) == 1
    assert "grep -E '^python3 -m venv .*pytest$' README.md" in (ROOT / ".ci/run").read_text()
    assert sys.version_info >= (3, 11)
