"""The part of a hit that is shown: redacted, on one line, around the words that were looked for. Pure."""

import re
from typing import Final

from katod.formats.mdtext import clean
from katod.formats.redact import REDACTED, redact
from katod.search.query import Query, fold

_AROUND: Final = 8 * 1024  # characters before and behind a word: a secret that reaches further does not exist
_TRIED: Final = 50  # places of a word
_BLANKS: Final = re.compile(r"\s+")
_LEAST: Final = 24  # characters of one of several pieces
_GIST: Final = 60  # characters


def surroundings(text: str, query: Query) -> str:
    """Return the text around the words, redacted, on one line."""
    at = max(0, fold(text).find(_longest(query)))
    near = text[max(0, at - _AROUND) : at + _AROUND]
    return _BLANKS.sub(" ", clean(redact(near))).strip()


def snippet(near: str, query: Query, width: int) -> str:
    """Return at most `width` characters of surroundings that show the words; an ellipsis stands for what is left out.

    Words that are far from each other are shown in pieces, if there is room for them.
    """
    folded = fold(near)
    first = _piece(folded, _best(folded, query, width), width)
    apart = [folded.find(word) for word in query.words if word not in folded[first[0] : first[1]]]
    places = sorted({_best(folded, query, width), *(at for at in apart if at >= 0)})
    if len(places) == 1 or width // len(places) < _LEAST:
        return _shown(near, [first], width)
    return _shown(near, [_piece(folded, at, width // len(places)) for at in places], width)


def _piece(folded: str, at: int, width: int) -> tuple[int, int]:
    """Return where a piece around a place begins and ends."""
    begin = at - width // 4 if at > width // 2 else 0
    begin = min(begin, max(0, len(folded) - width))
    return begin, min(len(folded), begin + width)


def _shown(near: str, pieces: list[tuple[int, int]], width: int) -> str:
    joined = "…".join(near[begin:end].strip() for begin, end in pieces)
    before, after = "…" if pieces[0][0] else "", "…" if pieces[-1][1] < len(near) else ""
    return f"{before}{joined[len(before) : width - len(after)]}{after}"


def gist(near: str, query: Query) -> str:
    """Return the letters around the words: the same for an event in a session and in its transcript."""
    return "".join(filter(str.isalnum, snippet(near, query, _GIST).lower()))


def _longest(query: Query) -> str:
    return max(query.words, key=len, default="")


def _best(lowered: str, query: Query, width: int) -> int:
    """Return the place of the longest word around which most of the other words are, or of what hides it."""
    longest, at, best = _longest(query), -1, (-1, 0)
    for _ in range(_TRIED):
        at = lowered.find(longest, at + 1)
        if at < 0:
            break
        window = lowered[max(0, at - width // 4) : at + width * 3 // 4]
        best = max(best, (sum(word in window for word in query.words), -at))
    return -best[1] if best[0] >= 0 else max(0, lowered.find(REDACTED.lower()))
