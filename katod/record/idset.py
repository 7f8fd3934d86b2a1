"""A set of 8-byte hashes that takes little more than those: of a long session there are hundreds of thousands. Pure."""

from array import array
from bisect import bisect_left
from typing import Final

_BUCKETS: Final = 1024  # a power of two; the numbers in each are sorted


class IdSet:
    """A set of signed 64-bit numbers that are spread evenly: much smaller than a `set`, and slower."""

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
