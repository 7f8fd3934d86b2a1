"""After `/clear` or `/new`, the person is told once that the new session is not recorded."""

import json
from typing import Any

import pytest

from katod.record import successor
from tests.examples import mostly
from tests.support.inprocess import InProcess
from tests.support.records import MAKERS, Claude, Maker, calls, says, user
from tests.support.world import World

KNOWN = [maker for maker in MAKERS if "cwd" not in maker.ABSENT and not maker.WHOLE_SECONDS]
SAID = "is not recorded: type ::start there to record it, too"


class Told(InProcess):
    """A daemon that keeps its news."""

    def __init__(self, world: World) -> None:
        self.news: list[Any] = []
        super().__init__(world)
        self._pipeline.controller.successors._tell = self.news.append


@pytest.fixture
def running(world: World) -> Told:
    return Told(world)


def other(maker: type[Maker], world: World, **more: Any) -> Maker:
    """Return a second session of an agent."""
    return maker(world, "00000001-9d1e-7b7a-8c66-0123456789ab", start=60, **more)


def recordings(world: World) -> list[dict[str, Any]]:
    """Return the recordings as `katod status` has them."""
    found: list[dict[str, Any]] = json.loads(world.cli("status", "--json"))["recordings"]
    return found


@pytest.mark.parametrize("maker", mostly([Claude], KNOWN), ids=lambda maker: maker.__name__)
def test_a_new_session_below_a_recording_is_said_once(world: World, running: Told, maker: type[Maker]) -> None:
    """In `status`, and as news; until it is recorded itself."""
    maker(world).say(user("::start talk.md\nhello"), says("hi"))
    running.turn()
    second = other(maker, world)
    second.say(user("something else"), says("fine"))
    running.turn()
    assert [one.kind for one in running.news] == ["left"]
    assert SAID in world.cli("status")
    second.say(user("and more"), says("well"))
    running.turn()
    assert len(running.news) == 1
    assert [one["successor"].partition(":")[0] for one in recordings(world)] == [maker.agent]
    second.say(user("::start too.md\nat last"), says("good"))
    running.turn()
    assert ["successor" in one for one in recordings(world)] == [False, False]
    running.stop()


def test_a_session_in_another_project_is_no_successor(world: World, running: Told) -> None:
    """Nor is one that began before the recording, an agent's own, or one that begins with a command."""
    early = Claude(world, "00000000-4e08-49a9-b1df-7f5d23a36a11").say(user("early"), says("bird"))
    running.turn()
    Claude(world, start=30).say(user("::start talk.md\nhello"), says("hi"))
    running.turn()
    early.say(user("more"), says("yes"))
    Claude(world, "11111111-4e08-49a9-b1df-7f5d23a36a11", cwd="/home/me/other", start=60).say(
        user("elsewhere"), says("ok")
    )
    Claude(world, "22222222-4e08-49a9-b1df-7f5d23a36a11", start=60).say(user("::start own.md\nme too"), says("ok"))
    running.turn()
    assert running.news == []
    running.stop()


def test_after_a_restart_an_older_session_is_no_successor_either(world: World, running: Told) -> None:
    """When a recording began is in the ledger: also that of a second `::start` to one file."""
    early = Claude(world, "00000000-4e08-49a9-b1df-7f5d23a36a11", start=10).say(user("early"), says("bird"))
    first = Claude(world).say(user("::start talk.md\nhello"), says("hi"), user("::stop"), says("bye"))
    running.turn()
    first.count = 30
    first.say(user("::start\nagain"), says("well"))
    running.turn()
    running.stop()
    again = Told(world)
    early.say(user("more"), says("yes"))
    again.turn()
    assert (again.news, recordings(world)[0].get("successor")) == ([], None)
    other(Claude, world).say(user("something else"), says("fine"))
    again.turn()
    assert [one.kind for one in again.news] == ["left"]
    again.stop()


def test_a_session_beside_one_that_works_is_no_successor(world: World, running: Told) -> None:
    """Its person works in two windows: nobody has left the recorded one."""
    Claude(world).say(user("::start talk.md\nhello"), calls("c1", "make test"))
    running.turn()
    other(Claude, world).say(user("something else"), says("fine"))
    running.turn()
    assert running.news == []
    running.stop()


def test_who_comes_back_did_not_leave(world: World, running: Told) -> None:
    """What is said in the recorded session ends the note."""
    first = Claude(world).say(user("::start talk.md\nhello"), says("hi"))
    running.turn()
    Claude(world, "11111111-4e08-49a9-b1df-7f5d23a36a11", start=60).say(user("something else"), says("fine"))
    running.turn()
    first.say(user("back again"), says("welcome"))
    running.turn()
    assert SAID not in world.cli("status")
    running.stop()


def test_nobody_went_on_where_nobody_has_typed(world: World, running: Told) -> None:
    """A new session may begin with what the client or the assistant says; what its person runs is typed."""
    Claude(world).say(user("::start talk.md\nhello"), says("hi"))
    running.turn()
    second = other(Claude, world)
    second.say(says("fine"))
    running.turn()
    assert running.news == []
    second.write(*second.wrapped("output"))
    running.turn()
    assert running.news == []
    second.say(user("<command-name>/init</command-name>"))
    running.turn()
    assert [one.kind for one in running.news] == ["left"]
    running.stop()


def test_only_new_sessions_are_looked_at_and_each_once(
    world: World, running: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their beginnings are read while another session is recorded: neither those of the past nor of sub-agents."""
    seen: list[str] = []
    head = successor._head
    monkeypatch.setattr(
        successor, "_head", lambda source, file: seen.append(str(source.identity.key)) or head(source, file)
    )
    running.stop()
    past = Claude(world, "00000000-4e08-49a9-b1df-7f5d23a36a11").say(user("long ago"), says("yes")).age()
    again = InProcess(world)
    again.turn()
    Claude(world).say(user("::start talk.md\nhello"), says("hi"))
    again.turn()
    past.say(user("more"), says("well"))
    second = other(Claude, world, cwd="/home/me/other").say(user("something else"), says("fine"))
    again.turn()
    second.say(user("and more"), says("well"))
    second.child().say(user("look"), says("there"))
    again.turn()
    assert seen == [f"claude:{second.session}"]
    again.stop()
