"""From one version of a file to the next: which lines keep the edit that wrote them. Pure.

A line keeps it if it is still the same, moved or indented. Of an edit of which little is left, nothing is said any more
but where it cannot be chance. Nor is anything said of brackets and blank lines that are not beside a telling line of
their edit.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final

from katod.edits.edits import Cause, LineChange
from katod.edits.lines import HashedLine
from katod.why.align import NOWHERE, align
from katod.why.rows import LineOrigin, Rows, TracedLine, replaced

_KEPT: Final = 2 / 3  # of a file that is written as a whole: if fewer lines are kept, only a version's are not new
_LEFT: Final = 1 / 2  # of the telling lines of an edit, or of a file
# How many letters and digits lines have that are not together by chance: in a file that was replaced by another one, in
# one that was not, where they were moved together, and where they are of an edit whose place is not known.
_SURE: Final = 120
_LIKELY: Final = 20
_MOVED: Final = 30
MUCH: Final = 60


def carried(before: Rows, lines: Sequence[HashedLine]) -> list[TracedLine]:
    """Return the rows of the next version, each line with the origin that it had."""
    pairs = _pairs(before, lines, _MOVED)
    return [
        TracedLine(line) if at == NOWHERE else before[at].in_version(line)
        for line, at in zip(lines, pairs, strict=True)
    ]


def written(before: Rows, cause: Cause, new: Sequence[HashedLine], version: Rows = ()) -> list[TracedLine]:
    """Return a file that is written as a whole, of which this edit wrote nothing that its last version had.

    If most of the file stays, it wrote nothing of that, either.
    """
    rows = replaced(before, LineChange(tuple(row.line for row in before), tuple(new)), cause)
    kept = sum(row.cause != cause for row in rows)
    if kept < _KEPT * max(len(before), len(new)):
        rows = [TracedLine(line, LineOrigin(cause, "exact")) for line in new]
    had = _pairs(version, new, _LIKELY)
    return [
        row if at == NOWHERE or row.cause != cause else version[at].in_version(row.line)
        for row, at in zip(rows, had, strict=True)
    ]


def _pairs(before: Rows, lines: Sequence[HashedLine], least: int) -> list[int]:
    """Return for each line which one it was, or NOWHERE; what was moved has so many letters and digits at least."""
    pairs = align([row.line for row in before], lines)
    _Moves(before, lines, pairs, least).pair()
    return pairs


class _Moves:
    """Pairs the lines that were moved: those that occur once among the others, with the equal ones around them."""

    def __init__(self, before: Rows, lines: Sequence[HashedLine], pairs: list[int], least: int) -> None:
        self._before = before
        self._lines = lines
        self._pairs = pairs
        self._least = least
        self._taken = set(pairs)

    def pair(self) -> None:
        """Add them to the pairs."""
        ours = _once((row.line, at) for at, row in enumerate(self._before) if at not in self._taken)
        theirs = _once((line, n) for n, line in enumerate(self._lines) if self._pairs[n] == NOWHERE)
        for line, n in theirs.items():
            if line in ours and self._is_same(n, ours[line]):
                self._pair_run(n, ours[line])

    def _is_same(self, n: int, at: int) -> bool:
        is_there = 0 <= at < len(self._before) and 0 <= n < len(self._lines)
        return (
            is_there
            and self._pairs[n] == NOWHERE
            and at not in self._taken
            and self._before[at].line.unindented == self._lines[n].unindented
        )

    def _pair_run(self, n: int, at: int) -> None:
        first = last = 0
        while self._is_same(n + first - 1, at + first - 1):
            first -= 1
        while self._is_same(n + last + 1, at + last + 1):
            last += 1
        steps = range(first, last + 1)
        if sum(self._lines[n + step].weight for step in steps) >= self._least:
            for step in steps:
                self._pairs[n + step] = at + step
                self._taken.add(at + step)


def _once(places: Iterable[tuple[HashedLine, int]]) -> dict[int, int]:
    """Return where the telling lines are that occur once."""
    found: dict[int, int] = {}
    for line, at in places:
        if line.is_distinctive:
            found[line.unindented] = NOWHERE if line.unindented in found else at
    return {line: at for line, at in found.items() if at != NOWHERE}


def surviving(before: Rows, after: Rows) -> tuple[list[TracedLine], list[list[TracedLine]]]:
    """Return a version without lines that have their origins by chance, and the lines of each edit that has none left.

    These may be in a later version: that of another branch, or of a clock that is wrong.
    """
    had, has = _telling(before), _telling(after)
    doubtful = {cause for cause, count in had.items() if has[cause] < count * _LEFT}
    lost = {cause: list[TracedLine]() for cause in doubtful if not has[cause]}
    for row in before if lost else ():
        if row.cause in lost:
            lost[row.cause].append(row)
    return list(_without_chance(before, after, doubtful)) if doubtful else list(after), list(lost.values())


def _telling(rows: Iterable[TracedLine]) -> Counter[Cause]:
    """Count the telling lines of each edit."""
    return Counter(row.cause for row in rows if row.cause is not None and row.line.is_distinctive)


def _without_chance(before: Rows, after: Rows, doubtful: set[Cause]) -> Iterator[TracedLine]:
    counts = Counter(row.line.unindented for row in after)
    replaced = _replaced(before, counts, doubtful)
    for cause, group in groupby(after, key=lambda row: row.cause):
        run = list(group)
        if cause not in doubtful or _weight(run) >= _SURE:
            yield from run
        elif cause in replaced:
            yield from map(TracedLine.unexplained, run)
        else:
            yield from (row if _is_likely(row, counts) else row.unexplained() for row in run)


def _weight(run: Rows) -> int:
    return sum(row.line.weight for row in run if row.line.is_distinctive)


def _is_likely(row: TracedLine, counts: Counter[int]) -> bool:
    """Return whether a line is hardly there by chance, in a file of which the rest is still there."""
    return row.line.weight >= _LIKELY and counts[row.line.unindented] == 1


def _replaced(before: Iterable[TracedLine], now: Container[int], causes: Iterable[Cause]) -> set[Cause]:
    """Return for which edits most of what is not theirs is gone: the file is another one, with some lines in common."""
    telling = [row for row in before if row.line.is_distinctive]
    had = Counter(row.cause for row in telling)
    has = Counter(row.cause for row in telling if row.line.unindented in now)
    return {cause for cause in causes if has.total() - has[cause] < max(1, (had.total() - had[cause]) * _LEFT)}


def adopted(part: Rows, rows: Rows, is_new: Sequence[bool], *, is_late: bool) -> list[TracedLine] | None:
    """Return a version whose new lines have the origins of a part that waits, None if too little of that is there.

    What is there has to be together, and to be all of it, or so much that somebody else hardly wrote the same; of a
    part that is late, only much counts.
    """
    least = _SURE if is_late else min(MUCH, max(_LIKELY, _told(part)))
    pairs = align([row.line for row in part], [row.line for row in rows])
    runs = [run for run in _runs(pairs, rows, is_new) if _told(part[pairs[n]] for n in run) >= least]
    done = list(rows)
    for n in chain.from_iterable(runs):
        done[n] = part[pairs[n]].in_version(rows[n].line)
    return done if runs else None


def _told(rows: Iterable[TracedLine]) -> int:
    """Return how many letters and digits the lines of edits have."""
    return sum(row.line.weight for row in rows if row.origin and row.line.is_distinctive)


def _runs(pairs: list[int], rows: Rows, is_new: Sequence[bool]) -> Iterator[list[int]]:
    """Yield the runs of new lines that nobody is known to have written, and that are together on both sides."""
    free = [n for n, at in enumerate(pairs) if at != NOWHERE and is_new[n] and rows[n].origin is None]
    for _, group in groupby(enumerate(free), key=lambda place: (place[1] - place[0], pairs[place[1]] - place[1])):
        yield [n for _, n in group]


def without_isolated(rows: Rows) -> list[TracedLine]:
    """Return rows without origins where lines tell nothing, and no telling line of their edit is beside them."""
    done = list[TracedLine]()
    for cause, group in groupby(rows, key=lambda row: row.cause):
        run = list(group)
        is_told = cause is not None and any(row.line.is_distinctive for row in run)
        done += run if is_told else [row.unexplained() for row in run]
    return done
