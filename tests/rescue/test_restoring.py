"""Tests for putting a saved session back into its agent."""

import json
import os
import time

import pytest

from katod.rescue.copyfile import members
from tests.support.records import OTHER, Claude, Gemini, Maker, line, moment, says, user
from tests.support.world import World

DAY = 86_400
AGENTS = pytest.mark.parametrize("make", [Claude, Gemini], ids=lambda maker: maker.__name__)


def lose(world: World, maker: Maker, *texts: str, session: bool = True) -> bytes:
    """Say something, have it saved, delete it as the agent does, and return what it was."""
    world.configure(rescue=True)
    maker.say(*(said for text in texts for said in (user(text), says("answer"))))
    then = time.time() - 40 * DAY
    os.utime(maker.path, (then, then))
    world.process()
    content = maker.path.read_bytes()
    if session:
        maker.path.unlink()
        world.process()
    return content


def restore(world: World, maker: Maker, code: int = 0) -> str:
    """Put a session back as the person does."""
    return world.cli("rescue", "--restore", f"{maker.agent}:{maker.session[:8]}", code=code)


def typed_now(maker: Maker, text: str) -> None:
    """Type a message in a session that goes on."""
    for record in maker.records(user(text)):
        named = {"uuid": f"{OTHER[:-4]}9999"} if "uuid" in record else {"id": "late"}
        maker.append(line(record | named | {"timestamp": moment()}))


@AGENTS
def test_the_agent_has_the_session_again(world: World, make: type[Maker]) -> None:
    """Its file is as it was, but for what tells Gemini that it is not old, and has today's time."""
    maker = make(world)
    content = lose(world, maker, "hello")
    assert str(maker.path) in restore(world, maker)
    restored = maker.path.read_bytes()
    assert restored.startswith(content)
    ends = [json.loads(row) for row in restored[len(content) :].splitlines()]
    assert [list(end["$set"]) for end in ends] == ([["lastUpdated"]] if make is Gemini else [])
    assert time.time() - maker.path.stat().st_mtime < 60
    assert maker.path.stat().st_mode & 0o777 == 0o600
    assert world.cli("show", f"{maker.agent}:{maker.session[:8]}").count("hello") >= 1


@pytest.mark.parametrize("ledger", ["kept", "lost"])
@AGENTS
def test_no_command_in_it_acts_again_and_new_ones_do(world: World, make: type[Maker], ledger: str) -> None:
    """All that it has is history, also to a katod that never saw it."""
    maker = make(world)
    lose(world, maker, "::start old", "::stop", "::start older")
    for row in world.outputs():
        row.path.unlink(missing_ok=True)
    if ledger == "lost":
        for path in world.state.glob("ledger*"):
            path.unlink()
        world.process()
    before = len(world.outputs())
    restore(world, maker)
    world.process()
    assert len(world.outputs()) == before
    typed_now(maker, "::start new\nwords")
    world.process()
    assert [row.path.name for row in world.outputs()[before:]] == ["new.md"]
    assert not world.status()["refused"]


def test_it_comes_with_what_was_beside_it(world: World) -> None:
    """Sub-agents and results; what is there by now stays as it is."""
    maker, child = Claude(world), Claude(world, subagent="a1b2c3").say(user("task"), says("done"))
    folder = maker.path.with_suffix("")
    for name in ("r1.txt", "r2.txt"):
        (folder / name).write_text(name)
    lose(world, maker, "hello")
    content = child.path.read_bytes()
    child.path.unlink()
    (folder / "r1.txt").unlink()
    (folder / "r2.txt").write_text("mine")
    restore(world, maker)
    assert child.path.read_bytes() == content
    assert [(folder / name).read_text() for name in ("r1.txt", "r2.txt")] == ["r1.txt", "mine"]


def test_nothing_that_is_there_is_replaced(world: World) -> None:
    """A session that the agent still has is refused."""
    maker = Claude(world)
    lose(world, maker, "hello", session=False)
    restore(world, maker, code=1)
    assert "the agent still has this session" in world.said


def test_a_damaged_copy_is_not_put_back(world: World) -> None:
    """Nor a part of it."""
    maker = Claude(world)
    lose(world, maker, "hello " * 400)
    [place] = (world.home / ".local/share/katod/rescued").glob("*/*.zip")
    data = bytearray(place.read_bytes())
    with members(place) as (_, archive):
        file = archive.getinfo(archive.namelist()[0])
    at = file.header_offset + 50 + len(file.filename) + file.compress_size // 2
    data[at] ^= 0xFF
    place.write_bytes(data)
    restore(world, maker, code=1)
    assert "damaged" in world.said
    assert not list(maker.path.parent.iterdir())


def test_a_link_in_the_agents_folder_is_not_followed(world: World) -> None:
    """What it leads to is not the agent's."""
    maker = Claude(world)
    lose(world, maker, "hello")
    maker.path.parent.rmdir()
    elsewhere = world.home / "elsewhere"
    elsewhere.mkdir()
    maker.path.parent.symlink_to(elsewhere)
    restore(world, maker, code=1)
    assert "symbolic link" in world.said
    assert not list(elsewhere.iterdir())


def test_only_one_session_is_put_back(world: World) -> None:
    """An unknown one, and a beginning that two have, is refused."""
    one, two = Claude(world), Gemini(world)
    lose(world, one, "hello")
    lose(world, two, "hello")
    for text, said in (("abc", "no saved session"), (one.session[:6], "2 saved sessions match")):
        world.cli("rescue", "--restore", text, code=1)
        assert said in world.said
