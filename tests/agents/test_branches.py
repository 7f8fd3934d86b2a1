"""A second prompt behind the same record goes back in its conversation."""

import pytest

from katod.agents.branches import Branches


def test_a_second_prompt_at_one_place_goes_back():
    """So does a third one; what follows the latest one does not."""
    tree = Branches()
    found = [tree.goes_back(*prompt) for prompt in (("a", "0"), ("b", "1"), ("c", "0"), ("d", "2"), ("e", "0"))]
    assert found == [False, False, True, False, True]


def test_a_prompt_that_is_written_again_does_not_go_back():
    """It has the same id."""
    tree = Branches()
    assert not any(tree.goes_back("a", "0") for _ in range(2))


@pytest.mark.parametrize("parent", [None, "", 7, [], {}])
def test_a_prompt_that_follows_nothing_begins(parent):
    """However many there are in a file."""
    tree = Branches()
    assert not any(tree.goes_back(name, parent) for name in "ab")


def test_it_goes_on_from_its_state_which_stays_small():
    """Of very many prompts, it forgets the oldest."""
    tree = Branches()
    for number in range(500):
        tree = Branches(tree.state())
        assert not tree.goes_back(f"prompt {number}", f"parent {number}")
    assert tree.goes_back("another", "parent 499")
    assert not tree.goes_back("another", "parent 0")
    assert len(str(tree.state())) < 2000
