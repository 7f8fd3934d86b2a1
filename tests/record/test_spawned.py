"""Which sessions were started by the agents of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.metadata import SessionStart
from katod.model import SessionKey
from katod.record.spawned import spawner_of, with_started

IDS = st.sampled_from("abcdef")
KEYS = st.builds(SessionKey, st.sampled_from(["claude", "codex"]), IDS, st.sampled_from(["", "", "x"]))


@given(st.lists(KEYS, max_size=3), st.dictionaries(KEYS, IDS | st.just("")))
def test_whatever_a_session_started_belongs_to_it_and_nothing_else(keys, parents):
    """Of one agent, however far below it, also if a list says that sessions started each other."""
    found = with_started(keys, parents)
    above = {key: {key._replace(subagent=""), SessionKey(key.agent, parent)} for key, parent in parents.items()}
    assert set(keys) <= found
    assert {key for key, starters in above.items() if starters & found} <= found
    for key in found - set(keys):
        assert above[key] & (found - {key})


@pytest.mark.slow
def test_a_long_chain_takes_no_time():
    """A list may come from anywhere."""
    chain = {SessionKey("codex", str(n)): str(n - 1) for n in range(100_000)}
    assert len(with_started([SessionKey("codex", "-1")], chain)) == 100_001


def test_a_fork_was_started_by_a_person():
    """It names its parent as well."""
    assert spawner_of(SessionStart(parent="a", origin="subagent")) == "a"
    assert spawner_of(SessionStart(parent="a", origin="cli")) == ""
