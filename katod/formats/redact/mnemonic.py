"""Mnemonics: the 12 to 24 words of BIP-39 that are the key of a wallet.

A sentence hardly ever consists of twelve words of that list alone: it contains none of two letters and no article. So
the list decides, and no name has to be in front of the words.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product, repeat
from typing import Final

from katod.formats.redact.wordlist import WORDS

_FEWEST: Final = 12
_SIZES: Final = frozenset((12, 15, 18, 21, 24))
_IN_WORDS: Final = frozenset(" abcdefghijklmnopqrstuvwxyz")
_QUOTES: Final = frozenset("\"'")
_BRACKETS: Final = re.compile(r"""\[["']["']\]""")
_VARIED: Final = 8  # different words of twelve: `test test test …` is everybody's
# An engine counts more cheaply without a range. No word of the list is "the" or "and", which prose has everywhere.
_ANY_WORD: Final = "(?:[b-su-z][a-z][a-z]|a[a-mo-z][a-z]|any|t[a-gi-z][a-z]|[a-z]{4}[a-z]?[a-z]?[a-z]?[a-z]?)"
_ANY_GAP: Final = (
    r"(?:[ \t,]+|(?:[ \t\r]|\\+[rt])*(?:\n|\\+n)[ \t0-9.):]*|[ \t]+[0-9]+[.):]?[ \t]+"
    r"|\\*[\"'],(?:[ \t\n]|\\+n)*\\*[\"'])"
)
MARKER: Final = f"(?:{_ANY_WORD}{_ANY_GAP}){{{_FEWEST - 1}}}{_ANY_WORD}"

_NUMBER: Final = r"[0-9]{1,2}[.):]?[ \t]{1,2}"
_GAP: Final = (
    rf"(?:[ \t]{{1,3}}(?:{_NUMBER})?|,[ \t]{{0,2}}|[ \t]?(?:\r?\n|\\{{1,3}}n)[ \t]{{0,8}}(?:{_NUMBER})?"
    r"|\\{0,3}[\"'],[ \t\n]{0,8}\\{0,3}[\"'])"
)
_WORD: Final = "[a-z]{3,8}+(?![a-z])"
# Shorter runs match, too, so that the search resumes after them and time is linear; group 1 is in long ones only.
_RUN: Final = re.compile(rf"(?<![A-Za-z]){_WORD}(?:{_GAP}{_WORD}){{0,{_FEWEST - 2}}}+((?:{_GAP}{_WORD})++)?", re.ASCII)
_WORDS: Final = re.compile("[a-z]{3,}", re.ASCII)


# Blanks in place of all but small letters; and what twelve words of the list in a row are in a list of truths.
_APART: Final = bytes(sign if chr(sign).islower() and sign < 128 else 32 for sign in range(256))
_IN_A_ROW: Final = b"\1" * _FEWEST
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz"
_SHORT: Final = b"\2"


@cache
def _kinds() -> dict[bytes, int]:
    """Return the words of the list as 1, and what is shorter than any as 2."""
    letters = [bytes((letter,)) for letter in _LETTERS]
    short = (*letters, *map(b"".join, product(letters, repeat=2)))
    return dict.fromkeys(short, _SHORT[0]) | dict.fromkeys(map(str.encode, words()), _IN_A_ROW[0])


@cache
def words() -> frozenset[str]:
    """Return the words of the list."""
    return frozenset(WORDS.split())


def mnemonics(text: str) -> Iterator[tuple[int, int]]:
    """Yield where mnemonics are."""
    if not _may_have_some(text):
        return
    for run in _RUN.finditer(text):
        if run[1] is None:
            continue
        found: list[re.Match[str]] = []
        for word in _WORDS.finditer(text, *run.span()):
            if word[0] in words():
                found.append(word)
                continue
            yield from _judged(text, found)
            found = []
        yield from _judged(text, found)


def _may_have_some(text: str) -> bool:
    """Return False if there are never twelve words of the list in a row, whatever is between them.

    Looking for runs of words, of which prose has many, takes far longer. What is shorter than any word may be part of
    an escape.
    """
    apart = text.encode("ascii", "replace").translate(_APART).split()
    return _IN_A_ROW in bytes(map(_kinds().get, apart, repeat(0))).replace(_SHORT, b"")


def _judged(text: str, found: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """Yield where these words are if they are random: enough of them, varied, not in the order of a list.

    Programs have lists of words, too. So if more than blanks is between the words, they have to be as many as BIP-39
    says, and in quotes all that is in the brackets.
    """
    shown = [word[0] for word in found]
    if len(shown) < _FEWEST or len(set(shown)) < _VARIED or all(one <= two for one, two in pairwise(shown)):
        return
    start, end = found[0].start(), found[-1].end()
    signs = set(text[start:end]) - _IN_WORDS
    if (not signs or len(found) in _SIZES) and (
        not signs & _QUOTES or _BRACKETS.fullmatch(text[start - 2 : start] + text[end : end + 2])
    ):
        yield start, end
