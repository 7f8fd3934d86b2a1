"""The usage of sessions that are gone."""

import json
import os
from collections import Counter

import pytest

from tests.support.records.base import says, user

pytestmark = pytest.mark.slow


def _answers(tables):
    """Return how many answers count for each session, on all days."""
    found = Counter()
    for row in tables.rows("usage"):
        found[row["session"]] += row["answers"]
    return found


@pytest.mark.parametrize("how", ["zone", "forget"])
def test_what_is_gone_goes_on_to_count_once(world, tables, how):
    """In another time zone, and if it was forgotten while its rows stay: a copy of its answers is charged for none."""
    one, fork = world.session(1), world.session(2)
    one.say(user("::start\nw"), says("one"), says("two"))
    copied = one.path.read_text().replace(one.session, fork.session)
    fork.append(*map(json.loads, copied.splitlines()))
    fork.count = 900
    fork.say(says("three"))
    os.utime(one.path, (1770000000, 1770000000))
    world.once()
    tables.export()
    used = _answers(tables)
    assert sorted(used.values()) == [1, 2]
    if how == "forget":
        world.cli("forget", one.session, "--yes")
        fork.say(says("four"))
        tables.export()
    one.path.unlink()
    world.variables["TZ"] = "America/New_York" if how == "zone" else "UTC"
    fork.say(says("five"))
    tables.export()
    more = 1 if how == "zone" else 2
    found = _answers(tables)
    assert found == {name: count + more * (fork.session in name) for name, count in used.items()}
