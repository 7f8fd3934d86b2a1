"""Tests for which sessions lose nothing when their agents delete them."""

import pytest

from katod.rescue.recorded import recorded_whole
from katod.store.ledger import Ledger
from tests.support.records import Claude, says, user
from tests.support.world import World


def whole(world: World) -> list[str]:
    """Return the sessions that are recorded as a whole."""
    ledger = Ledger.examine(world.state)
    assert ledger is not None
    try:
        return sorted(key.id for key in recorded_whole(ledger.sessions(), ledger.outputs()))
    finally:
        ledger.close()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("commands", "is_whole"),
    [
        (("::capture",), True), (("::capture a", "::keep"), True), (("::keep",), False), (("::keep 9",), False),
        (("::export",), False), (("::start",), False), (("::capture", "::stop"), False), ((), False),
    ],
)  # fmt: skip
def test_only_a_recording_from_the_beginning_on_that_goes_on_has_all(
    world: World, commands: tuple[str, ...], is_whole: bool
) -> None:
    """Not what was kept or exported, which is a copy, nor a part."""
    maker = Claude(world).say(user("hello"), says("yes"))
    for command in commands:
        maker.say(user(command), says("yes"))
    world.once()
    assert whole(world) == ([maker.session] if is_whole else [])


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_a_transcript_that_is_gone_has_nothing(world: World, how: str) -> None:
    """What its person deleted or emptied is not recorded any more."""
    Claude(world).say(user("hello"), says("yes"), user("::capture"))
    world.once()
    [path] = world.files()
    if how == "deleted":
        path.unlink()
    else:
        path.write_text("")
    assert whole(world) == []
