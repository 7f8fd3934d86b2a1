"""Tests for putting a saved session back into its agent."""

import json
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from katod import durable
from katod.rescue import restoring
from katod.rescue.copyfile import members
from tests.support.records import OTHER, Claude, Gemini, Maker, line, moment, says, user
from tests.support.world import CUT, World, in_new_process

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


def ends_at_link(number: int, *, after: bool) -> Callable[[], None]:
    """Return what ends the process when it gives the file of a number its name, or right after that."""
    count = 0

    class EndsAtLink:
        def link(self, *args: Any, **options: Any) -> None:
            nonlocal count
            count += 1
            if count == number and not after:
                os._exit(CUT)
            durable.link(*args, **options)
            if count == number:
                os._exit(CUT)

        def __getattr__(self, name: str) -> Any:
            return getattr(durable, name)

    return lambda: setattr(restoring, "durable", EndsAtLink())


def drafts(world: World) -> list[str]:
    """Return the names of files that are not complete."""
    return [path.name for path in world.home.rglob("*.katod-part")]


@pytest.mark.fault("killed while a session is put back")
@pytest.mark.parametrize("then", ["again", "forgotten", "the daemon"])
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("after", [False, True], ids=["before its name", "after its name"])
def test_an_interrupted_restore_leaves_no_text(world: World, then: str, number: int, *, after: bool) -> None:
    """The next try, forgetting it and katod itself remove the drafts of all files, in whichever one it ended."""
    maker, folder = Claude(world), Claude(world).path.with_suffix("")
    folder.mkdir(parents=True)
    files = [maker.path, *(folder / name for name in ("r1.txt", "r2.txt"))]
    for path in files[1:]:
        path.write_text(path.name)
    contents = [lose(world, maker, "hello", session=False), b"r1.txt", b"r2.txt"]
    for path in files:
        path.unlink()
    world.process()

    def cut() -> None:
        ends_at_link(number, after=after)()
        restore(world, maker)

    assert in_new_process(cut, ends=(0, CUT)) == CUT
    assert len(drafts(world)) == 1
    if then == "again":
        restore(world, maker, code=1 if after and number == len(files) else 0)
        assert [path.read_bytes() for path in files] == contents
    elif then == "forgotten":
        world.cli("forget", f"claude:{maker.session}", "--yes")
    else:
        world.process()
    assert not drafts(world)


def test_two_restores_at_once_put_it_back_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one is refused, and changes nothing of the first; nor does katod, which looks meanwhile."""
    maker = Claude(world)
    content = lose(world, maker, "hello")
    write = restoring.__dict__["_write"]

    def while_it_writes(*args: Any) -> int:
        size: int = write(*args)
        with monkeypatch.context() as patched:
            patched.setattr(restoring, "_write", write)
            restore(world, maker, code=1)
            assert "another `katod rescue --restore`" in world.said
            world.process()
        return size

    monkeypatch.setattr(restoring, "_write", while_it_writes)
    restore(world, maker)
    assert maker.path.read_bytes() == content
    assert not drafts(world)


def test_a_session_that_is_forgotten_while_it_is_put_back_is_not_put_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And that is said."""
    maker = Claude(world)
    lose(world, maker, "hello")
    write = restoring.__dict__["_write"]

    def while_it_writes(*args: Any) -> int:
        size: int = write(*args)
        world.cli("forget", f"claude:{maker.session}", "--yes")
        return size

    monkeypatch.setattr(restoring, "_write", while_it_writes)
    restore(world, maker, code=1)
    assert "the session was forgotten meanwhile" in world.said
    assert not maker.path.exists()
    assert not drafts(world)
