"""What katod does not know within a message is kept as it is: in every agent, whoever says it."""

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest

from katod import events as ev
from katod.agents import AGENTS
from tests.agents.test_compliance import events, of
from tests.examples import mostly
from tests.support.records import MAKERS, RELATIVES, Maker, calls, result, says, user
from tests.support.world import World

NEW: Final = {"type": "of-next-year", "words": "nobody has read this"}
SAID: Final = (user("hello"), says("answer"), calls("call-1", "make"), result("call-1", "done"))


def content_lists(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where a record has a list of the parts of something that was said."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from content_lists(inner, (*path, key))
    elif isinstance(value, list):
        parts = [part for part in value if isinstance(part, dict)]
        if parts and len(parts) == len(value) and any({"type", "text"} & part.keys() for part in parts):
            yield path
        for number, inner in enumerate(value):
            yield from content_lists(inner, (*path, number))


def with_more(maker: Maker) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is said, and records of it in each of which one list has a part of a kind that nobody knows."""
    for said in SAID:
        if said.what in maker.ABSENT:
            continue
        for record in maker.records(said):
            for path in content_lists(record):
                changed = held = copy.deepcopy(record)
                for key in path:
                    held = held[key]
                held.append(NEW)  # type: ignore[attr-defined]
                yield said.what, changed


def has_parts(make: type[Maker]) -> bool:
    """Return whether a message of an agent has a list of parts; in a database, each part is a row of its own."""
    return AGENTS[make.agent].container is None and next(with_more(make()), None) is not None


USUAL: Final = [make for make in MAKERS if has_parts(make)]
RARE: Final = [make for make in RELATIVES if has_parts(make)]


@pytest.mark.parametrize("make", mostly(USUAL, [*USUAL, *RARE]), ids=lambda maker: maker.__name__)
def test_an_unknown_part_of_a_message_is_kept_raw(world: World, make: type[Maker]) -> None:
    """It is not understood, and not lost: not even where the words around it are told."""
    maker = make(world)
    records = list(with_more(maker))
    maker.say(user("::start all.jsonl"), says("yes"))
    world.process()
    for _, record in records:
        maker.put(record)
    world.process()
    raw = [row["payload"]["raw"] for row in of(events(world, "all.jsonl"), ev.PROVIDER_RAW)]
    said = {what for what, _ in records}  # a client may write it twice
    assert len(said) <= str(raw).count(NEW["words"]) <= len(records)
