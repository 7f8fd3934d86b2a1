"""A trigram index in memory: which sessions may have some words. For the searching thread.

The sessions that it names are searched as without it: the results are the same, only sooner.
"""

from array import array
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from katod.errors import SourceError
from katod.log import EventLog
from katod.model import SessionKey
from katod.record.export import Stretch, replay
from katod.search.folding import fold
from katod.search.spoken import words_of
from katod.serve.index.entry import SessionEntry

_MOST: Final = 3_000_000  # runs, each of which takes four bytes; sessions beyond that are read each time
_PIECE: Final = 16_384  # different runs; a session has 10,000 to 70,000
_RUN: Final = 3
_STEP: Final = 32_768  # characters, after which others have their turn
Signature = tuple[tuple[str, ...], bytes]
# Sorted hashes of runs. If two runs have the same hash, a search may read a session for nothing; it misses none.
_Piece: TypeAlias = "array[int]"


class IndexedSession(NamedTuple):
    """A session in the index: what it was when it was read, and its runs."""

    signature: Signature
    pieces: tuple[_Piece, ...]

    @property
    def size(self) -> int:
        """How many runs it takes."""
        return sum(map(len, self.pieces))

    def has(self, runs: Iterable[int]) -> bool:
        """Return whether it has all of these runs."""
        return all(any(_is_in(piece, run) for piece in self.pieces) for run in runs)


class TrigramIndex:
    """The index, and which sessions are in it as they are now."""

    def __init__(self) -> None:
        self._sessions: dict[SessionKey, IndexedSession] = {}
        self._left = _MOST

    def narrowed(self, groups: Iterable[Sequence[str]], entries: Iterable[SessionEntry]) -> list[SessionEntry]:
        """Return the sessions of these that may have one word of each group.

        Those are the sessions that are not in the index, and those that have all runs of such a word there.
        """
        found = [[set(map(_hash, _runs(fold(word)))) for word in group] for group in groups]
        return [entry for entry in entries if self._may_be(entry, found)]

    def keep(self, keys: Container[SessionKey]) -> None:
        """Forget all other sessions than these."""
        for key in [key for key in self._sessions if key not in keys]:
            self._drop(key)

    def take(self, entries: Iterable[SessionEntry]) -> Iterator[None]:
        """Add sessions that are not in the index as they are now, step by step."""
        for entry in entries:
            if not self._is_known(entry):
                self._drop(entry.key)
                if self._left > 0:
                    yield from self._add(entry)

    def _is_known(self, entry: SessionEntry) -> bool:
        known = self._sessions.get(entry.key)
        return known is not None and known.signature == _signature(entry)

    def _may_be(self, entry: SessionEntry, found: list[list[set[int]]]) -> bool:
        if not self._is_known(entry):
            return True
        known = self._sessions[entry.key]
        return all(any(map(known.has, group)) for group in found)

    def _add(self, entry: SessionEntry) -> Iterator[None]:
        signature, pieces = _signature(entry), list[_Piece]()
        try:
            for runs in _pieces(entry):
                if runs:
                    pieces.append(array("I", sorted(set(map(_hash, runs)))))
                yield
        except SourceError:
            return  # it is read again by the next search
        self._put(entry.key, IndexedSession(signature, tuple(pieces)))

    def _put(self, key: SessionKey, session: IndexedSession) -> None:
        self._drop(key)
        self._sessions[key] = session
        self._left -= session.size

    def _drop(self, key: SessionKey) -> None:
        """Forget a session, so that others have its room."""
        if (known := self._sessions.pop(key, None)) is not None:
            self._left += known.size


def _signature(entry: SessionEntry) -> Signature:
    return entry.paths, entry.stats


def _pieces(entry: SessionEntry) -> Iterator[set[str]]:
    """Yield the runs of the messages of a session, so many at a time, and an empty set now and then."""
    stretches = [Stretch(path, identity) for path, identity, _ in entry.files]
    runs: set[str] = set()
    for event, _ in replay(entry.key, stretches, EventLog()):
        text = fold(words_of(event))
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


def _hash(run: str) -> int:
    return crc32(run.encode("utf-8", "surrogatepass"))


def _is_in(piece: _Piece, run: int) -> bool:
    at = bisect_left(piece, run)
    return at < len(piece) and piece[at] == run
