"""Says which places certainly have no hit: other processes look ahead of the search, one for each processor."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final

from katod.discover.found import FoundSession
from katod.errors import SourceError
from katod.processes import Done, done_elsewhere
from katod.search.query import Query
from katod.search.run import Searched

_LEAST: Final = 64_000_000  # bytes; less is searched sooner than processes begin
_PIECE: Final = 8_000_000  # bytes that are looked at in one go: there may be thousands of small sessions

MayMatch = Callable[[int], bool]


@contextmanager
def sifted(places: Sequence[Searched], query: Query) -> Iterator[MayMatch]:
    """Yield what returns False for the number of a place that certainly has no hit.

    It is asked in order. To be entered while this process has one thread, and no database open.
    """
    pieces = _pieces([_size(place) for place in places])

    def look(number: int) -> Done[list[bool]]:
        return Done([_may_match(place, query) for place in places[pieces[number]]])

    sizes = [sum(map(_size, places[piece])) for piece in pieces]
    at = [(number, place - piece.start) for number, piece in enumerate(pieces) for place in _numbers(piece)]
    with done_elsewhere(look, sizes, _LEAST) as done:

        @cache
        def answers(number: int) -> list[bool] | None:
            found = done(number)
            return found.value if found is not None else None

        def may_match(number: int) -> bool:
            piece, place = at[number]
            found = answers(piece)
            return found is None or found[place]

        yield may_match


def _pieces(sizes: Sequence[int]) -> list[slice]:
    """Return places in order in pieces of about one size."""
    pieces, begin, total = list[slice](), 0, 0
    for number, size in enumerate(sizes):
        total += size
        if total >= _PIECE or number == len(sizes) - 1:
            pieces.append(slice(begin, number + 1))
            begin, total = number + 1, 0
    return pieces


def _numbers(piece: slice) -> range:
    return range(piece.start, piece.stop)


def _size(place: Searched) -> int:
    """Return how many bytes of a place are looked at; none of a transcript: there are few, and they say more."""
    return place.size if isinstance(place, FoundSession) else 0


def _may_match(place: Searched, query: Query) -> bool:
    if not isinstance(place, FoundSession):
        return True
    from katod.search.sessions import may_have_hits  # noqa: PLC0415 - it loads the translation

    try:
        return may_have_hits(place, query)
    except (SourceError, OSError):  # the search will meet it, and say so
        return True
