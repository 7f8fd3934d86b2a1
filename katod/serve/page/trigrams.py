"""A trigram index in memory: which sessions may have some words. For the searching thread.

The sessions that it names are searched as without it: the results are the same, only sooner.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from katod.errors import SourceError
from katod.log import EventLog
from katod.model import SessionKey
from katod.record.export import Stretch, replay
from katod.search.folding import fold
from katod.search.spoken import words_of
from katod.serve.index.entry import SessionEntry

_MOST: Final = 3_000_000  # runs, each of which takes one or two bytes; sessions beyond that are read each time
_PIECE: Final = 16_384  # different runs; a session has 10,000 to 70,000
_RUN: Final = 3
_ALWAYS: Final = "\n"  # stands for what is no character
_UNSORTED: Final = 256 * 1024  # bytes that the index keeps until it sorts them in
_STEP: Final = 32_768  # characters, after which others have their turn
Signature = tuple[tuple[str, ...], bytes]
_SCHEMA: Final = (
    "CREATE VIRTUAL TABLE pieces USING fts5(runs, content='', detail='none', columnsize=0, tokenize='ascii')"
)


class TrigramIndex:
    """The index, and which sessions are in it as they are now."""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = None
        self._sessions: dict[SessionKey, tuple[Signature, range]] = {}  # what it was, and its pieces
        self._left = _MOST
        self._pieces = 0

    def close(self) -> None:
        """Let go of its memory; it is not used again."""
        if self._db is not None:
            self._db.close()

    def narrowed(self, groups: Iterable[Sequence[str]], entries: Iterable[SessionEntry]) -> list[SessionEntry]:
        """Return the sessions of these that may have one word of each group.

        Those are the sessions that are not in the index, and those that have all runs of such a word there.
        """
        found = [[self._pieces_with(word) for word in group] for group in groups] if self._db is not None else []
        return [entry for entry in entries if self._may_be(entry, found)]

    def take(self, entries: Iterable[SessionEntry]) -> Iterator[None]:
        """Add sessions that are not in the index as they are now, step by step."""
        for entry in entries:
            if self._left > 0 and not self._is_known(entry):
                yield from self._add(entry)

    def _is_known(self, entry: SessionEntry) -> bool:
        known = self._sessions.get(entry.key)
        return known is not None and known[0] == _signature(entry)

    def _may_be(self, entry: SessionEntry, found: list[list[list[set[int]]]]) -> bool:
        if not self._is_known(entry):
            return True
        numbers = self._sessions[entry.key][1]

        def has(word: list[set[int]]) -> bool:
            return all(any(number in run for number in numbers) for run in word)

        return all(any(map(has, group)) for group in found)

    def _pieces_with(self, word: str) -> list[set[int]]:
        """Return, for each run of a word, the pieces in which it is."""
        return [self._with(part) for part in set(_parts(fold(word)))]

    def _with(self, part: str) -> set[int]:
        assert self._db is not None
        rows = self._db.execute("SELECT rowid FROM pieces WHERE pieces MATCH ?", (f'"{_token(part)}"',))
        return {number for (number,) in rows}

    def _add(self, entry: SessionEntry) -> Iterator[None]:
        signature, begin = _signature(entry), self._pieces + 1
        try:
            for piece in _pieces(entry):
                if piece:
                    self._insert(piece)
                yield
        except SourceError:
            return  # it is read again by the next search
        self._sessions[entry.key] = signature, range(begin, self._pieces + 1)

    def _insert(self, runs: set[str]) -> None:
        if self._db is None:
            self._db = sqlite3.connect(":memory:", check_same_thread=False)
            self._db.execute(_SCHEMA)
            self._db.execute("INSERT INTO pieces (pieces, rank) VALUES ('hashsize', ?)", (_UNSORTED,))
        self._pieces += 1
        self._left -= len(runs)
        self._db.execute("INSERT INTO pieces (rowid, runs) VALUES (?, ?)", (self._pieces, " ".join(map(_token, runs))))


def _signature(entry: SessionEntry) -> Signature:
    return entry.paths, entry.stats


def _pieces(entry: SessionEntry) -> Iterator[set[str]]:
    """Yield the runs of the messages of a session, so many at a time, and an empty set now and then."""
    stretches = [Stretch(path, identity) for path, identity, _ in entry.files]
    runs: set[str] = set()
    for event, _ in replay(entry.key, stretches, EventLog()):
        text = _indexed(words_of(event))
        for begin in range(0, len(text), _STEP):
            runs.update(_runs(text[begin : begin + _STEP + _RUN - 1]))
            if len(runs) >= _PIECE:
                yield runs
                runs = set()
            else:
                yield set()
    yield runs


def _runs(text: str) -> Iterator[str]:
    return (text[at : at + _RUN] for at in range(len(text) - _RUN + 1))


def _token(run: str) -> str:
    """Return a run as one word of the index, which splits text at all that is no letter or digit."""
    return run.encode().hex()


def _indexed(text: str) -> str:
    """Return a text as it is indexed: in lower case, without what ends a text in C, and what is no character."""
    return fold(text).replace("\0", _ALWAYS).encode("utf-8", "replace").decode()


def _parts(word: str) -> Iterator[str]:
    """Yield the parts of a word that are looked up; a word that may be spelt differently in the index has none."""
    if _indexed(word) == word:
        yield from _runs(word)
