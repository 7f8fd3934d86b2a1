"""How long to wait before a retry."""

from hypothesis import given
from hypothesis import strategies as st

from katod.backoff import pause


def test_a_pause_doubles_up_to_the_longest():
    """The first pause follows the first failure, and pauses double up to the longest."""
    assert [pause(failures, first=1.5, longest=20.0) for failures in range(6)] == [1.5, 3.0, 6.0, 12.0, 20.0, 20.0]


def test_very_many_failures_do_not_overflow():
    """Any number of failures gives the longest pause: a disk may be full for weeks."""
    assert pause(2_000, first=1.0, longest=300.0) == pause(10**9, first=1.0, longest=300.0) == 300.0


@given(st.integers(0, 5_000), st.floats(0.1, 10), st.floats(10, 1_000))
def test_a_pause_never_shrinks_and_keeps_to_its_bounds(failures, first, longest):
    """After one more failure the pause is at least as long, and it is always within its bounds."""
    now, following = (pause(number, first=first, longest=longest) for number in (failures, failures + 1))
    assert first <= now <= following <= longest
