"""Changes as bytes."""

import pytest

from katod.edits.edits import LineChange
from katod.edits.lines import LineHasher
from katod.edits.packed import pack_changes, pack_places, places_in, unpack_changes


def test_changes_come_back_as_they_were():
    """Of files that are written as a whole, too."""
    lines = LineHasher(hash).lines
    changes = (LineChange(lines("a\nb"), lines("c"), everywhere=True), LineChange((), lines("x\n\ny")))
    assert unpack_changes(pack_changes(changes)) == changes


@pytest.mark.parametrize(
    "data", [b"", b"junk", pack_changes([LineChange((), LineHasher(len).lines("a\nb"))])[:-3]], ids=len
)
def test_what_was_not_packed_is_refused(data):
    """A damaged index costs its rows."""
    with pytest.raises(ValueError, match="changes"):
        unpack_changes(data)


def test_a_place_is_found_among_others():
    """And nothing in what is damaged."""
    assert list(places_in(pack_places([1, -2, 3]))) == [1, -2, 3]
    assert list(places_in(b"\1\2\3")) == []
