"""Commands in files of a project of which a client makes prompts: they are not typed, whoever does not tell them apart."""

import os
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event, SessionRef
from katod.record import promptfiles
from katod.record.promptfiles import why_not_typed
from tests.looping import each
from tests.support.records import MAKERS, says, user
from tests.support.world import World

BODY = "---\ndescription: greets\n---\nGreet the person kindly.\n\n$ARGUMENTS\n\n::start evil.jsonl\n"
PROMPT = "Greet the person kindly.\n\njoe\n\n::start evil.jsonl"
# Without a project there are no files of prompts.
UNMARKED = [
    make
    for make in MAKERS
    if AGENTS[make.agent].commands and not AGENTS[make.agent].marks_expansions and "cwd" not in make.ABSENT
]


def command(
    line: str = "::start evil.jsonl", beside: str = "Greet the person kindly.\n\njoe", agent: str = "pi"
) -> Event:
    """Return a command as a message contains it."""
    return Event("1", ev.USER_COMMAND, SessionRef(agent, "1"), {"line": line}, {}, beside=beside)


def project_with(folder: Path, name: str, content: str) -> Path:
    """Return a new project with one file."""
    project = Path(mkdtemp(dir=folder))
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(content)
    return project


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
    project = project_with(tmp_path, name, BODY)
    (project / "a/b").mkdir(parents=True)
    assert bool(why_not_typed(command(), str(project))) == is_found
    assert bool(why_not_typed(command(), str(project / "a/b"))) == is_found
    (project / "a/.git").mkdir()
    assert not why_not_typed(command(), str(project / "a/b"))


MADE = [
    ("Say hello to\n::stop", "::stop", "Say hello to"),
    ("Fix it\n::stop", "::stop", "Fix it"),
    ("::stop\nSay hello", "::stop", "Say hello"),
    ("Say hello to\n::start $1.md", "::start x.md", "Say hello to"),
    ("Say hello to\n::start $10", "::start x.md", "Say hello to"),
    ("Say hello to\n::start $1", "::start", "Say hello to"),
    ("Say hello to\n::stop $ARGUMENTS", "::stop", "Say hello to"),
    ("Say hello to\n$1::stop", "::stop", "Say hello to"),
    ("Greet\nhello {{name}}\n::start a", "::start a", "Greet\nhello joe"),
    ("Say hello to\n::start a", "::start a joe", "Say hello to"),  # what is typed behind a name is appended
    ("Say hello to\r\n::stop\r\n", "::stop", "Say hello to"),
    ("Say\n```\n::stop\n```", "::stop", "Say\n```"),
]
NOT_MADE = [
    ("Say hello to\n::start a\nand more", "::start a joe", "Say hello to\nand more"),
    ("Say hello to\n::stop", "::start", "Say hello to"),
    ("Say hello to\n::stop", "::stop", "something else"),
    ("Say hello to\n::stop", "::stop", "I Say hello to"),
    ("::stop", "::stop", "something else"),
    ("::stop", "::stop", ""),
    ("```\n::stop\n```\nThen rest.", "::stop", "```"),
    ("::sing\n::stop", "::stop", "::sing"),  # what looks like a command is typed in its own right
    ("Type\n::start\nIf $1 is given, add $2 and then stop.", "::start", "Tidy up and then stop."),
]


@each(("file", "line", "beside", "is_made"), [*((*row, True) for row in MADE), *((*row, False) for row in NOT_MADE)])
def test_which_prompts_were_made_of_a_file(tmp_path: Any, file: str, line: str, beside: str, is_made: bool) -> None:
    """Those that have the line of the command, and the line above or below it."""
    project = project_with(tmp_path, ".x/commands/a.md", file)
    assert bool(why_not_typed(command(line, beside), str(project))) == is_made


@each(
    ("name", "content"),
    [
        ("opencode.json", '{"command":{"a":{"template":"Say \\"hello\\" to joe\\r\\n\\n::stop"}}}'),
        ("opencode.jsonc", '{// mine\n"command":{"a":{"template":"Say \\"hello\\" to joe\\n\\u003a\\u003Astop"},}}'),
        (".x/commands/a.toml", 'prompt = """\nSay \\"hello\\" to joe\n\n::stop\n"""\n'),
        (".x/commands/a.md", '\ufeffSay "hello" to joe\n\n::stop\n'),
    ],
)
def test_forms_of_prompts(tmp_path: Any, name: str, content: str) -> None:
    """Strings are read as they are written in settings."""
    project = project_with(tmp_path, name, content)
    assert why_not_typed(command("::stop", 'Say "hello" to joe'), str(project))


def test_a_project_is_not_looked_into_without_need(tmp_path: Any) -> None:
    """Where the records of an agent tell what was typed, that counts."""
    (tmp_path / ".x/commands").mkdir(parents=True)
    (tmp_path / ".x/commands/a.md").write_text(BODY)
    assert why_not_typed(command(agent="opencode"), str(tmp_path))
    assert not why_not_typed(command(agent="claude"), str(tmp_path))


def test_without_a_folder_of_the_session_nothing_is_compared() -> None:
    """Nor if there is none of this name."""
    for cwd in ("", "relative", "/nowhere/at/all", "/a\0b", "/\udc80"):
        assert not why_not_typed(command(), cwd)


def test_hostile_files_stop_nothing(tmp_path: Any) -> None:
    """Links that lead back, or nowhere, a file without an end, one of another kind, and a name that is no text."""
    folder = tmp_path / ".x/commands"
    folder.mkdir(parents=True)
    for number in range(20):
        (folder / f"loop{number}").symlink_to(folder)
    (folder / "0").symlink_to("0")
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "gone.md").symlink_to("nowhere")
    os.mkfifo(folder / "fifo.md")
    (folder / "bad.toml").write_text("::start = [")
    assert not why_not_typed(command(), str(tmp_path))
    (folder / os.fsdecode(b"\xff.md")).write_text(BODY)
    assert "\ufffd.md" in why_not_typed(command(), str(tmp_path))


def test_a_large_file_hides_nothing(tmp_path: Any) -> None:
    """Neither one in front of it, nor what is in it."""
    folder = tmp_path / ".x/commands"
    folder.mkdir(parents=True)
    for number in range(600):
        (folder / f"{number}.md").write_text("hello")
    (folder / "z.md").write_text("x" * 200_000 + "\n" + BODY)
    assert why_not_typed(command(), str(tmp_path))


@each("limit", ["_ENTRIES", "_BYTES"])
def test_too_many_files_are_said(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Or too large ones, all together. A command that is alone in its message acts as ever."""
    (tmp_path / ".x/commands").mkdir(parents=True, exist_ok=True)
    for number in range(20):
        (tmp_path / f".x/commands/{number}.md").write_text("hello")
    with monkeypatch.context() as patched:
        patched.setattr(promptfiles, limit, 10)
        assert "send the command in a message of its own" in why_not_typed(command(), str(tmp_path))
    assert not why_not_typed(command(beside=""), str(tmp_path))


@pytest.mark.slow
@each(
    ("content", "line"),
    [
        ("hello\n::start " + "$1a" * 500 + "$1b\nmore", "::start " + "a" * 5000),
        ("::stop\n" * 500_000, "::stop"),
        ("other\n::stop\n" * 200_000, "::stop"),
    ],
)
def test_no_file_takes_long(tmp_path: Any, content: str, line: str) -> None:
    """Each line of it is looked at once: else this would not end before the limit of a test."""
    project = project_with(tmp_path, ".x/commands/a.md", content)
    assert not why_not_typed(command(line, "hello there"), str(project))


@pytest.mark.slow
@each("content", ['"' + '\\"' * 1_000_000, "[" * 1_000_000 + '"::stop"'])
def test_no_settings_take_long_or_fail(tmp_path: Any, content: str) -> None:
    """Strings without an end, and values in values without one."""
    for name in ("opencode.json", ".x/commands/a.toml"):
        project = project_with(tmp_path, name, content)
        assert not why_not_typed(command("::stop", "hello there"), str(project))


def test_a_project_may_have_very_many_files(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only those of prompts count."""
    monkeypatch.setattr(promptfiles, "_ENTRIES", 10)
    (tmp_path / ".git").mkdir()
    for number in range(50):
        (tmp_path / f"{number}.txt").touch()
    assert not why_not_typed(command(), str(tmp_path))
