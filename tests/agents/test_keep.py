"""`::keep` in every agent's sessions: the last exchanges before it, once, and as an export of them."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from katod import events as ev
from katod.errors import SourceError
from katod.record import session
from tests.agents.test_compliance import ALL, events, of, say_at_once, say_one_by_one
from tests.support.inprocess import InProcess
from tests.support.records import OF_EACH_NATURE, Claude, Maker, OpenClaw, OpenCode, Said, calls, result, says, user
from tests.support.world import World

_TALK = (
    user("first words"), says("first answer"), user("second words"), calls("call-1", "make test"),
    result("call-1", "all is well"), says("second answer"), user("third words"), says("third answer"),
)  # fmt: skip
Say = Callable[..., None]


def say_while_it_runs(world: World, maker: Maker, *things: Said) -> None:
    """Write what is said one by one, each read at once by the katod that runs."""
    running = InProcess(world)
    for said in things:
        maker.say(said)
        running.turn()
    running.stop()


ways = pytest.mark.parametrize(
    "say",
    [
        pytest.param(say_at_once, id="at once"),
        pytest.param(say_while_it_runs, id="as it runs"),
        pytest.param(say_one_by_one, id="restarted", marks=pytest.mark.slow),
    ],
)
natures = pytest.mark.parametrize("make", OF_EACH_NATURE, ids=lambda maker: maker.__name__)


def words(rows: list[dict[str, Any]]) -> list[str]:
    """Return what was said."""
    return [row["payload"]["text"] for row in of(rows, ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE)]


@pytest.mark.parametrize("make", ALL, ids=lambda maker: maker.__name__)
@ways
def test_the_last_exchanges_are_kept(world: World, make: type[Maker], say: Say) -> None:
    """As many as were asked for, or all; nothing after them, and nothing is recorded."""
    maker = make(world)
    say(world, maker, *_TALK, user("thanks\n::keep last.jsonl"), says("fourth answer"), user("::keep 9 all.jsonl"))
    say(world, maker, says("fifth answer"), user("fourth words"), says("sixth answer"))
    answered = ["third words", "third answer"]
    assert words(events(world, "last.jsonl")) == answered
    assert words(events(world, "all.jsonl")) == [
        "first words", "first answer", "second words", "second answer", *answered, "thanks", "fourth answer",
    ]  # fmt: skip
    assert not any(row.open for row in world.outputs())
    assert not world.status()["refused"]
    world.assert_live_is_batch()


@natures
@ways
def test_a_recording_goes_on_while_exchanges_are_kept(world: World, make: type[Maker], say: Say) -> None:
    """What is kept of it is in both files, and what was said before it can be kept, too."""
    maker = make(world)
    say(
        world,
        maker,
        *_TALK,
        user("::start talk.jsonl\nfourth words"),
        says("fourth answer"),
        user("fifth words"),
        says("fifth answer"),
        user("::keep 2 both.jsonl"),
        says("kept"),
        user("::keep 9 all.jsonl"),
    )
    say(world, maker, says("sixth answer"), user("::stop"))
    last = ["fourth words", "fourth answer", "fifth words", "fifth answer"]
    assert words(events(world, "both.jsonl")) == last
    assert words(events(world, "all.jsonl"))[:2] == ["first words", "first answer"]
    assert words(events(world)) == [*last, "kept", "sixth answer"]
    world.assert_live_is_batch()


@natures
@ways
def test_what_is_kept_is_named_by_the_first_question_in_it(world: World, make: type[Maker], say: Say) -> None:
    """Not by what the session is about, and with one heading."""
    say(world, make(world), *_TALK, user("::keep"), says("done"), user("::keep 9"))
    assert sorted(row["title"] for row in world.status()["ended"]) == ["first words", "third words"]
    [last] = (text for name, text in world.written().items() if "third" in name)
    assert last.count("\n# ") == 1
    assert ("# third words" in last, "second" in last, "Kept before" in last) == (True, False, False)
    world.assert_live_is_batch()


@pytest.mark.parametrize("cut", [(), (calls("call-9", "make"),)])
@natures
def test_an_answer_that_is_not_complete_has_a_mark(world: World, make: type[Maker], cut: tuple[Said, ...]) -> None:
    """What follows the command is not in the file."""
    maker = make(world)
    maker.say(*_TALK, user("last words"), *cut, user("::keep it"))
    world.once()
    maker.say(says("late words"))
    world.once()
    text = world.written()["it.md"]
    assert text.rstrip().splitlines()[-1].startswith("*Kept before the answer was complete")
    assert ("last words" in text, "third" in text, "late" in text) == (True, False, False)
    world.assert_live_is_batch()


@pytest.mark.parametrize("make", [*OF_EACH_NATURE, OpenClaw], ids=lambda maker: maker.__name__)
def test_exchanges_are_kept_from_the_shell(world: World, make: type[Maker]) -> None:
    """Up to the end of what there is; also where nothing that is typed is a command."""
    maker = make(world)
    maker.say(*_TALK)
    world.cli("keep", "latest", "2", "two.jsonl")
    maker.say(says("more"), user("fourth words"))
    world.cli("keep", "latest", "1", "last.jsonl")
    assert words(events(world, "two.jsonl")) == ["second words", "second answer", "third words", "third answer"]
    assert words(events(world, "last.jsonl")) == ["fourth words"]
    world.cli("keep", "latest", "9")
    assert "first words" in [row["title"] for row in world.status()["ended"]]
    world.assert_live_is_batch()


@natures
def test_nothing_can_be_kept_before_the_first_question(world: World, make: type[Maker]) -> None:
    """Words above the command are not before it; no file is made, and the reason is in the status."""
    make(world).say(user("first words\n::keep it"), says("first answer"))
    world.once()
    assert world.written() == {}
    [refused] = world.status()["refused"]
    assert (refused["command"], refused["reason"]) == ("keep", "nothing was asked before it in this session")


def test_a_database_that_cannot_be_read_is_a_reason(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recording goes on, and the command can be typed again."""
    maker = OpenCode(world)
    maker.say(user("::start talk.jsonl\nfirst words"), says("first answer"))
    running = InProcess(world)
    running.turn()
    monkeypatch.setattr(session, "exchanges_until", Mock(side_effect=SourceError("database is locked", path="x")))
    maker.say(user("::keep it.jsonl\nsecond words"), says("second answer"))
    running.turn()
    running.stop()
    assert words(events(world)) == ["first words", "first answer", "second words", "second answer"]
    [refused] = world.status()["refused"]
    assert refused["reason"] == "its session cannot be read now: database is locked"


@natures
def test_what_was_taken_back_is_not_kept(world: World, make: type[Maker]) -> None:
    """A client may remove what was said last: then the exchange before it is the last one."""
    maker = make(world)
    maker.say(user("::start talk.jsonl\nfirst words"), says("first answer"))
    known = len(maker.items)
    maker.say(user("second words"), says("second answer"))
    world.once()
    maker.rewrite(lambda number, _: number < known)
    maker.say(user("::keep it.jsonl"))
    world.once()
    assert words(events(world, "it.jsonl")) == ["first words", "first answer"]
    assert not world.status()["refused"]


def test_an_exchange_is_that_of_the_source_in_which_it_is_kept(world: World) -> None:
    """A session may go on in another file; what was said there is no part of it."""
    make, other = Claude(world), Claude(world, start=50, folder="-other")
    make.say(user("first words"), says("first answer"))
    other.say(user("second words"), says("second answer"))
    make.say(user("third words"), says("third answer"), user("::keep 2 it.jsonl"))
    world.once()
    assert words(events(world, "it.jsonl")) == ["first words", "first answer", "third words", "third answer"]
