"""Mnemonics are found wherever words of the list are in a row, and quickly not found in prose."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.redact import mnemonic
from katod.formats.redact.mnemonic import mnemonics, words
from tests.examples import examples

LISTED = sorted(words())
WORDS = st.sampled_from(LISTED[::97]) | st.sampled_from(["the", "an", "abandonment", "Zoo", "wordX", "é"])
GAPS = st.sampled_from([" ", "  ", ", ", "\n", "\\n", " 2. ", '", "', "\t", "\r\n3) ", " - ", "X", "\xa0"])


@examples(30, 4_000)
@given(st.lists(st.tuples(WORDS, GAPS), max_size=40), st.sampled_from([" ", ", ", "\n", "\\n  "]), st.integers(0, 30))
def test_nothing_is_missed_by_looking_at_the_words_alone_first(noise, gap, count):
    """Whatever is between the words: with and without the first look, the same mnemonics are found."""
    text = "".join(word + between for word, between in noise) + gap.join(
        LISTED[number * 977 % 2048] for number in range(count)
    )
    found = list(mnemonics(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mnemonic, "_may_have_some", lambda _: True)
        assert list(mnemonics(text)) == found


@pytest.mark.parametrize(("count", "places"), [(11, []), (12, [4]), (13, [4])])
def test_twelve_words_in_a_row_are_looked_at(count, places):
    """Not fewer, and not with a word between them that is not in the list."""
    some = [LISTED[number * 977 % 2048] for number in range(count)]
    assert [start for start, _ in mnemonics("xyz " + " ".join(some))] == places
    assert list(mnemonics("xyz " + " the ".join([" ".join(some[:6]), " ".join(some[6:])]))) == []


def test_twelve_of_any_words_of_the_list_are_searched_for():
    """The search leaves out some words of three letters, none of which is in the list."""
    for word in LISTED:
        assert re.fullmatch(mnemonic.MARKER, " ".join([word] * 12))
    assert re.search(mnemonic.MARKER, "when and how these words were said was not the reason") is None
