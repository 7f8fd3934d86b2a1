"""The facts of agents, records and events that no export shows are those of their golden files."""

import orjson
import pytest

from tests.golden.facts import FACTS, agents, texts


@pytest.mark.breaks
def test_facts_are_those_of_the_golden_files() -> None:
    """Where each agent keeps its sessions and how they are named; what is typed, and what usage needs of a record."""
    found = {path.name: text.splitlines() for path, text in texts().items()}
    assert found.keys() == {"agents.json", "others.json", "records.json"}
    assert found == {name: (FACTS / name).read_bytes().splitlines() for name in found}


def test_every_agent_finds_a_session_by_its_path() -> None:
    """The paths of the golden file have one of each agent, and it is JSON."""
    assert all(fact["identity_of"] for fact in agents().values())
    assert orjson.loads((FACTS / "agents.json").read_bytes()).keys() == agents().keys()
