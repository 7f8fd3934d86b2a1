"""What is found twice: an event of a session and its transcript, and what a fork copied. Pure."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from math import inf
from typing import Final, NamedTuple

_PRECISION: Final = 60.0  # seconds: headings have minutes
_DISORDER: Final = 7200.0  # seconds: where an hour comes twice, what begins earlier may end later


class FoundPlace(NamedTuple):
    """Where a hit is: its session, and the file of its transcript, empty in the session itself."""

    session: str
    file: str


class _SaidWithin(NamedTuple):
    """Between which times a hit may have been said; in order, what ends first comes first."""

    end: float
    begin: float


class _Alike:
    """The hits of a session that say the same and have none in the other form of it yet, each list in order."""

    def __init__(self) -> None:
        self._events: list[_SaidWithin] = []
        self._left: dict[str, list[_SaidWithin]] = {}  # by transcript: the events that stand for none of its passages
        self._passages: defaultdict[str, list[_SaidWithin]] = defaultdict(list)  # by transcript: those without an event

    def is_new_passage(self, file: str, span: _SaidWithin) -> bool:
        """Return whether no event stands for a passage of a transcript, and note it."""
        if file not in self._left:
            self._left[file] = self._events.copy()
        if _take(self._left[file], span):
            return False
        insort(self._passages[file], span)
        return True

    def is_new_event(self, span: _SaidWithin) -> bool:
        """Return whether no passage stands for an event, and note it; there may be one in each transcript."""
        taken = [_take(passages, span) for passages in self._passages.values()]
        if any(taken):
            return False
        for events in (self._events, *self._left.values()):
            insort(events, span)
        return True


class FoundBefore:
    """The hits so far, of which each stands for one in the other form of its session, if that was said then."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._alike: defaultdict[tuple[str, str], _Alike] = defaultdict(_Alike)

    def is_new_note(self, name: str) -> bool:
        """Return whether a note of a person was not found before, and note it: no event stands for one."""
        is_new = name not in self._ids
        self._ids.add(name)
        return is_new

    def is_new(self, name: str, gist: str, place: FoundPlace, begin: float = -inf, end: float = inf) -> bool:
        """Return whether a hit was not found before, and note it.

        `name` is the same for copies, `gist` for an event and its passage; it was said between two times.
        """
        if name in self._ids:
            return False
        alike, span = self._alike[place.session, gist], _SaidWithin(end + _PRECISION, begin - _PRECISION)
        is_new = alike.is_new_passage(place.file, span) if place.file else alike.is_new_event(span)
        if is_new:
            self._ids.add(name)
        return is_new


def _take(spans: list[_SaidWithin], span: _SaidWithin) -> bool:
    """Remove the first that may be of the same time, and return whether there is one.

    Of what begins later than the time in question, only what does so by little is looked at, and what has no end: a
    search stays linear where one thing is said thousands of times.
    """
    number = bisect_right(spans, (span.begin, inf))
    while number < len(spans) and span.end <= spans[number].begin <= span.end + _DISORDER:
        number += 1
    if number < len(spans) and spans[number].begin >= span.end:
        number = bisect_left(spans, (inf, -inf), lo=number)
    if number == len(spans) or spans[number].begin >= span.end:
        return False
    del spans[number]
    return True
