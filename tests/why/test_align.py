"""Which lines of one text are those of another."""

from hypothesis import given
from hypothesis import strategies as st

from katod.edits.lines import LineHasher
from katod.why.align import NOWHERE, align
from tests.looping import each

_HASHER = LineHasher(hash)


def pairs(old, new, **how):
    return align(_HASHER.lines(old), _HASHER.lines(new), **how)


@each("old, new, found", [
    ("one\ntwo\nthree", "one\ntwo\nthree", [0, 1, 2]),
    ("one\ntwo\nthree", "zero\none\ntwo\nthree\nfour", [-1, 0, 1, 2, -1]),
    ("first\n}\nsecond\n}", "first\n}\nmiddle\n}\nsecond\n}", [0, 1, -1, -1, 2, 3]),
    ("alpha\nbeta", "  alpha\n\tbeta", [0, 1]),
    ("", "one", [-1]), ("one", "", []),
])  # fmt: skip
def test_equal_lines_in_the_same_order_are_paired(old, new, found):
    """Whatever their indentation; what is between them is not."""
    assert pairs(old, new) == found


def test_brackets_are_paired_beside_what_tells_something_only():
    """A shortest difference would pair the lines of one block with those of another."""
    old = "if (ready) {\n  start();\n}\nfi"
    new = "while (waiting) {\n  sleep();\n}\nfi\nif (prepared) {\n  launch();\n}\nod"
    assert pairs(old, new) == [NOWHERE] * 8


def test_of_two_texts_made_of_each_other_all_is_compared():
    """An edit says itself that its new lines are made of the old ones."""
    old, new = "a1\n{\nold value\n}\nb1", "a1\nnew value\n{\n}\nb1"
    assert pairs(old, new, to_the_end=True).count(NOWHERE) == 1


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "}", "", "  beta"]), max_size=30),
       st.lists(st.sampled_from(["alpha", "beta", "gamma", "}", "", "delta"]), max_size=30), st.booleans())  # fmt: skip
def test_pairs_are_equal_and_in_order(old, new, to_the_end):
    """Whatever the texts are, no line is paired twice, with another one, or across another pair."""
    ours, theirs = _HASHER.lines("\n".join([*old, "end"])), _HASHER.lines("\n".join([*new, "end"]))
    found = align(ours, theirs, to_the_end=to_the_end)
    places = [at for at in found if at != NOWHERE]
    assert places == sorted(set(places))
    assert all(ours[at].unindented == theirs[n].unindented for n, at in enumerate(found) if at != NOWHERE)
