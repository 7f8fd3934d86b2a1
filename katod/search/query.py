"""The query of a search: matched in decoded text and, as a filter, in the bytes of a file. Pure.

A search reads a gigabyte in about two seconds because it hardly decodes anything: only lines that may contain all words
are parsed (`prefilter`). The filter may let a line through that does not match, but never keeps one back.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from katod.search.folding import fold
from katod.search.prefilter import NOWHERE, PLAIN, FoldingTable, probes_of, utf8
from katod.search.textfilter import TextFilter

_OR: Final = "OR"
_SHELL: Final = "! "  # stands before a command for the shell in its event, and in no record
_LONGEST_LIKE: Final = 200  # characters; SQLite limits the length of a pattern


class Query:
    """Words that all have to be in one event; of some of them, one is enough. Upper and lower case are the same.

    If they are `whole`, no letter, digit or underscore stands beside them.
    """

    def __init__(self, words: Iterable[str | tuple[str, ...]], *, whole: bool = False) -> None:
        """Look for all of these words; of those in a tuple, for any."""
        groups = (_folded((group,) if isinstance(group, str) else group) for group in words)
        self.groups = tuple(dict.fromkeys(filter(None, groups)))
        self.words = _folded(word for group in self.groups for word in group)
        self._table = FoldingTable.of_words(self.words)
        self._probes = probes_of((map(_recorded, group) for group in self.groups), self._table)
        self._texts = [[TextFilter(word, self._table) for word in group] for group in self.groups]

        form = r"(?<!\w){}(?!\w)" if whole else "{}"
        self._patterns = {word: re.compile(form.format(re.escape(word))) for word in self.words}
        self._is_whole = whole

    @classmethod
    def parse(cls, words: Iterable[str], *, whole: bool = False) -> "Query":
        """Return the query of words as a person types them: `OR` between two words means one or the other."""
        return cls(_alternatives(words), whole=whole)

    @classmethod
    def of_text(cls, text: str) -> "Query":
        """Return the query of a text as a person types it into a field: what stands in double quotes is one word."""
        return cls.parse(_split(text))

    def matches(self, text: str) -> bool:
        """Return whether a text has all words."""
        folded = fold(text)
        return all(any(self._has(folded, word) for word in group) for group in self.groups)

    def _has(self, folded: str, word: str) -> bool:
        return word in folded and (not self._is_whole or self._patterns[word].search(folded) is not None)

    def places(self, folded: str, word: str) -> Iterator[int]:
        """Yield where a word is in a text that `fold` returned."""
        return (found.start() for found in self._patterns[word].finditer(folded))

    def longest_in(self, folded: str) -> str:
        """Return the longest word, or of several the one that is in a folded text; an empty string if it is not."""
        group = max(self.groups, key=lambda some: len(max(some, key=len)), default=())
        return max((word for word in group if self._has(folded, word)), key=len, default="")

    def may_be_in(self, data: bytes) -> bool:
        """Return False if these bytes of JSON certainly lack one of the words."""
        folded = self._table.fold(data)
        return all(probe.within(folded)(0).at >= 0 for probe in self._probes)

    def may_be_in_text(self, text: bytes | str) -> bool:
        """Return False if this text of Markdown certainly lacks one of the words."""
        folded = self._table.fold(utf8(text) if isinstance(text, str) else text)
        return all(any(word.may_be_in(folded) for word in group) for group in self._texts)

    def may_be_in_page(self, page: bytes) -> bool:
        """Return False if this page of HTML certainly lacks one of the words."""
        folded = self._table.fold(page)
        return all(any(word.may_be_in_page(folded) for word in group) for group in self._texts)

    def lines(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield where lines begin and end that may have all words; `data` has whole lines."""
        folded = self._table.fold(data)
        first, *others = [probe.within(folded) for probe in self._probes] or [lambda _at: NOWHERE]
        at = 0
        while (found := first(at)).at >= 0:
            begin = folded.rfind(b"\n", 0, found.at) + 1
            end = folded.find(b"\n", found.end)
            end = len(folded) if end < 0 else end
            places = [find(begin).at for find in others]
            if min(places, default=0) < 0:
                return
            last = max(places, default=0)
            if last < end:
                yield begin, end
            at = max(end, folded.rfind(b"\n", 0, last)) + 1


def _folded(words: Iterable[str]) -> tuple[str, ...]:
    """Return words as they are compared, each once, without empty ones."""
    return tuple(dict.fromkeys(folded for word in words if (folded := fold(word.strip()))))


def _recorded(word: str) -> str:
    """Return the part of a word that is in the record of an event which has the word."""
    return word.removeprefix(_SHELL) or word


def _alternatives(words: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the words that all have to be there, as groups of which one is enough; an `OR` at an end is a word."""
    typed = [word for word in words if word.strip()]
    groups: list[tuple[str, ...]] = []
    is_joined = False
    for number, word in enumerate(typed, 1):
        if word == _OR and groups and not is_joined and number < len(typed):
            is_joined = True
        elif is_joined:
            groups[-1] += (word,)
            is_joined = False
        else:
            groups.append((word,))
    return groups


def _split(text: str) -> Iterator[str]:
    for number, part in enumerate(text.split('"')):
        yield from [part] if number % 2 else part.split()


def like(word: str) -> str:
    r"""Return a pattern for SQLite's LIKE (`\` is ESCAPE) that matches each JSON of JavaScript's with a word in it."""
    return f"%{''.join(map(_like, fold(_recorded(word)[:_LONGEST_LIKE])))}%"


def _like(char: str) -> str:
    if PLAIN.fullmatch(char):
        return f"\\{char}" if char in "%_" else char
    is_uncased = char.lower() == char.upper() and char.isprintable() and not char.isascii()
    return char if is_uncased else "%"
