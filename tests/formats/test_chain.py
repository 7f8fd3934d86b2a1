"""The chain over the events of a recording."""

from hashlib import sha256

import pytest

from katod.formats.chain import ChainHead, chain_of

ONE, TWO = (b'{"schema":"katod.event/1","id":"%d"}' % number for number in (1, 2))


def test_each_head_is_a_hash_of_the_one_before_and_a_line():
    """The first one is of nothing; what is no event does not count."""
    first = sha256(bytes(32) + ONE).digest()
    second = sha256(first + TWO).digest()
    assert ChainHead().after(ONE + b"\nmine\n\n" + TWO + b"\n") == ChainHead(2, second)
    found = chain_of([ONE + b"\n", b"mine\n", b"\n", TWO], 1)
    assert (found.whole, found.wanted, found.notes) == (ChainHead(2, second), ChainHead(1, first), 1)
    assert chain_of([], 0).wanted == ChainHead()
    assert chain_of([ONE], 2).wanted is None


def test_batches_do_not_matter():
    """However many events are written at once, the head is the same."""
    assert ChainHead().after(ONE + b"\n").after(TWO + b"\n") == ChainHead().after(ONE + b"\n" + TWO + b"\n")


@pytest.mark.parametrize("row", [{}, {"events": "1", "head": "00" * 32}, {"events": -1, "head": "00" * 32}, {"events": 1, "head": "00"},
                                 {"events": 1, "head": "zz"}, {"events": True, "head": "00" * 32}])  # fmt: skip
def test_what_is_no_head_is_refused(row):
    """Of a ledger, or a file, that someone changed."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        ChainHead.of_row(row)
    head = ChainHead(3, bytes(range(32)))
    assert ChainHead.of_row(head.row()) == head
