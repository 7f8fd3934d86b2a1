"""Commands in files of a project of which a client makes prompts: they are not typed, whoever does not tell them apart."""

from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event, SessionRef
from katod.record.promptfiles import why_not_typed
from tests.looping import each
from tests.support.records import MAKERS, says, user
from tests.support.world import World

BODY = "---\ndescription: greets\n---\nGreet the person kindly.\n\n$ARGUMENTS\n\n::start evil.jsonl\n"
PROMPT = "Greet the person kindly.\n\njoe\n\n::start evil.jsonl"
UNMARKED = [make for make in MAKERS if AGENTS[make.agent].commands and not AGENTS[make.agent].marks_expansions]


def command(
    line: str = "::start evil.jsonl", beside: str = "Greet the person kindly.\n\njoe", agent: str = "pi"
) -> Event:
    """Return a command as a message contains it."""
    return Event("1", ev.USER_COMMAND, SessionRef(agent, "1"), {"line": line}, {}, beside=beside)


@pytest.mark.parametrize("make", UNMARKED, ids=lambda make: make.__name__)
def test_a_command_of_a_file_is_refused_and_said(world: World, make: Any) -> None:
    """It starts nothing, `katod status` names the file, and what is typed acts as before."""
    project = world.home / "work"
    (project / ".client/commands").mkdir(parents=True)
    (project / ".client/commands/greet.md").write_text(BODY)
    maker = make(world, cwd=str(project))
    maker.say(user("hello"), says("hi"))
    world.once()
    maker.say(user(PROMPT), says("good day"))
    world.once()
    assert world.written() == {}
    [refused] = world.status()["refused"]
    assert "it was not typed" in refused["reason"]
    assert ".client/commands/greet.md" in refused["reason"]
    maker.say(user("::start good.jsonl\nGreet the person kindly."), says("yes"))
    world.once()
    assert list(world.written()) == ["good.jsonl"]


@each(
    ("name", "is_found"),
    [
        (".opencode/command/a.md", True),
        (".opencode/commands/deep/er/a.md", True),
        (".pi/prompts/a.md", True),
        (".clinerules/workflows/a.md", True),
        (".agents/skills/greet/SKILL.md", True),
        ("commands/a.md", False),
        (".opencode/other/a.md", False),
    ],
)
def test_where_clients_keep_prompts(tmp_path: Any, name: str, is_found: bool) -> None:
    """In a folder of the client, which is hidden, at any depth; also above the session's folder, in its repository."""
    project = Path(mkdtemp(dir=tmp_path))
    (project / name).parent.mkdir(parents=True)
    (project / name).write_text(BODY)
    (project / "a/b").mkdir(parents=True)
    assert bool(why_not_typed(command(), str(project))) == is_found
    assert bool(why_not_typed(command(), str(project / "a/b"))) == is_found
    (project / "a/.git").mkdir()
    assert not why_not_typed(command(), str(project / "a/b"))


@each(
    ("written", "line", "beside", "is_made"),
    [
        ("Say hello to\n::stop", "::stop", "Say hello to", True),
        ("Say hello to\n::start $1.md", "::start x.md", "Say hello to", True),
        ("Say hello to {{name}}\n::start a", "::start a", "Say hello to joe", True),
        ("Say hello to\n::start a", "::start a joe", "Say hello to", True),  # what is typed behind a name is appended
        ("Say hello to\n::start a\nand more", "::start a joe", "Say hello to and more", False),
        ("Say hello to\n::stop", "::start", "Say hello to", False),
        ("Say hello to\n::stop", "::stop", "something else", False),
        ("::stop", "::stop", "something else", False),
        ("::stop", "::stop", "", False),
        ("to\n::stop", "::stop", "to", False),
    ],
)
def test_which_prompts_were_made_of_a_file(tmp_path: Any, written: str, line: str, beside: str, is_made: bool) -> None:
    """Those that have the line of the command, and other words of the file."""
    project = Path(mkdtemp(dir=tmp_path))
    (project / ".x/commands").mkdir(parents=True)
    (project / ".x/commands/a.md").write_text(written)
    assert bool(why_not_typed(command(line, beside), str(project))) == is_made


def test_commands_in_settings_are_found(tmp_path: Any) -> None:
    """As strings, with all that is escaped in them."""
    (tmp_path / "opencode.json").write_text('{"command":{"a":{"template":"Say \\"hello\\" to joe\\n\\n::stop"}}}')
    assert why_not_typed(command("::stop", 'Say "hello" to joe'), str(tmp_path))


def test_what_tells_a_prompt_from_what_was_typed_is_believed(tmp_path: Any) -> None:
    """An agent that records what was typed needs no look at files; and there is none without a folder of the session."""
    (tmp_path / ".x/commands").mkdir(parents=True)
    (tmp_path / ".x/commands/a.md").write_text(BODY)
    assert why_not_typed(command(), str(tmp_path))
    assert not why_not_typed(command(agent="claude"), str(tmp_path))
    assert not why_not_typed(command(), "")
    assert not why_not_typed(command(), "relative")


def test_hostile_files_stop_nothing(tmp_path: Any) -> None:
    """A folder that leads to itself, a file without an end, one that is too large, and one that is none."""
    folder = tmp_path / ".x/commands"
    folder.mkdir(parents=True)
    (folder / "loop").symlink_to(folder)
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "large").write_text(BODY + "x" * 100_000)
    (folder / "gone").symlink_to("nowhere")
    assert not why_not_typed(command(), str(tmp_path))
    (folder / "more.md").write_text(BODY)
    assert why_not_typed(command(), str(tmp_path))
