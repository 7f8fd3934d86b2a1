"""Slugs: text as part of a file name."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from katod.text import clean, slug
from tests.examples import texts
from tests.looping import each


@each(
    ("text", "words"),
    [
        ("Add authentication to my app", "add-authentication-to-my-app"),
        ("  What's up?!  ", "what-s-up"),
        ("path/to\\file.py", "path-to-file-py"),
        ("snake_case stays", "snake_case-stays"),
        ("Größe 漢字 Ελληνικά", "größe-漢字-ελληνικά"),
        ("---", ""),
        ("🙂", ""),
        ("", ""),
        ("_private_", "private"),
        ("../../etc", "etc"),
        ("a\x00b\u202ec", "a-b-c"),
    ],
)
def test_words_are_joined_by_hyphens(text, words):
    """Letters and digits of any script stay, in lower case; all other characters become hyphens."""
    assert slug(text) == words


def test_long_text_is_cut_between_words():
    """A long text ends after its last complete word."""
    assert slug("one two three four", 13) == "one-two-three"
    assert slug("one two three four", 12) == "one-two"


def test_long_word_is_cut():
    """A single long word is cut."""
    assert slug("x" * 100, 10) == "x" * 10


def test_equal_texts_give_equal_words():
    """Composed and decomposed letters give the same slug."""
    assert slug(unicodedata.normalize("NFD", "Übung")) == slug(unicodedata.normalize("NFC", "Übung"))


@given(texts(), st.integers(1, 60))
def test_slug_is_short_plain_and_stable(text, length):
    """Any text gives words, digits and hyphens of limited length, and always the same ones."""
    words = slug(text, length)
    assert len(words) <= length
    assert all(c.isalnum() or c in "-_" or unicodedata.category(c)[0] in "LMN" for c in words)
    assert not words.startswith(("-", "_"))
    assert not words.endswith(("-", "_"))
    assert slug(text, length) == words


def test_nothing_that_affects_a_terminal_stays_beside_any_letter():
    """Controls and what reverses the direction of text, also where a text is not ASCII; other characters stay."""
    harmful = {
        *range(9),
        *range(11, 32),
        *range(127, 160),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0xFFFE,
        0xFFFF,
    }
    for number in range(0x11000):
        for letter in "aé":
            text = f"{letter}{chr(number)}{letter}\n\t"
            assert (clean(text) == text) is (number not in harmful), hex(number)
