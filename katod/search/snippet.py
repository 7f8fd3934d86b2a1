"""The part of a text that a hit shows: one line around the words of the query. Pure."""

import re
from functools import cache
from itertools import islice
from typing import Final

from katod.formats.redact.redactor import REDACTED
from katod.search.folding import fold
from katod.search.query import Query
from katod.text import clean

_AROUND: Final = 4 * 1024  # characters before and behind a word
_TRIED: Final = 50  # places of a word
# Characters for private use are pictures of some fonts, in prompts of shells and in lists, and boxes elsewhere.
_BLANKS: Final = re.compile(r"[\s\ue000-\uf8ff\U000f0000-\U0010ffff]+")
_LEAST: Final = 24  # characters of one of several pieces
_CLOSE: Final = 200  # characters between words that are about one thing
_GIST: Final = 60  # characters
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")  # in Markdown
_LEVELS: Final = 3  # an agent may write about escaped characters, and Markdown escapes them again
_TAGGED: Final = "</summary>"
# End tags behind the last paragraph: katod adds them in this form to a message that leaves elements open.
_ADDED_ENDS: Final = re.compile(r"(?:\n</pre>(?=\n\n</pre>))?\n\n((?:</[a-z0-9]+>){1,100})\s*\Z")


def surroundings(text: str, query: Query) -> str:
    """Return the text around the words, on one line."""
    folded = fold(text)
    longest = query.longest_in(folded)
    at = next(query.places(folded, longest), 0) if longest else 0
    return _BLANKS.sub(" ", clean(text[max(0, at - _AROUND) : at + _AROUND])).strip()


def snippet(near: str, query: Query, width: int) -> str:
    """Return at most `width` characters of surroundings that show the words; an ellipsis stands for what is left out.

    Words that are far from each other are shown in pieces, if there is room for them.
    """
    folded = fold(near)
    best = _best(folded, query, width)
    begin, end = _piece(folded, best, width)
    apart = [next(query.places(folded, word), -1) for word in query.words if word not in folded[begin:end]]
    places = sorted({best, *(at for at in apart if at >= 0)})
    if len(places) == 1 or width // len(places) < _LEAST:
        return _shown(near, [(begin, end)], width)
    return _shown(near, [_piece(folded, at, width // len(places)) for at in places], width)


def closeness(near: str, query: Query) -> float:
    """Return how well surroundings match, from 0 to 2: with words that stand for themselves, and close together."""
    folded = fold(near)
    best = _best(folded, query, _CLOSE)
    distances = [
        min((abs(at - best) for word in group for at in islice(query.places(folded, word), _TRIED)), default=len(near))
        for group in query.groups
    ]
    alone = {word for word in query.words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", folded)}
    whole = sum(not alone.isdisjoint(group) for group in query.groups)
    return whole / max(1, len(query.groups)) + 1 / (1 + max(distances, default=0) / _CLOSE)


def _piece(folded: str, at: int, width: int) -> tuple[int, int]:
    """Return where a piece around a place begins and ends."""
    begin = at - width // 4 if at > width // 2 else 0
    begin = min(begin, max(0, len(folded) - width))
    return begin, min(len(folded), begin + width)


def _shown(near: str, pieces: list[tuple[int, int]], width: int) -> str:
    joined = "…".join(near[begin:end].strip() for begin, end in pieces)
    before, after = "…" if pieces[0][0] else "", "…" if pieces[-1][1] < len(near) else ""
    return f"{before}{joined[len(before) : width - len(after)]}{after}"


def comparable(text: str, written: str, query: Query) -> str:
    """Return the text of an event, or of a passage as it is written, as both can be compared.

    Characters are no longer escaped, and a passage is without the tags that only katod writes. Tags of a message stay:
    without them, two messages could be taken for one. But end tags behind its last paragraph go from both, as katod may
    have added them. If its words are lost by that, it is the text.
    """
    shown = written or text
    if _TAGGED in written and (found := _own_title().match(written)):
        shown = found[1] + written[found.end() :]
    if written and "\\" in written:
        shown = _ESCAPED.sub(r"\1", shown)
    shown = _left_open(_unescaped(shown) if "&" in shown else shown)
    return shown if shown == text or query.matches(shown) else text


@cache
def _own_title() -> re.Pattern[str]:
    """Return a fold, or what stands between messages, whose name is not a part of the passage.

    A message may have the same tags.
    """
    from katod.formats.text.ownlines import SIGN  # noqa: PLC0415 - few passages have a fold

    return re.compile(rf"(?:<details>\n<summary>(?={SIGN} )|(?= (?!.*<summary>)))(.*)</summary>$", re.MULTILINE)


def _left_open(text: str) -> str:
    """Return a text without end tags behind its last paragraph, if these close what it opens."""
    found = _ADDED_ENDS.search(text) if text.rstrip().endswith(">") else None
    if found is None:
        return text
    before, names = text[: found.start()], found[1][2:-1].split("></")
    return before if all(names.count(name) <= _open_in(before.lower(), name) for name in set(names)) else text


def _open_in(text: str, name: str) -> int:
    """Return how many more elements of a name are opened than closed."""
    return len(re.findall(rf"<{name}\b", text)) - text.count(f"</{name}>")


def _unescaped(text: str) -> str:
    from html import unescape  # noqa: PLC0415 - its table of names is large, and few texts have any

    for _ in range(_LEVELS):
        text = unescape(text)
    return text


def gist(near: str, query: Query) -> str:
    """Return the letters around the words: the same for an event in a session and in its transcript."""
    folded = fold(near)
    at = _best(folded, query, _GIST)
    before = "".join(filter(str.isalnum, folded[:at]))[-_GIST // 3 :]
    return before + "".join(filter(str.isalnum, folded[at:]))[: _GIST * 2 // 3]


def _best(folded: str, query: Query, width: int) -> int:
    """Return the place of the longest word around which most of the other words are, or of what hides it."""
    best = (-1, 0)
    longest = query.longest_in(folded)
    for at in islice(query.places(folded, longest), _TRIED) if longest else ():
        window = folded[max(0, at - width // 4) : at + width * 3 // 4]
        best = max(best, (sum(word in window for word in query.words), -at))
    return -best[1] if best[0] >= 0 else max(0, folded.find(REDACTED.lower()))
