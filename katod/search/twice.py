"""What is found twice: an event of a session and its transcript, and what a fork copied. Pure."""

from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

_PRECISION: Final = 60.0  # seconds: headings have minutes


class FoundPlace(NamedTuple):
    """Where a hit is: its session, and the file of its transcript, empty in the session itself."""

    session: str
    file: str


@dataclass(slots=True)
class _Counted:
    """A hit that counts: when it may have been said, and the files of the hits that say the same."""

    file: str
    begin: float
    end: float
    paired: set[str] = field(default_factory=set)


class FoundBefore:
    """The hits so far, of which each stands for one in the other form of its session, if that was said then."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._counted: defaultdict[tuple[str, str], list[_Counted]] = defaultdict(list)

    def is_new(self, name: str, gist: str, place: FoundPlace, begin: float = -inf, end: float = inf) -> bool:
        """Return whether a hit was not found before, and note it.

        `name` is the same for copies, `gist` for an event and its passage; it was said between two times.
        """
        if name in self._ids:
            return False
        said = self._counted[place.session, gist]
        now = _Counted(place.file, begin - _PRECISION, end + _PRECISION)
        same = [one for one in said if _may_pair(one, now)]
        if same and place.file:
            same[0].paired.add(place.file)
        elif same:
            # An event is in several transcripts of its session: it stands for one hit in each.
            for one in {one.file: one for one in reversed(same)}.values():
                one.paired.add("")
        else:
            self._ids.add(name)
            said.append(now)
        return not same


def _may_pair(one: _Counted, now: _Counted) -> bool:
    """Return whether one is in a session and the other in its transcript, at one time, and not paired yet."""
    is_then = one.begin < now.end and now.begin < one.end
    return is_then and bool(one.file) != bool(now.file) and now.file not in one.paired
