"""An OpenCode database that its owner has open."""

import pytest

from tests.support.records import OpenCode, says, user
from tests.support.world import World


@pytest.fixture
def store(world: World) -> OpenCode:
    """Return a database with one session, which its owner has open."""
    made = OpenCode(world)
    made.say(user("hello"), says("hi"))
    return made
