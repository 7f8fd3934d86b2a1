"""`katod resume`: the command with which an agent resumes a session."""

import shlex
import subprocess
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import FoundSession, find_sessions
from katod.discover.roots import find_roots
from katod.metadata import SessionMetadata
from katod.model import Identity, SessionKey, Stat
from katod.record.resumecommand import resume_command, resume_command_from
from tests.examples import mostly
from tests.looping import each
from tests.support.records import MAKERS, OTHER, SESSION, Claude, Codex, Gemini, VSCode, says, user


@pytest.fixture
def shop(world):
    """Return the directory of a session of Claude Code."""
    shop = world.home / "my shop"
    shop.mkdir()
    world.claude().append(Claude(cwd=str(shop)).user("words"))
    return shop


def test_the_command_can_be_pasted(world, shop):
    """It goes to the session's directory first, and a shell takes it as it is meant."""
    command = world.cli("resume", SESSION).strip()
    assert command == f"cd ~/'my shop' && claude --resume {SESSION}"
    said = subprocess.run(
        ["sh", "-c", command.replace("claude", 'echo "$PWD"')],
        env=world.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == f"{shop} --resume {SESSION}\n"


def test_names_that_affect_a_terminal_carry_nothing_out(world):
    """Neither a directory nor an id that was written to swallow the end of a word: what is printed is one command."""
    folder, name = world.home / "dir\x1b[", "x; touch pwned #"
    folder.mkdir()
    source = Claude(world, name, cwd=str(folder))
    source.append(source.user("words"))
    command = world.cli("resume", "claude:x").strip()
    assert command.isprintable()
    said = subprocess.run(
        ["bash", "-c", command.replace("claude", 'printf "%s|" "$PWD"')],
        env=world.environment, cwd=world.home, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout == f"{folder}|--resume|{name}|"
    assert not (world.home / "pwned").exists()


def test_a_session_that_names_no_directory_is_resumed_where_one_is(world):
    """Its records may have none, or be none that katod understands."""
    source = world.claude()
    source.append({"type": "summary", "summary": "Nothing", "leafUuid": "x"})
    assert world.cli("resume", SESSION) == f"claude --resume {SESSION}\n"


def test_a_directory_that_is_none_is_left_out(world):
    """It may have been written by anybody, with anything in it."""
    for cwd in ("-P", "/\0", "~"):
        world.claude().append(Claude(cwd=cwd).user("words"))
        assert world.cli("resume", SESSION) == f"claude --resume {SESSION}\n"
        world.claude().path.unlink()


def test_it_goes_nowhere_if_that_is_not_needed(world, shop, monkeypatch):
    """In the session's directory; for one that no longer exists, a note says so."""
    monkeypatch.chdir(shop)
    assert world.cli("resume") == f"claude --resume {SESSION}\n"
    monkeypatch.chdir(world.home)
    shop.rmdir()
    assert world.cli("resume", SESSION) == f"claude --resume {SESSION}\n"
    assert "no longer exists" in world.said


RESUMED = [make for make in MAKERS if AGENTS[make.agent].resume is not None]


def test_who_has_no_command_is_known(world):
    """It is said so."""
    assert {make.agent for make in MAKERS} - {make.agent for make in RESUMED} == {"vscode"}
    VSCode(world).say(user("words"), says("answer"))
    world.cli("resume", "latest", code=1)
    assert "VS Code Copilot Chat has no command" in world.said


@pytest.mark.parametrize("make", mostly([Gemini, Codex], RESUMED), ids=lambda make: make.__name__)
def test_every_agent_has_a_command(world, make):
    """With the whole id, even where the file's name has only a part of it."""
    maker = make(world).say(user("words"), says("answer"), user("more"))
    words = shlex.split(world.cli("resume", "latest").rpartition("&& ")[2])
    whole = {"opencode": f"ses_{maker.session[:8]}", "zot": str(maker.path)}.get(maker.agent, maker.session)
    assert AGENTS[maker.agent].resume is not None
    assert words[-1].rpartition("=")[2].replace("~", str(world.home)) == whole


def test_a_sub_agent_has_the_command_of_its_parent(world):
    """Whether it is a file beside the session, or a session of its own that names its parent."""
    world.claude().append(Claude().user("words"))
    agent = Claude(world, SESSION, subagent="abc")
    agent.append(agent.user("look", isSidechain=True, agentId="abc"))
    assert world.cli("resume", "abc").endswith(f"claude --resume {SESSION}\n")
    thread = world.codex(OTHER)
    thread.append(
        thread.meta(thread_source="subagent", parent_thread_id=SESSION),
        thread.user("look"),
    )
    assert world.cli("resume", OTHER).endswith(f"codex resume {SESSION}\n")


@each("name", ["--dangerously-skip-permissions", "a\nb"])
def test_an_id_that_would_be_more_than_an_id_is_refused(world, name):
    """A session file is not trusted with what is pasted into a shell."""
    source = Gemini(world)
    source.path.write_bytes(b"")
    source.append({"sessionId": name, "projectHash": "0", "kind": "main"}, *source.records(user("words")))
    world.cli("resume", f"gemini:{source.path.stem[-8:]}", code=1)
    assert "not one that can be typed" in world.said


def test_a_pause_makes_no_difference(world, shop):
    """While katod is paused, too, it prints the agent's command; only `katod pause --end` ends the pause."""
    world.cli("pause")
    assert "claude --resume" in world.cli("resume", SESSION)
    world.cli("resume", code=1)  # no session is in this directory, and there is no terminal to ask on
    assert "no session in this directory" in world.said
    assert Path.cwd() != shop
    assert world.status()["daemon"]["paused"]


def test_a_session_that_is_gone_meanwhile_began_nowhere(world, shop):
    """Its agent may still know it by its id."""
    [found] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    words = ("claude", "--resume", SESSION)
    assert resume_command(found) == (words, str(shop))
    Path(found.files[-1][0]).unlink()
    assert resume_command(found) == (words, "")


def test_an_agent_that_wants_a_file_is_given_the_one_that_changed_last():
    """A session may have several, of which the others are older."""
    key = SessionKey("zot", "s")
    found, metadata = FoundSession(key), SessionMetadata(key)
    found.files = [(f"/x/{name}.jsonl", Identity(key), Stat(0, 0, 0, 0)) for name in ("first", "second", "last")]
    assert resume_command_from(found, metadata) == (("zot", "--session", "/x/last.jsonl"), "")
