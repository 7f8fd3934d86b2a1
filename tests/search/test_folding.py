"""Upper and lower case in texts that are searched."""

import sys

import pytest

from katod.search.folding import fold, unfolded


def test_letters_of_both_cases_are_the_same():
    """In every script that has cases; a sigma is one letter wherever it is in a word, and so is a micro sign."""
    for one, other in (
        ("Größe", "GRÖẞE"),
        ("ПРИВЕТ", "привет"),
        ("ΟΔΟΣ", "οδοσ"),
        ("οδος", "ΟΔΟΣ"),
        ("\u00b5s", "\u039cS"),
    ):
        assert fold(one) == fold(other)


def test_no_letter_of_ascii_is_folded_with_another():
    """Bytes of ASCII can be searched for as they are: a Kelvin sign is no k, a long s no s, a dotted capital no i."""
    for char in "\u212a\u017f\u0130\u0131":
        assert not fold(char).isascii()


@pytest.mark.slow
def test_each_character_is_found_by_what_it_folds_to():
    """No character is missing among those that fold to another one, and the length of a text never changes."""
    for number in range(sys.maxunicode + 1):
        folded = fold(chr(number))
        assert len(folded) == 1
        assert fold(folded) == folded
        assert folded == chr(number) or chr(number) in unfolded(folded)
