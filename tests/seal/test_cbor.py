"""CBOR: what is written is deterministic, and only that is read."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.errors import SealError
from katod.seal.cbor import Tagged, decode, encode
from tests.examples import texts

KEYS = st.integers(-(2**64), 2**64 - 1) | texts(max_size=40)
LEAVES = KEYS | st.binary(max_size=300) | st.booleans() | st.none()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))


@given(VALUES)
def test_what_is_written_is_read(value):
    """Integers, texts, bytes, lists, maps and simple values come back, and another library reads the same."""
    assert decode(encode(value)) == value
    assert decode(encode(Tagged(value))) == Tagged(value)
    assert cbor2.loads(encode(value)) == value


@given(st.binary(max_size=60) | VALUES.map(encode).flatmap(lambda data: st.binary(max_size=3).map(data.__add__)))
def test_other_bytes_are_refused_or_mean_one_thing(data):
    """Whatever is read is written as the same bytes, but for the order of keys; all else is an error of katod's."""
    try:
        value = decode(data)
    except SealError:
        return
    assert len(encode(value)) == len(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "cut off"),
        ("18", "cut off"),
        ("43aabb", "cut off"),
        ("9bffffffffffffffff", "cut off"),
        ("bb7fffffffffffffff00", "cut off"),
        ("5bffffffffffffffff00", "cut off"),
        ("0000", "1 bytes too many"),
        ("9fff", "indefinite length"),
        ("bfff", "indefinite length"),
        ("5f41aaff", "indefinite length"),
        ("7fff", "indefinite length"),
        ("1c", "not valid CBOR"),
        ("fc", "not valid CBOR"),
        ("1801", "shortest form"),
        ("190018", "shortest form"),
        ("1a0000ffff", "shortest form"),
        ("1b00000000ffffffff", "shortest form"),
        ("62c328", "not UTF-8"),
        ("a201000100", "key 1 twice"),
        ("a1f500", "neither a number nor text"),
        ("a18000", "neither a number nor text"),
        ("a1410000", "neither a number nor text"),
        ("81" * 40 + "00", "nested too deeply"),
        ("d2" * 40 + "00", "nested too deeply"),
        ("c074323032362d30322d31305432323a33363a30305a", "kind that is not used"),  # a date
        ("d81c80", "kind that is not used"),  # something that may contain itself
        ("d823612e", "kind that is not used"),  # a regular expression
        ("f7", "kind that is not used"),  # undefined
        ("f97e00", "kind that is not used"),  # a float
        ("f8ff", "kind that is not used"),
    ],
)
def test_each_trap_is_named(data, reason):
    """Lengths that lie, spellings that are not the only one, keys twice, depth, and tags that make decoders act."""
    with pytest.raises(SealError, match=reason):
        decode(bytes.fromhex(data))
