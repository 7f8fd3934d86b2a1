"""Outputs that fall behind their session and catch up, in every agent: nothing of what the session had is missing."""

import time

import pytest

from tests.agents.test_compliance import ALL, events, words
from tests.support.inprocess import InProcess
from tests.support.records import Maker, says, user
from tests.support.world import World

pytestmark = pytest.mark.parametrize("make", ALL, ids=lambda maker: maker.__name__)

LATER = 1e6  # seconds, after which everything that waits is due


class UnmountedOutputs:
    """Lets the disk of the outputs be away within the block."""

    def __init__(self, world: World) -> None:
        self._here = world.home / "katod"
        self._away = world.home / "away"

    def __enter__(self) -> None:
        self._here.rename(self._away)

    def __exit__(self, *_: object) -> None:
        self._away.rename(self._here)


def test_a_prompt_that_was_typed_before_is_not_lost_while_its_output_is_behind(world: World, make: type[Maker]) -> None:
    """It waits for its answer, which says that it is no part of a history that is written again."""
    running, maker = InProcess(world), make(world)
    maker.say(user("::start other.jsonl\nearlier"), says("zero"), user("::stop"))
    running.turn()
    with UnmountedOutputs(world):
        maker.say(user("again"), user("::start talk.jsonl\nfirst words"), says("one"), user("again"))
        running.turn()
    maker.say(says("two"))
    running.turn(later=LATER)
    running.stop()
    assert words(events(world)) == ["first words", "one", "again", "two"]


def test_what_is_written_in_the_moment_of_what_was_read_is_not_lost(
    world: World, make: type[Maker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or after the clock was set: where a source is read up to a time, that does not say whether there is more."""
    running, maker = InProcess(world), make(world).say(user("earlier"), says("zero"))
    running.turn()
    maker.say(user("::start talk.jsonl\nfirst words"), says("one"))
    then = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: then)
    maker.say(says("two"))
    running.turn()
    [path] = world.home.glob("katod/*/talk.jsonl")
    path.rename(path.with_name("moved.jsonl"))
    maker.say(says("three"))
    running.turn(later=LATER)
    running.stop()
    assert words(events(world, "moved.jsonl")) == ["first words", "one", "two", "three"]


def test_an_output_is_never_ahead_of_its_session(
    world: World, make: type[Maker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It catches up before its session is stepped, and what is new is of the moment of what was read: all is once."""
    running, maker = InProcess(world), make(world)
    maker.say(user("::start talk.jsonl\nfirst words"), says("one"))
    running.turn()
    then = time.time_ns() + 10**9
    with UnmountedOutputs(world):
        maker.say(says("two"))
        running.turn()
        monkeypatch.setattr(time, "time_ns", lambda: then)
        maker.say(says("three"))
        running.turn()
        maker.say(user("more words"), says("four"))
    while running._pipeline.follow(time.monotonic() + LATER):
        pass
    running.turn()
    maker.say(says("five"))
    running.turn()
    running.stop()
    assert words(events(world)) == ["first words", "one", "two", "three", "more words", "four", "five"]


def test_what_was_said_while_nothing_was_recorded_is_in_a_capture(world: World, make: type[Maker]) -> None:
    """Also where katod was started meanwhile, and had an earlier recording to write."""
    running, maker = InProcess(world), make(world)
    maker.say(user("::start other.jsonl\nearlier"), says("zero"), user("::stop"))
    running.turn()
    with UnmountedOutputs(world):
        maker.say(user("::start talk.jsonl\nfirst words"), says("one"), user("::stop"), says("two"))
        running.turn()
        maker.say(user("second words"), says("three"), user("third words"), says("four"))
        running.turn()
        running.stop()
        running = InProcess(world)
        maker.say(user("::capture all.jsonl\nlast words"), says("five"))
        running.turn()
    running.turn(later=LATER)
    running.stop()
    said = ["earlier", "zero", "first words", "one", "two", "second words", "three", "third words", "four"]
    assert words(events(world, "all.jsonl")) == [*said, "last words", "five"]
    assert words(events(world)) == ["first words", "one"]
