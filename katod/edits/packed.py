"""Changes of lines as bytes, as they are kept: hashes alone. Pure."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from katod.edits.edits import LineChange
from katod.edits.lines import HashedLine

_CHANGE: Final = struct.Struct("<??II")
_LINE: Final = struct.Struct("<qqB")
_PLACE: Final = struct.Struct("<q")


def pack_changes(changes: Iterable[LineChange]) -> bytes:
    """Return changes as bytes."""
    parts = []
    for change in changes:
        parts.append(_CHANGE.pack(change.everywhere, change.is_whole, len(change.old), len(change.new)))
        parts += [_LINE.pack(*line) for line in (*change.old, *change.new)]
    return zlib.compress(b"".join(parts), 1)


def unpack_changes(data: bytes) -> tuple[LineChange, ...]:
    """Return the changes that were packed. Raises ValueError for anything else."""
    try:
        return tuple(_changes(zlib.decompress(data)))
    except (zlib.error, struct.error) as error:
        raise ValueError("these are no changes") from error


def _changes(data: bytes) -> Iterator[LineChange]:
    at = 0
    while at < len(data):
        everywhere, is_whole, old, new = _CHANGE.unpack_from(data, at)
        at += _CHANGE.size
        end = at + (old + new) * _LINE.size
        if end > len(data):
            raise ValueError("these are not all changes")
        lines = [HashedLine(*values) for values in _LINE.iter_unpack(data[at:end])]
        yield LineChange(tuple(lines[:old]), tuple(lines[old:]), everywhere, is_whole)
        at = end


def pack_places(numbers: Iterable[int]) -> bytes:
    """Return hashes of places as bytes."""
    return b"".join(map(_PLACE.pack, numbers))


def places_in(data: bytes) -> Iterator[int]:
    """Yield the hashes of packed places."""
    for (number,) in _PLACE.iter_unpack(data[: len(data) // _PLACE.size * _PLACE.size]):
        yield number
