r"""Finds where a word may be in bytes of JSON, without decoding them. Pure.

The bytes are folded first, by one table for each query: it maps `A` to `a`, and of each other letter of the query the
bytes of both cases to the same bytes. A letter may fold with another one by this; a filter may find too much, but it
must never miss a word, however its writer spells it. There are three ways to look for a word:

* `_Literal`: the longest run of characters that no writer of JSON spells in another way, as bytes.
* `_Letters`: characters beyond ASCII, as bytes of UTF-8. A pattern looks for all spellings only in lines that have an
  escape of such a character (`\u043f`), or a letter whose other case has another length (`ß` and `ẞ`).
* `_Spelled`: a pattern for all spellings, everywhere. It is ten times slower, and left to quotes and backslashes.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, NamedTuple, Protocol

from katod.search.folding import unfolded

# Runs of these stand in JSON as they are, even in JSON that is inside JSON.
PLAIN: Final = re.compile(r"[a-z0-9 !#$%()*+,.:;=?@\[\]^_`{|}~-]+")
_SAFE: Final = re.compile(rf"(?:{PLAIN.pattern}|[^\0-\x7f])+")
_SHORTEST: Final = 3  # characters; a shorter run is in nearly every line
_LONGEST: Final = 64  # characters that are looked for in several ways
_ALIKE: Final = 4  # bytes with which runs begin that are looked for together
_ENTITIES: Final = {
    "<": ("&lt;",), ">": ("&gt;",), "&": ("&amp;",), '"': ("&quot;", "&#34;"), "'": ("&apos;", "&#39;", "&#x27;"),
}  # fmt: skip
_SHORT_ESCAPES: Final = {"\n": "n", "\t": "t", "\r": "r", "\f": "f", "\b": "b"}


class Place(NamedTuple):
    """Where something was found; -1 if it was not."""

    at: int
    end: int


NOWHERE: Final = Place(-1, -1)
Finder = Callable[[int], Place]


class Probe(Protocol):
    """Looks for a word."""

    @property
    def length(self) -> int:
        """How many bytes are looked for as they are: the more, the fewer there are; 0 for a slow pattern."""

    def within(self, data: bytes) -> Finder:
        """Return what finds the first place, from an offset on, at which the word may be in folded bytes."""


class FoldingTable:
    """Maps bytes so that letters of both cases have the same ones."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Make a table that maps the spellings of each pair, which are of one length, to the same bytes."""
        self._table = bytes(range(256)).lower()
        for one, other in pairs:
            for bytes_ in zip(one, other, strict=True):
                kept, lost = (self._table[byte] for byte in bytes_)
                self._table = self._table.replace(bytes([lost]), bytes([kept]))

    @classmethod
    def of_words(cls, words: Iterable[str]) -> "FoldingTable":
        """Return the table for UTF-8 with these folded words."""
        letters = {char for word in words for char in word}
        return cls((utf8(char), utf8(other)) for char in sorted(letters) for other in _as_long(char))

    def fold(self, data: bytes) -> bytes:
        """Return bytes as they are compared; newlines stay where they are."""
        return data.translate(self._table)

    def fold_without(self, data: bytes, removed: bytes) -> bytes:
        """Return the same, some bytes removed."""
        return data.translate(self._table, removed)


def probes_of(groups: Iterable[Iterable[str]], table: FoldingTable) -> list[Probe]:
    """Return what finds any word of each group in bytes that their table has folded; rare words come first."""
    probes = (_any_of([_probe(word, _run(word), table) for word in group]) for group in groups)
    return sorted(probes, key=lambda probe: -probe.length)


def _run(word: str) -> str:
    """Return the part of a word that is looked for as bytes, an empty string if there is none."""
    run = max(PLAIN.findall(word), key=len, default="")
    if len(run) >= _SHORTEST or run == word:
        return run
    run = max(_SAFE.findall(word), key=lambda some: len(utf8(some)), default="")[:_LONGEST]
    return run if len(utf8(run)) >= _SHORTEST or run == word else ""


def _probe(word: str, run: str, table: FoldingTable) -> Probe:
    if not run:
        return _Spelled(word, table)
    return _Literal(run) if run.isascii() else _Letters(run, table)


def _any_of(probes: list[Probe]) -> Probe:
    """Return what finds any of some words; of hundreds of ids that begin alike, the beginning is looked for once."""
    alike: dict[bytes, list[_Literal]] = {}
    others: list[Probe] = []
    for probe in probes:
        if isinstance(probe, _Literal):
            alike.setdefault(probe.run[:_ALIKE], []).append(probe)
        else:
            others.append(probe)
    joined = (_AnyRun([probe.run for probe in some]) if len(some) > 1 else some[0] for some in alike.values())
    found = [*joined, *others]
    return _AnyOf(found) if len(found) > 1 else found[0]


class _Literal:
    """Looks for bytes."""

    def __init__(self, run: str) -> None:
        self.run = run.encode()
        self.length = len(self.run)

    def within(self, data: bytes) -> Finder:
        return lambda at: _place(data.find(self.run, at), self.length)


class _AnyRun:
    """Looks for any of several runs of bytes that begin alike."""

    def __init__(self, runs: list[bytes]) -> None:
        self._beginning = _beginning(runs)
        self._runs = frozenset(runs)
        self._lengths = sorted(set(map(len, runs)))
        self.length = self._lengths[0]

    def within(self, data: bytes) -> Finder:
        return partial(self._place, data)

    def _place(self, data: bytes, at: int) -> Place:
        while (at := data.find(self._beginning, at)) >= 0:
            for length in self._lengths:
                if data[at : at + length] in self._runs:
                    return Place(at, at + length)
            at += 1
        return NOWHERE


class _Spelled:
    """Looks for a word in every way in which it may be spelled."""

    length: Final = 0

    def __init__(self, word: str, table: FoldingTable) -> None:
        self._pattern = _pattern(word, table)

    def within(self, data: bytes) -> Finder:
        return lambda at: _found(self._pattern.search(data, at))


class _Letters:
    """Looks for letters beyond ASCII as they are, and in every other way only where there is a sign of one."""

    def __init__(self, run: str, table: FoldingTable) -> None:
        self._run = table.fold(utf8(run))
        self.length = len(self._run)
        self._pattern = _pattern(run, table)
        self._escaped = _EscapedRun(run)
        self._signs = _signs(run)
        odd = {table.fold(utf8(other)) for char in run for other in _of_other_length(char)}
        self._odd = [(other[:1], re.compile(re.escape(other))) for other in sorted(odd)]

    def within(self, data: bytes) -> Finder:
        hidden = [*self._hidden(data)]
        # Rare bytes are found ten times as fast as rare words.
        if self._run[:1] not in data:
            return lambda at: _first_of(hidden, at)
        return lambda at: _earlier(_place(data.find(self._run, at), self.length), _first_of(hidden, at))

    def _hidden(self, data: bytes) -> Iterator[Place]:
        """Yield where the letters are spelled in another way, the first place in each line, in order."""
        signs = [self._signs, *(odd for begin, odd in self._odd if begin in data)]
        spans = {span for sign in signs for span in lines_around(data, sign)}
        for begin, end in sorted(spans):
            if self._may_be_in(data[begin:end]) and (found := self._pattern.search(data, begin, end)):
                yield _found(found)

    def _may_be_in(self, line: bytes) -> bool:
        """Return False if a line of nothing but ASCII lacks the letters: who escapes one, escapes all of them."""
        return not line.isascii() or self._escaped.may_be_in(line)


class _AnyOf:
    """Looks for any of several words."""

    def __init__(self, probes: list[Probe]) -> None:
        self._probes = probes
        self.length = min(probe.length for probe in probes)

    def within(self, data: bytes) -> Finder:
        finders = [_remembering(probe.within(data)) for probe in self._probes]
        return lambda at: min((place for find in finders if (place := find(at)).at >= 0), default=NOWHERE)


def _remembering(find: Finder) -> Finder:
    """Return a finder for growing offsets that does not look again for a place that is still ahead, or for none."""
    next_place = find(0)

    def found(at: int) -> Place:
        nonlocal next_place
        if 0 <= next_place.at < at:
            next_place = find(at)
        return next_place

    return found


class _EscapedRun:
    """Looks for letters that are all escaped, in a line without the backslashes."""

    def __init__(self, run: str) -> None:
        pairs = ((_unescaped(char), _unescaped(other)) for char in run for other in unfolded(char)[1:])
        self._table = FoldingTable(pairs)
        self._run = self._table.fold(b"".join(map(_unescaped, run)))

    def may_be_in(self, line: bytes) -> bool:
        """Return False if a line of ASCII certainly lacks the letters."""
        return self._run in self._table.fold_without(line, b"\\")


def _beginning(runs: list[bytes]) -> bytes:
    """Return what all of these runs begin with: what the first and the last of them in order have in common."""
    first, last = min(runs), max(runs)
    return first[: next((at for at, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first))]


def lines_around(data: bytes, sign: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where the lines that contain a sign begin and end."""
    at = 0
    while found := sign.search(data, at):
        begin, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
        at = len(data) if end < 0 else end
        yield begin, at


def _place(at: int, length: int) -> Place:
    return Place(at, at + length) if at >= 0 else NOWHERE


def _found(found: re.Match[bytes] | None) -> Place:
    return Place(found.start(), found.end()) if found else NOWHERE


def _first_of(places: list[Place], at: int) -> Place:
    """Return the first of some places from an offset on."""
    number = bisect_left(places, (at, 0))
    return places[number] if number < len(places) else NOWHERE


def _earlier(one: Place, other: Place) -> Place:
    return min((place for place in (one, other) if place.at >= 0), default=NOWHERE)


# -- spellings ----------------------------------------------------------------------------------------


def utf8(text: str) -> bytes:
    """Return a text as its writers do, also one with an unpaired surrogate, which no file has."""
    return text.encode("utf-8", "surrogatepass")


def _units(char: str) -> list[bytes]:
    """Return the numbers of a character's units in UTF-16, in hex."""
    units = char.encode("utf-16-be", "surrogatepass")
    return [units[at : at + 2].hex().encode() for at in range(0, len(units), 2)]


def _unescaped(char: str) -> bytes:
    """Return the escape of a character beyond ASCII without its backslashes; others are not escaped."""
    return char.encode() if char.isascii() else b"".join(b"u" + unit for unit in _units(char))


def _as_long(char: str) -> list[str]:
    """Return the other characters that fold to one, and have as many bytes."""
    return [other for other in unfolded(char)[1:] if len(utf8(other)) == len(utf8(char))]


def is_of_one_length(char: str) -> bool:
    """Return whether all characters that fold to a folded one have as many bytes."""
    return not _of_other_length(char)


def _of_other_length(char: str) -> list[str]:
    return [other for other in unfolded(char) if len(utf8(other)) != len(utf8(char))]


def _signs(run: str) -> re.Pattern[bytes]:
    """Return a pattern for how the escapes of characters beyond ASCII begin, in any case of them.

    One pattern with a beginning that all have is as fast as a search for bytes.
    """
    signs = {_sign(_units(other)[0]) for char in run if not char.isascii() for other in unfolded(char)}
    return re.compile(rb"\\u(?:" + b"|".join(sorted(signs)) + b")")


def _sign(unit: bytes) -> bytes:
    """Return the beginning of a number: of a block of letters, if these are not in every file."""
    return unit[: 3 if unit.startswith((b"00", b"d8")) else 2]


def _pattern(word: str, table: FoldingTable) -> re.Pattern[bytes]:
    return re.compile(b"".join(_spellings(char, table) for char in word))


def _spellings(char: str, table: FoldingTable) -> bytes:
    """Return a pattern for one folded character in folded bytes of JSON."""
    if PLAIN.fullmatch(char):
        return re.escape(char.encode())
    ways = [re.escape(entity.encode()) for entity in _ENTITIES.get(char, ())]
    if char in _SHORT_ESCAPES:
        ways.append(rb"\\+" + _SHORT_ESCAPES[char].encode())
    if char == "\\":
        ways.append(rb"\\+")
    for same in unfolded(char):
        ways += [rb"\\*" + re.escape(table.fold(utf8(same))), _escaped(same)]
    return b"(?:" + b"|".join(dict.fromkeys(ways)) + b")"


def _escaped(char: str) -> bytes:
    r"""Return a pattern for a character that is written as `\\u00e9`, or as two of those."""
    return b"".join(rb"\\+u" + unit for unit in _units(char))
