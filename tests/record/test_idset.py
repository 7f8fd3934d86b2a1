"""The set of ids that a replay has seen."""

from hypothesis import given
from hypothesis import strategies as st

from katod.record.idset import IdSet
from tests.examples import examples

# Few buckets, so that most numbers meet others in theirs; both ends of the range are among them.
NUMBERS = st.one_of(
    st.integers(0, 3), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-50, 50).map(lambda number: number * 1024)
)


@examples(100, 5000)
@given(st.lists(NUMBERS), st.lists(NUMBERS))
def test_it_has_what_was_added(added: list[int], asked: list[int]) -> None:
    """Like a `set`, in any order, and until it is cleared."""
    ids, expected = IdSet(), set[int]()
    for number in added:
        assert (number in ids) == (number in expected)
        ids.add(number)
        expected.add(number)
    assert [number in ids for number in (*added, *asked)] == [number in expected for number in (*added, *asked)]
    ids.clear()
    assert not any(number in ids for number in added)
