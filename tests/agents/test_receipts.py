"""Receipts in every agent's sessions: each range has the records in it, however often katod reads them."""

from typing import Any

import pytest

from katod import events as ev
from tests.agents.test_compliance import ALL, events
from tests.agents.test_keep import Say, ways
from tests.support.records import Maker, says, user
from tests.support.world import World

_ALIKE = 3  # ranges


def ranges_of(rows: list[dict[str, Any]]) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Return the events of each range of a recording, and its receipt."""
    found, since = [], 0
    for number, row in enumerate(rows):
        if row["kind"] == ev.RECEIPT:
            found.append((rows[since:number], row["payload"]))
            since = number + 1
    return found


@pytest.mark.parametrize("make", ALL, ids=lambda maker: maker.__name__)
@ways
def test_ranges_in_which_the_same_is_said_have_the_same_receipt(world: World, make: type[Maker], say: Say) -> None:
    """Although a command that is typed once more waits for the next record: it may be an echo."""
    maker = make(world)
    for n in range(_ALIKE):
        name, rest = "" if n else "talk.jsonl", says(f"not recorded {n}")
        say(world, maker, user(f"::start {name}\nwords {n}"), says(f"answer {n}"), user("::stop"), rest)
    ranges = ranges_of(events(world))
    assert len(ranges) == _ALIKE
    for rows, receipt in ranges:
        assert receipt == ranges[0][1]
        assert receipt["records"] == receipt["told"] + sum(receipt["leftOut"].values())
        offsets = {row["source"]["offset"] for row in rows if "offset" in row["source"]}
        assert receipt["told"] >= len(offsets)
        assert receipt["told"] in (len(offsets), _ALIKE) or len(offsets) == 1  # a record has one place, a message none
    world.assert_live_is_batch()


@pytest.mark.parametrize("make", ALL, ids=lambda maker: maker.__name__)
def test_what_is_saved_again_unchanged_is_not_counted_again(world: World, make: type[Maker]) -> None:
    """Also while the last record waits for the next one."""
    maker = make(world)
    for name in ("talk.jsonl", ""):
        maker.say(user(f"::start {name}\nwords {name}"), says(f"answer {name}"), user("::stop"))
        world.once()
        for _ in range(2):
            maker.say()
            world.once()
        maker.say(says(f"not recorded {name}"))
        world.once()
    (_, first), (_, second) = ranges_of(events(world))
    assert first == second
    assert "as recorded" in world.cli("verify")
