"""The query of a search: matched in decoded text and, as a filter, in the bytes of a file. Pure.

A search reads a gigabyte in about two seconds because it hardly decodes anything: the bytes are lower-cased, and only
lines that may contain all words are parsed. The filter may let a line through that does not match, but never keeps one
back: of each word, it looks for the longest run of characters that no writer of JSON spells in another way.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

# Runs of these stand in JSON as they are, even in JSON that is inside JSON.
_PLAIN: Final = re.compile(r"[a-z0-9 !#$%()*+,.:;=?@\[\]^_`{|}~-]+")
# Runs of these stand in Markdown as they are, too, whatever is escaped there.
_WORDLIKE: Final = re.compile(r"[a-z0-9]+")
_LETTERS: Final = re.compile(r"[a-z]+")
_SHORTEST: Final = 3  # characters; a shorter run is in nearly every line
_LONGEST_LIKE: Final = 200  # characters; SQLite limits the length of a pattern
_ENTITIES: Final = {
    "<": ("&lt;",), ">": ("&gt;",), "&": ("&amp;",), '"': ("&quot;", "&#34;"), "'": ("&apos;", "&#39;", "&#x27;"),
}  # fmt: skip
_SHORT_ESCAPES: Final = {"\n": "n", "\t": "t", "\r": "r", "\f": "f", "\b": "b"}
# Their lower case is an ordinary letter, but no upper-casing leads back to them.
_TWINS: Final = {
    "\u00df": "\u1e9e", "\u00e5": "\u212b", "\u03b8": "\u03f4", "\u03c2": "\u03a3\u03c3", "\u03c3": "\u03a3\u03c2",
    "\u03c9": "\u2126",
}  # fmt: skip


# Their lower case is, or begins with, a letter of ASCII, which nothing in their bytes tells: they stay as they are.
_ALONE: Final = re.compile("([\u0130\u212a])")


def fold(text: str) -> str:
    """Return a text in lower case, as words and texts are compared."""
    if text.isascii() or not _ALONE.search(text):
        return text.lower()
    return "".join(part if _ALONE.match(part) else part.lower() for part in _ALONE.split(text))


class Query:
    """Words that all have to be in one event. Upper and lower case are the same.

    If they are `whole`, no letter, digit or underscore stands beside them.
    """

    def __init__(self, words: Iterable[str], *, whole: bool = False) -> None:
        self.words = tuple(dict.fromkeys(folded for word in words if (folded := fold(word.strip()))))
        probes = map(_probe, self.words)
        self._first, *self._others = sorted(probes, key=_rarest) or [_NOWHERE]
        self._runs = [max(_WORDLIKE.findall(word), key=len, default="") for word in self.words]

        form = r"(?<!\w){}(?!\w)" if whole else "{}"
        self._patterns = {word: re.compile(form.format(re.escape(word))) for word in self.words}
        self._is_whole = whole

    def matches(self, text: str) -> bool:
        """Return whether a text has all words."""
        folded = fold(text)
        if not all(word in folded for word in self.words):
            return False
        return not self._is_whole or all(pattern.search(folded) for pattern in self._patterns.values())

    def places(self, folded: str, word: str) -> Iterator[int]:
        """Yield where a word is in a text that `fold` returned."""
        return (found.start() for found in self._patterns[word].finditer(folded))

    @property
    def longest(self) -> str:
        """The longest word, an empty string if there is none."""
        return max(self.words, key=len, default="")

    def may_be_in(self, lowered: bytes) -> bool:
        """Return False if these bytes of JSON, in lower case, certainly lack one of the words."""
        return self._first(lowered, 0).at >= 0 and all(probe(lowered, 0).at >= 0 for probe in self._others)

    def may_be_in_text(self, lowered: bytes | str) -> bool:
        """Return False if this text of Markdown, in lower case, certainly lacks one of the words."""
        if isinstance(lowered, str):
            return all(run in lowered for run in self._runs)
        return all(run.encode() in lowered for run in self._runs)

    def may_be_in_page(self, lowered: bytes) -> bool:
        """Return False if this page of HTML, in lower case, certainly lacks one of the words: code has tags in it."""
        return all(max(_LETTERS.findall(run), key=len, default="").encode() in lowered for run in self._runs)

    def lines(self, lowered: bytes) -> Iterator[tuple[int, int]]:
        """Yield where lines begin and end that may have all words; `lowered` has whole lines, in lower case."""
        if not self.may_be_in(lowered):
            return
        at = 0
        while (found := self._first(lowered, at)).at >= 0:
            begin = lowered.rfind(b"\n", 0, found.at) + 1
            end = lowered.find(b"\n", found.end)
            end = len(lowered) if end < 0 else end
            line = lowered[begin:end] if self._others else b""
            if all(probe(line, 0).at >= 0 for probe in self._others):
                yield begin, end
            at = end + 1


class _Place(NamedTuple):
    """Where something was found; -1 if it was not."""

    at: int
    end: int


_Probe = Callable[[bytes, int], _Place]


def _nowhere(_data: bytes, _at: int) -> _Place:
    return _Place(-1, -1)


_NOWHERE: Final[_Probe] = _nowhere


class _Literal:
    """Looks for bytes."""

    def __init__(self, run: str) -> None:
        self.run = run.encode()

    def __call__(self, data: bytes, at: int) -> _Place:
        found = data.find(self.run, at)
        return _Place(found, found + len(self.run))


class _Spelled:
    """Looks for a word in every way in which it may be spelled."""

    def __init__(self, word: str) -> None:
        self._pattern = re.compile(b"".join(map(_spellings, word)))

    def __call__(self, data: bytes, at: int) -> _Place:
        found = self._pattern.search(data, at)
        return _Place(found.start(), found.end()) if found else _Place(-1, -1)


def _probe(word: str) -> _Probe:
    """Return what finds every place where a word may be."""
    run = max(_PLAIN.findall(word), key=len, default="")
    return _Literal(run) if len(run) >= _SHORTEST or run == word else _Spelled(word)


def _rarest(probe: _Probe) -> int:
    """Return a key that sorts what is found quickly and seldom before the others."""
    return -len(probe.run) if isinstance(probe, _Literal) else 0


def _spellings(char: str) -> bytes:
    """Return a pattern for one lower-case character in lower-cased bytes of JSON."""
    if _PLAIN.fullmatch(char):
        return re.escape(char.encode())
    ways = [re.escape(entity.encode()) for entity in _ENTITIES.get(char, ())]
    if char in _SHORT_ESCAPES:
        ways.append(rb"\\+" + _SHORT_ESCAPES[char].encode())
    for twin in sorted({char, char.upper(), char.title(), *_TWINS.get(char, "")}):
        if len(twin) == 1:
            ways += [rb"\\*" + re.escape(twin.encode("utf-8", "surrogatepass").lower()), _escaped(twin)]
    if char == "\\":
        ways.append(rb"\\+")
    return b"(?:" + b"|".join(ways) + b")"


def _escaped(char: str) -> bytes:
    r"""Return a pattern for a character that is written as `\\u00e9`, or as two of those."""
    units = char.encode("utf-16-be", "surrogatepass")
    return b"".join(rb"\\+u" + units[at : at + 2].hex().encode() for at in range(0, len(units), 2))


def like(word: str) -> str:
    r"""Return a pattern for SQLite's LIKE (`\` is ESCAPE) that matches each JSON of JavaScript's with a word in it."""
    return f"%{''.join(map(_like, fold(word[:_LONGEST_LIKE])))}%"


def _like(char: str) -> str:
    if _PLAIN.fullmatch(char):
        return f"\\{char}" if char in "%_" else char
    is_uncased = char.lower() == char.upper() and char.isprintable() and not char.isascii()
    return char if is_uncased else "%"
