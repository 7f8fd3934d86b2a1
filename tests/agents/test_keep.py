"""`::keep` in every agent's sessions: the last exchanges before it, once, and as an export of them."""

import pytest

from katod import events as ev
from tests.agents.test_compliance import ALL, events, of, say_at_once, say_one_by_one
from tests.support.records import Maker, calls, result, says, user
from tests.support.world import World

_TALK = (
    user("first words"), says("first answer"), user("second words"), calls("call-1", "make test"),
    result("call-1", "all is well"), says("second answer"), user("third words"), says("third answer"),
)  # fmt: skip
WAYS = pytest.mark.parametrize(
    "say",
    [pytest.param(say_at_once, id="at once"), pytest.param(say_one_by_one, id="restarted", marks=pytest.mark.slow)],
)


def words(rows):
    return [row["payload"]["text"] for row in of(rows, ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE)]


@pytest.mark.parametrize("make", ALL, ids=lambda maker: maker.__name__)
@WAYS
def test_the_last_exchanges_are_kept(world: World, make: type[Maker], say) -> None:
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
