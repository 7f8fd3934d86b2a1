"""What steps come to that yield None while others have their turn."""

from collections.abc import Iterable, Iterator
from typing import Any


def outcome(steps: Iterable[Any]) -> Any:
    """Return the first item that is not None, None if there is none."""
    return next(items(steps), None)


def items(steps: Iterable[Any]) -> Iterator[Any]:
    """Yield the items that are not None."""
    return (item for item in steps if item is not None)
