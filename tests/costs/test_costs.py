"""Nothing costs more than it did: the counts are exact, so that a cost that is too small to be timed is noticed, too.

A change that is worth its cost changes `expected.json` with it: `python -m tests.costs --update`.
"""

import json
import subprocess
import sys

import pytest

from tests.costs.__main__ import EXPECTED
from tests.support.world import SOURCE

pytestmark = pytest.mark.slow

# How much more than expected these may be: a factor, and a constant. The times in records are those of the run, other
# versions of SQLite read other pages, and Python's objects have other sizes.
BOUNDS = {"searched": (1.03, 4), "read": (1.1, 16 * 1024), "memory": (1.25, 64)}


@pytest.fixture(scope="module")
def costs():
    """Return what everything costs now, counted in a process of its own."""
    pytest.importorskip("re2", reason="the figures are those with the extra `fast`")
    done = subprocess.run([sys.executable, "-m", "tests.costs"], cwd=SOURCE, capture_output=True, check=True)
    return json.loads(done.stdout)


def test_what_is_decoded_and_opened_is_what_it_was(costs):
    """JSON texts and files."""
    expected = json.loads(EXPECTED.read_text())
    assert costs.keys() == expected.keys()
    other = [
        f"{name}: {what} is {cost[what]}, was {expected[name][what]}"
        for name, cost in costs.items()
        for what in cost.keys() - BOUNDS.keys()
        if cost[what] != expected[name][what]
    ]
    assert not other, "if that is worth it: python -m tests.costs --update"


@pytest.mark.parametrize("what", BOUNDS)
def test_what_is_searched_and_read_is_no_more_than_it_was(costs, what):
    """Passes of regular expressions, bytes, memory; if it is much less, what is expected is out of date."""
    factor, more = BOUNDS[what]
    expected = {name: cost[what] for name, cost in json.loads(EXPECTED.read_text()).items()}
    found = {name: (cost[what], expected[name]) for name, cost in costs.items()}
    assert not {name: pair for name, pair in found.items() if pair[0] > pair[1] * factor + more}
    assert not {name: pair for name, pair in found.items() if pair[1] > pair[0] * factor + more}


def test_a_session_that_is_not_recorded_is_not_decoded(costs):
    """Of what nobody records, only lines that may have a command are looked into."""
    assert {
        cost["decoded"] for name, cost in costs.items() if name.startswith("Claude") and "not recorded" in name
    } == {0}


def test_sessions_at_rest_are_not_opened(costs):
    """A start reads nothing of what did not change."""
    (rest,) = [cost for name, cost in costs.items() if name.endswith("at rest")]
    assert rest["opened"] == 0
