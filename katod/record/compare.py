"""Finds the text of a recording in its output, which the user may have edited. Pure.

Each piece, the text of one event, is looked for in order, between the pieces around it that can be recognised by a line
that is nowhere else: so a missing one is not taken for an equal one further down.

Events in JSONL are found by their ids instead, or by what they say, wherever they are. Where their records were in the
session file does not matter: an agent may write that again.

What was missing is appended again, below a mark. Each part of a file from one mark to the next is compared on its own:
so nothing that is appended changes what is found before it, and what was appended is found.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Final, NamedTuple, TypeVar

import orjson

from katod.formats.eventlines import is_event

_BOM: Final = b"\xef\xbb\xbf"
_Key = TypeVar("_Key")
_Forms = tuple[Mapping[int, bytes], ...]  # the texts of pieces by their numbers, in one way or another


class LineSpan(NamedTuple):
    """Where lines are: from, to."""

    start: int
    end: int


def locate(content: bytes, pieces: list[bytes]) -> list[list[LineSpan]]:
    """Return where each piece is, in order; nothing for those that are missing or changed.

    The lines of a piece may have other text between them: then it is where each of them is.
    """
    found = _in_a_row(content, pieces)
    return [[span] for span in found] if found is not None else _between_anchors(content, pieces)


def missing(
    content: bytes, pieces: list[bytes], again: Callable[[list[int]], Mapping[int, bytes]] = lambda _: {}, *,
    mark: bytes = b"", in_order: bool = True,
) -> list[int]:  # fmt: skip
    """Return the numbers of the pieces that are missing or changed. Line ends and a byte order mark do not matter.

    `again` returns the text of some pieces as it is below a `mark`, where an event gets a heading: either will do.
    Unless they have to be `in_order`, pieces are also looked for in the text that is left over.
    """
    written = {number: _plain(piece) for number, piece in enumerate(pieces) if piece}
    first, *appended = _parts(_plain(content), mark)
    left, lost = _search(first, list(written), (written,))
    if not lost:
        return []
    forms = written, {number: _plain(text) for number, text in again(lost).items() if text}
    left, lost = _search(left, lost, forms[1:])
    for part in appended:
        rest, lost = _search(*_without_first(part, lost, forms), forms)
        left += b"\n" + rest
    before = None
    while not in_order and len(lost) != before:
        before = len(lost)
        left, lost = _search(left, lost, forms)
    return lost


def missing_lines(content: bytes, pieces: list[bytes], *, in_order: bool = True) -> list[int]:
    """Return the numbers of the pieces of which a line is missing or changed: each line stands for itself.

    It is for formats without a mark, where only its lines show what was appended later.
    """
    lines = [(number, line) for number, piece in enumerate(pieces) for line in _plain(piece).splitlines(keepends=True)]
    lost = missing(content, [line for _, line in lines], in_order=in_order)
    return sorted({lines[place][0] for place in lost})


class EventDifference(NamedTuple):
    """The numbers of pieces with an event that is not there, and of those with one that is there in other words.

    Only events in JSONL can be told apart like that, by their ids. Any other piece that was changed is not there.
    """

    absent: list[int]
    changed: list[int]


def compare_events(content: bytes, pieces: list[bytes]) -> EventDifference:
    """Look for the events of pieces, which are lines of katod's JSONL, in a content, by their ids."""
    there: dict[str, set[bytes]] = {}
    for name, said in _events(_plain(content)):
        there.setdefault(name, set()).add(said)
    absent, changed = [], []
    for number, piece in enumerate(pieces):
        wanted = list(_events(piece))
        if any(name not in there for name, _ in wanted):
            absent.append(number)
        elif any(said not in there[name] for name, said in wanted):
            changed.append(number)
    return EventDifference(absent, changed)


def compare_placed_events(content: bytes, pieces: list[bytes]) -> EventDifference:
    """Look for events whose ids are where their records were, as those of some agents: by all that they say else.

    Of several that say the same, each stands for itself, first for the one whose id it has. One that was changed is
    absent.
    """
    there = list(_events(_plain(content)))
    wanted = {number: list(_events(piece)) for number, piece in enumerate(pieces)}
    exact, left = Counter(there), Counter(said for _, said in there)
    as_written = {number for number, events in wanted.items() if _taken(Counter(events), exact)}
    left.subtract(said for number in as_written for _, said in wanted[number])
    others = (number for number in wanted if number not in as_written)
    return EventDifference([one for one in others if not _taken(Counter(said for _, said in wanted[one]), left)], [])


def _taken(wanted: "Counter[_Key]", left: "Counter[_Key]") -> bool:
    """Return whether all that is wanted is left, and take it."""
    if any(left[one] < count for one, count in wanted.items()):
        return False
    left.subtract(wanted)
    return True


def _events(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the id of each event, and what it says, without where its record was. A line that was cut is none."""
    for line in filter(is_event, content.split(b"\n")):
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # also where it is nested too deep
            event = orjson.loads(line)
            event["source"].pop("offset", None)
            yield str(event.pop("id")), orjson.dumps(event, option=orjson.OPT_SORT_KEYS)


def _plain(content: bytes) -> bytes:
    """Return a text with the line ends that katod writes."""
    return content.removeprefix(_BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _parts(content: bytes, mark: bytes) -> list[bytes]:
    """Return what is before the first mark, and what is below each."""
    return re.split(rb"^%b\n" % re.escape(mark), content, flags=re.MULTILINE) if mark else [content]


def _without_first(part: bytes, lost: list[int], forms: _Forms) -> tuple[bytes, list[int]]:
    """Return what follows the pieces with which a part begins, each right below the one before, and what is lost."""
    at, still = 0, []
    for number in lost:
        texts = (form.get(number, b"") for form in forms)
        length = max((len(text) for text in texts if part.startswith(text, at)), default=0)
        at += length
        still += [] if length else [number]
    return part[at:], still


def _search(content: bytes, lost: list[int], forms: _Forms) -> tuple[bytes, list[int]]:
    """Look for lost pieces in order, in each form; return the content without those that are there, and the others."""
    for form in forms:
        todo = [number for number in lost if number in form]
        places = locate(content, [form[number] for number in todo])
        there = {number for number, spans in zip(todo, places, strict=True) if spans}
        content, lost = _without(content, chain.from_iterable(places)), [one for one in lost if one not in there]
    return content, lost


def _in_a_row(content: bytes, pieces: list[bytes]) -> list[LineSpan] | None:
    """Return where the pieces are if each follows the one before without anything between, None if one does not."""
    spans, at = [], 0
    for piece in pieces:
        if not content.startswith(piece, at):
            return None
        spans.append(LineSpan(at, at + len(piece)))
        at += len(piece)
    return spans


class _LineIndex:
    """Where each line of a content begins, so that finding one takes no longer in a long content."""

    def __init__(self, content: bytes) -> None:
        self.content = content if content.endswith(b"\n") else content + b"\n"
        self._offsets: dict[bytes, list[int]] = {}
        at = 0
        for line in content.split(b"\n"):
            self._offsets.setdefault(line, []).append(at)
            at += len(line) + 1

    def only(self, line: bytes) -> int:
        """Return where a line is that is there once, -1 for any other."""
        offsets = self._offsets.get(line, ())
        return offsets[0] if len(offsets) == 1 else -1

    def find(self, line: bytes, at: int, limit: int) -> Iterator[int]:
        """Yield where a line is between two offsets."""
        offsets = self._offsets.get(line, [])
        for number in range(bisect_left(offsets, at), len(offsets)):
            if offsets[number] + len(line) >= limit:
                return
            yield offsets[number]

    def is_at(self, piece: bytes, start: int) -> bool:
        """Return whether a piece is there, from the beginning of a line."""
        return self.content.startswith(piece, start) and self.content[max(start - 1, 0) : start] in {b"", b"\n"}

    def rarest(self, piece: bytes) -> tuple[bytes, int]:
        """Return the line of a piece that is there least often, blank ones apart, and its place in the piece."""
        lines = piece.split(b"\n")
        rarity = {number: len(self._offsets.get(line, ())) for number, line in enumerate(lines) if line}
        number = min(rarity, key=rarity.__getitem__, default=0)
        return lines[number], sum(len(line) + 1 for line in lines[:number])


def _between_anchors(content: bytes, pieces: list[bytes]) -> list[list[LineSpan]]:
    lines = _LineIndex(content)
    anchors = _anchors(lines, pieces)
    spans: list[list[LineSpan]] = []
    at = passed = 0
    for number, piece in enumerate(pieces):
        while passed < len(anchors) and anchors[passed][0] <= number:
            passed += 1
        limit = anchors[passed][1] if passed < len(anchors) else len(lines.content)
        span = _find(lines, piece, at, limit)
        spans.append(span)
        at = span[-1].end if span else at
    return spans


def _anchors(lines: _LineIndex, pieces: list[bytes]) -> list[tuple[int, int]]:
    """Return pieces with a line that is in no other piece and once in the content: number and offset, both rising."""
    longest = [max(piece.split(b"\n"), key=len) for piece in pieces]
    owners = Counter(longest)
    unique = [(number, lines.only(line)) for number, line in enumerate(longest) if line.strip() and owners[line] == 1]
    return _rising([pair for pair in unique if pair[1] >= 0])


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of the pairs whose second numbers rise."""
    ends: list[int] = []  # the lowest last number of a part of each length
    last: list[int] = []  # the index of its pair
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        length = bisect_left(ends, value)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [value], [index]
    found, index = [], last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _find(lines: _LineIndex, piece: bytes, at: int, limit: int) -> list[LineSpan]:
    """Find a piece as a whole, or line by line."""
    line, before = lines.rarest(piece)
    for found in lines.find(line, at + before, limit):
        start = found - before
        if start + len(piece) <= limit and lines.is_at(piece, start):
            return [LineSpan(start, start + len(piece))]
    spans: list[LineSpan] = []
    for line in filter(None, piece.split(b"\n")):
        offset = next(lines.find(line, at, limit), -1)
        if offset < 0:
            return []
        at = offset + len(line) + 1
        spans.append(LineSpan(offset, at))
    return spans


def _without(content: bytes, spans: Iterable[LineSpan]) -> bytes:
    return b"\n".join(_gaps(content, spans))


def _gaps(content: bytes, spans: Iterable[LineSpan]) -> Iterator[bytes]:
    at = 0
    for start, end in spans:
        yield content[at:start]
        at = end
    yield content[at:]
