"""OpenCode: what is specific to its documents."""

import pytest

from katod.agents.opencode.adapter import unquoted


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ('"a b"', "a b"),
        ('"a b"\n', "a b"),
        ('"::start\nsay \\"two words\\" of C:\\new"', '::start\nsay "two words" of C:\\new'),
        ('"look at C:\\dir \\"', "look at C:\\dir \\"),
        ('"print \\"a \\\\"b\\\\" c\\" now"', 'print "a \\"b\\" c" now'),
        ('"a b" and "c d"', '"a b" and "c d"'),
        ('"word"', '"word"'),
        ("plain words", "plain words"),
        ('"', '"'),
        ("", ""),
    ],
)
def test_the_quotes_of_an_argument_are_taken_off(stored: str, typed: str) -> None:
    """Only the quotes that the client added are removed, and nothing that the user typed."""
    assert unquoted(stored) == typed
