"""OpenCode: what is special about its documents."""

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
    """Exactly what the client put on, and nothing that the person typed."""
    assert unquoted(stored) == typed
