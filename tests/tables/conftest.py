"""What all tests of tables have. Those that write files need pyarrow, which the default tests do without."""

import pytest

from tests.support.records.base import calls, result, says, user
from tests.tables.dataset import Tables


@pytest.fixture
def tables(world):
    """Return the data set of a world, of which there is nothing yet."""
    return Tables(world)


@pytest.fixture
def two(world):
    """Return two sessions with something said."""
    made = [world.session(number) for number in (1, 2)]
    for number, one in enumerate(made, 1):
        one.count = 100 * number  # so that their answers are not copies of each other
        one.say(user(f"words {number}"), says("answer"), calls("c1", "ls"), result("c1", "a file"))
    return made
