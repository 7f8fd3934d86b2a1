"""The facts of agents, records and events that no export shows are those of their golden files."""

import orjson
import pytest

from tests.golden.facts import FACTS, agents, texts
from tests.looping import each


@pytest.mark.breaks
@each("name", ["agents.json", "others.json", "records.json"])
def test_facts_are_those_of_the_golden_file(name: str) -> None:
    """Where each agent keeps its sessions and how they are named; what is typed, and what usage needs of a record."""
    assert texts()[FACTS / name].splitlines() == (FACTS / name).read_bytes().splitlines()


def test_every_agent_finds_a_session_by_its_path() -> None:
    """The paths of the golden file have one of each agent, and it is JSON."""
    assert all(fact["identity_of"] for fact in agents().values())
    assert orjson.loads((FACTS / "agents.json").read_bytes()).keys() == agents().keys()
