"""Sessions of all agents at once, while katod is killed and the collector fails, again and again."""

import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from katod.service.control import Request
from tests.delivery.delivering import TALK
from tests.otlp.receiver import Receiver, TakenSpan
from tests.otlp.test_delivery import Exporting, assert_complete
from tests.support.live import Live, until
from tests.support.records import MAKERS, Claude, Maker, calls, result, says, user
from tests.support.world import World

pytestmark = pytest.mark.slow
KILLS: Final = 50
DEMO: Final = Path(__file__).parents[2] / "fixtures" / "demo" / "session.jsonl"
WAYS: Final = ("", "", "cut", "503", "429", "slow", "away", "500")
MORE: Final = tuple(
    said
    for n in range(3)
    for said in (user(f"question {n}"), calls(f"more-{n}", "make"), result(f"more-{n}", "made"), says(f"answer {n}"))
)


class Session:
    """One session that says one thing after the other; some have a sub-agent with a file of its own."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.left: list[Any] = [user("before"), user("::start\nhello"), *TALK, *MORE, user("::stop\nafter"), says("no")]
        self.child: list[Any] = (
            [] if "sub-agent" in maker.ABSENT else [says("look"), calls("in-it", "make"), says("so")]
        )
        self.below = maker.child() if self.child else None

    def go_on(self) -> None:
        """Say the next thing, and let the sub-agent say one."""
        self.maker.say(self.left.pop(0))
        if self.below is not None and self.child and len(self.left) < len(MORE):
            self.below.say(self.child.pop(0))


def sessions(world: World) -> list[Session]:
    """Return a session of each agent, in each form, and some more."""
    makers = [make(world, f"{n:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11") for n, make in enumerate((*MAKERS, Claude, Claude))]
    return [Session(maker) for maker in makers]


def play_demo(world: World) -> None:
    """Write the session of `katod demo` as its agent would."""
    folder = world.home / ".claude" / "projects" / "-home-me-shop"
    folder.mkdir(parents=True)
    (folder / "0f7c9a52-3f61-4d0e-9b57-2f4f3f0d7c11.jsonl").write_bytes(DEMO.read_bytes())


def fail(receiver: Receiver, way: str, chance: random.Random) -> None:
    """Let the collector be away, or fail now and then in one way."""
    receiver.fault = lambda _spans: way if way and chance.random() < 0.7 else ""
    if way == "away":
        receiver.fault = lambda _spans: ""
        receiver.stop()


def assert_sent_twice_only_in_flight(receiver: Receiver) -> int:
    """Assert that what a request repeats is all of one request before it; return how many spans were repeated."""
    seen: dict[str, int] = {}
    repeated = 0
    for number, request in enumerate(receiver.requests):
        again = {seen[one.id] for one in request if one.id in seen}
        assert len(again) <= 1
        repeated += sum(one.id in seen for one in request)
        seen |= {one.id: number for one in request}
    return repeated


def play(world: World, receiver: Receiver) -> None:
    """Let sessions of all agents go on while katod is killed and the collector fails, until all spans have arrived."""
    chance = random.Random(4)
    receiver.slowness = 0.02
    receiver.configure(world, subagents=True)
    there, kills = sessions(world), 0
    while kills < KILLS or any(one.left for one in there):
        fail(receiver, chance.choice(WAYS), chance)
        katod = Exporting(world)
        for one in chance.sample(there, 12):
            if one.left:
                one.go_on()
            katod.turn()
            katod._chores.look()
        if kills == KILLS // 2:
            play_demo(world)
        katod.turn()
        for _ in range(chance.randrange(40)):
            katod._chores.look()
        katod.vanish()
        if receiver._listening is None:
            receiver.start()
        kills += 1
    receiver.fault = lambda _spans: ""
    katod = Exporting(world)
    stop_all(katod)
    katod.deliver(120)
    katod.stop()
    found = world.status()["otlp"]
    assert (found["refused"], found["unfinished"], found["incomplete"]) == (0, [], [])
    assert kills >= KILLS


@pytest.mark.longest(300)
def test_each_span_is_there_once_through_kills_and_outages(world: World, receiver: Receiver) -> None:
    """Joined by their ids: with all parents, the sums of the sessions, and copies only of what was in flight."""
    play(world, receiver)
    assert len({one.attributes["gen_ai.conversation.id"] for one in receiver.taken}) >= 20
    assert assert_complete(world, receiver) > 400
    assert assert_sent_twice_only_in_flight(receiver) > 0
    assert sum(receiver.sums().values(), Counter())["gen_ai.usage.input_tokens"] > 1000
    assert any(subagents(receiver.taken))


def stop_all(katod: Exporting) -> None:
    """End the recordings that go on, which are those of sub-agents."""
    for row in katod._ledger.outputs():
        if row.open:
            key = katod._ledger.session(row.session).key
            assert katod._carry_out(Request(tuple(key), "stop", "", "2026-02-11T00:00:00Z"), f"request:{row.id}") == ""


def subagents(taken: list[TakenSpan]) -> list[TakenSpan]:
    """Return the sessions of sub-agents, which are below that of their session."""
    return [one for one in taken if one.span.name.startswith("session ") and one.parent]


def test_a_live_daemon_that_is_killed_sends_the_rest_when_it_is_back(world: World, receiver: Receiver) -> None:
    """By the signal that nothing can catch, while an agent writes."""
    receiver.configure(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    for said in (MORE[:4], MORE[4:8], MORE[8:]):
        with Live(world) as live:
            maker.say(*said)
            live.until_written(str(said[0].text) if hasattr(said[0], "text") else "question")
            live.kill()
    maker.say(user("::stop"))
    with Live(world):
        until(lambda: world.status()["otlp"]["unfinished"] == [], "the end")
    assert assert_complete(world, receiver) > 10
    assert_sent_twice_only_in_flight(receiver)
