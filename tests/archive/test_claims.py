"""What lists claim of sessions."""

import pytest

from katod.archive.claims import ClaimedSessions, Evidence
from katod.model import SessionKey

MAIN = SessionKey("codex", "0198a2b4-0000-7000-8000-000000000001")
CHILD = SessionKey("codex", "0198a2b4-0000-7000-8000-000000000002")
NOBODY = Evidence(dict, (), None)


def claimed(rows):
    """Return what the lists of data sets claim."""
    return ClaimedSessions({}, rows)


def test_a_session_is_claimed_with_the_one_that_started_it():
    """Also if that one is in no list."""
    assert [*claimed({CHILD: MAIN.id}).sessions()] == [CHILD, MAIN]


def test_a_sub_agent_named_after_its_session_belongs_to_it():
    """Nobody has to say so."""
    one = MAIN._replace(subagent="a1")
    assert claimed({one: ""}).started_by({MAIN}, NOBODY) == [one]


def test_a_data_set_is_believed_about_a_session_of_which_nothing_else_is_known():
    """The list is katod's own."""
    assert claimed({CHILD: MAIN.id}).started_by({MAIN}, NOBODY) == [CHILD]
    assert claimed({CHILD: MAIN.id}).started_by({CHILD}, NOBODY) == []


def test_no_list_decides_about_a_saved_session():
    """It stays saved until its own name is given."""
    assert claimed({CHILD: MAIN.id}).started_by({MAIN}, NOBODY._replace(saved={CHILD})) == []


@pytest.mark.parametrize("agent", ["claude", "gemini"])
def test_of_agents_whose_records_name_no_parent_no_list_does(agent):
    """Their sub-agents are named after the session."""
    main, other = SessionKey(agent, "one"), SessionKey(agent, "two")
    assert claimed({other: "one"}).started_by({main}, NOBODY) == []
