"""Says which places certainly have no hit: other processes look ahead of the search, one for each processor."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from katod.discover.found import FoundSession
from katod.errors import SourceError
from katod.search.query import Query
from katod.search.run import Searched

_LEAST: Final = 64_000_000  # bytes; less is searched sooner than processes begin


@contextmanager
def sifted(places: Sequence[Searched], query: Query) -> Iterator[Callable[[int], bool]]:
    """Yield what returns False for the number of a place that certainly has no hit; it is asked in order.

    To be entered while this process has one thread.
    """
    sizes = [_size(place) for place in places]
    if sum(sizes) < _LEAST:
        yield lambda _: True
        return
    from katod.processes import each_elsewhere  # noqa: PLC0415 - few searches need it
    from katod.search.sessions import may_have_hits  # noqa: PLC0415 - it loads the translation, once for all processes

    def may_match(number: int) -> bool:
        place = places[number]
        try:
            return not isinstance(place, FoundSession) or may_have_hits(place, query)
        except (SourceError, OSError):  # the search will meet it, and say so
            return True

    with each_elsewhere(may_match, sizes, _LEAST) as found:
        yield lambda number: found(number) is not False


def _size(place: Searched) -> int:
    """Return how many bytes of a place are looked at; none of a transcript: there are few, and they say more."""
    return place.size if isinstance(place, FoundSession) else 0
