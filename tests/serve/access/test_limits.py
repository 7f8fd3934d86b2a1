"""How much one client may ask for: a burst at once, and so many things a second in the long run."""

from katod.serve.access.limits import Rate


def test_a_burst_is_allowed_at_once():
    """What comes after it is too early, by the time until the next one is allowed; that does not count as one."""
    rate = Rate(2.0, 3.0)
    assert [rate.wait(100.0) for _ in range(5)] == [0.0, 0.0, 0.0, 0.5, 0.5]
    assert rate.wait(100.25) == 0.25
    assert [rate.wait(100.5) for _ in range(2)] == [0.0, 0.5]


def test_what_was_not_used_is_kept_up_to_a_burst():
    """However long nothing was asked for."""
    rate = Rate(2.0, 3.0)
    assert [rate.wait(0.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert [rate.wait(1.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert [rate.wait(1000.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
