"""What a session has, as 8-byte hashes in little memory: what was said, in its order (`TextHashes`), and ids (`IdSet`).

Of what was said, a bounded part is kept, without a word of it. Pure.
"""

from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, Final

NOWHERE: Final = -1
SIZE: Final = 8  # bytes of a hash
# What is kept of a very long session: its beginning, with which a client begins when it writes all of it again, and
# what was said last. It is stored with every step, so it is small.
_FIRST, _LATEST = 256, 768
_BUCKETS: Final = 1024  # of ids: a power of two; the numbers in each are sorted


class TextHashes:
    """Places in a session, counted from its beginning, and what was said there."""

    __slots__ = ("_first", "_latest", "_places", "_prompts", "total")

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        """Start with nothing, or go on from `kept()`."""
        kept = kept or {}
        self._first = _unpacked(kept.get("first", ""))
        self._latest = dict(enumerate(_unpacked(kept.get("latest", ""))))
        self.total: int = kept.get("total", 0)
        self._prompts: list[int] = kept.get("prompts", [])  # the places of the first two
        begin = self.total - len(self._latest)
        self._latest = {begin + place: one for place, one in self._latest.items()}
        self._places: dict[bytes, list[int]] = {}
        for place, one in (*enumerate(self._first), *self._latest.items()):
            self._places.setdefault(one, []).append(place)

    def kept(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""
        first, latest = _packed(self._first), _packed(self._latest.values())
        return {"first": first, "latest": latest, "total": self.total, "prompts": self._prompts}

    def add(self, hashes: Iterable[bytes], *, is_prompt: bool) -> None:
        """Add what was said next."""
        if is_prompt and len(self._prompts) < 2:
            self._prompts.append(self.total)
        for one in hashes:
            self._places.setdefault(one, []).append(self.total)
            if self.total < _FIRST:
                self._first.append(one)
            else:
                self._latest[self.total] = one
            self.total += 1
        while len(self._latest) > _LATEST:
            self._forget(self.total - len(self._latest))

    def after(self, at: int, hashes: Iterable[bytes], end: int) -> int:
        """Return where these were said in this order, after a place and before `end`: the place of the last one."""
        for one in hashes:
            places = self._places.get(one, [])
            number = bisect_right(places, at)
            if number == len(places) or places[number] >= end:
                return NOWHERE
            at = places[number]
        return at

    def has_gap_after(self, at: int) -> bool:
        """Return whether something that was said after a place is not remembered any more."""
        begin = self.total - len(self._latest)
        return len(self._first) < begin and at < begin

    def is_unique(self, hashes: Iterable[bytes], end: int) -> bool:
        """Return whether each of these was said once before `end`."""
        return all(bisect_right(self._places.get(one, []), end - 1) == 1 for one in hashes)

    def is_first_prompt(self, hashes: tuple[bytes, ...], end: int) -> bool:
        """Return whether these are what was typed first in the session."""
        return bool(self._prompts) and self.after(NOWHERE, hashes[:1], end) == self._prompts[0]

    def is_in_first_exchange(self, at: int) -> bool:
        """Return whether a place is before the second prompt of the session."""
        return len(self._prompts) < 2 or at < self._prompts[1]

    def _forget(self, place: int) -> None:
        one = self._latest.pop(place)
        self._places[one].remove(place)
        if not self._places[one]:
            del self._places[one]


def _packed(hashes: Iterable[bytes]) -> str:
    return b64encode(b"".join(hashes)).decode()


def _unpacked(text: str) -> list[bytes]:
    data = b64decode(text)
    return [data[at : at + SIZE] for at in range(0, len(data), SIZE)]


class IdSet:
    """A set of signed 64-bit numbers that are spread evenly: much smaller than a `set`, and slower.

    A long session has hundreds of thousands of ids.
    """

    __slots__ = ("_buckets",)

    def __init__(self) -> None:
        self._buckets: dict[int, array[int]] = {}

    def __contains__(self, number: int) -> bool:
        bucket = self._buckets.get(number & _BUCKETS - 1)
        if bucket is None:
            return False
        place = bisect_left(bucket, number)
        return place < len(bucket) and bucket[place] == number

    def add(self, number: int) -> None:
        """Add a number, unless it is there."""
        bucket = self._buckets.get(number & _BUCKETS - 1)
        if bucket is None:
            self._buckets[number & _BUCKETS - 1] = array("q", (number,))
            return
        place = bisect_left(bucket, number)
        if place == len(bucket) or bucket[place] != number:
            bucket.insert(place, number)

    def clear(self) -> None:
        """Remove all."""
        self._buckets.clear()
