"""How long to wait before retrying something that failed."""

from typing import Final

_MOST_DOUBLINGS: Final = 30


def pause(failures: int, *, first: float, longest: float) -> float:
    """Return the seconds to wait after this many failures in a row: doubling from `first` up to `longest`."""
    return min(longest, first * 2.0 ** min(failures, _MOST_DOUBLINGS))
