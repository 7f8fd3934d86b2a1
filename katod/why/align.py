"""Which lines of one text are those of another: an alignment by lines that occur once. Pure.

Lines that occur once in both, and in the same order, are anchors. From there, and from both ends, the lines around them
are compared one by one; between two anchors, a line counts as occurring once if it does so there. Indentation does not
count. What a shortest difference would pair by chance (brackets, blank lines) stays unpaired, unless it is beside
something that is not.
"""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from katod.edits.lines import HashedLine

NOWHERE: Final = -1
UNCLEAR: Final = -2  # it may be one of several, of too many
_MOST_COMPARED: Final = 30_000  # pairs of equal lines
Lines = Sequence[HashedLine]


class _Gap(NamedTuple):
    """What is not compared yet: from `a` to `b` in the old text, from `c` to `d` in the new one."""

    a: int
    b: int
    c: int
    d: int


def align(old: Lines, new: Lines, *, to_the_end: bool = False) -> list[int]:
    """Return for each new line the number of the old line that it is, or NOWHERE; the numbers rise.

    With `to_the_end`, what is between anchors is compared as a shortest difference does: of the two texts it is known
    that one was made of the other in one go. Where that would take too long, a line that may be an old one is UNCLEAR.
    """
    found = [NOWHERE] * len(new)
    gaps = [_Gap(0, len(old), 0, len(new))]
    while gaps:
        gap = _after_beginning(old, new, found, gaps.pop())
        if not to_the_end:
            gap = _before_end(old, new, found, gap)
        if gap.a == gap.b or gap.c == gap.d:
            continue
        anchors = _anchors(old, new, gap)
        gaps += _between(anchors, gap)
        if to_the_end and not anchors:
            _pair_blocks(old, new, found, gap)
    return found


def _after_beginning(old: Lines, new: Lines, found: list[int], gap: _Gap) -> _Gap:
    """Pair the equal lines with which a gap begins; return the rest of it."""
    a, b, c, d = gap
    while a < b and c < d and old[a].unindented == new[c].unindented:
        found[c] = a
        a, c = a + 1, c + 1
    return _Gap(a, b, c, d)


def _before_end(old: Lines, new: Lines, found: list[int], gap: _Gap) -> _Gap:
    """Pair the equal lines with which a gap ends; return the rest of it."""
    a, b, c, d = gap
    while a < b and c < d and old[b - 1].unindented == new[d - 1].unindented:
        b, d = b - 1, d - 1
        found[d] = b
    return _Gap(a, b, c, d)


def _pair_blocks(old: Lines, new: Lines, found: list[int], gap: _Gap) -> None:
    """Pair the longest equal blocks of a gap, of several the first: what was added more often stands behind it."""
    ours, theirs = ([line.unindented for line in lines] for lines in (old[gap.a : gap.b], new[gap.c : gap.d]))
    here, there = Counter(ours), Counter(theirs)
    if sum(count * there[line] for line, count in here.items()) > _MOST_COMPARED:
        found[gap.c : gap.d] = [UNCLEAR if line in here else NOWHERE for line in theirs]
        return
    for a, c, size in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        found[gap.c + c : gap.c + c + size] = range(gap.a + a, gap.a + a + size)


def _anchors(old: Lines, new: Lines, gap: _Gap) -> list[tuple[int, int]]:
    """Return the lines that occur once on both sides of a gap: of those in another order, the ones that tell most."""
    ours, theirs = _once(old, gap.a, gap.b), _once(new, gap.c, gap.d)
    pairs = [(at, theirs[line]) for line, at in ours.items() if line in theirs]
    return heaviest_rising([(at, n, old[at].weight) for at, n in pairs])


def _once(lines: Lines, first: int, last: int) -> dict[int, int]:
    """Return where the telling lines are that occur once."""
    places: dict[int, int] = {}
    for at in range(first, last):
        if lines[at].is_distinctive:
            places[lines[at].unindented] = NOWHERE if lines[at].unindented in places else at
    return {line: at for line, at in places.items() if at != NOWHERE}


def heaviest_rising(rows: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of which the second numbers rise as the first ones do, and whose weights are most in sum.

    A row is a pair and its weight; the first numbers rise, and all numbers differ.
    """
    rank = {second: n for n, second in enumerate(sorted(second for _, second, _ in rows), 1)}
    best = [(0, NOWHERE)] * (len(rows) + 1)  # a Fenwick tree: of all ends up to a rank, the heaviest sum and its row
    before: list[int] = []
    for number, (_, second, weight) in enumerate(rows):
        at, found = rank[second] - 1, (0, NOWHERE)
        while at:
            found, at = max(found, best[at]), at & at - 1
        before.append(found[1])
        at, mine = rank[second], (found[0] + weight, number)
        while at <= len(rows):
            best[at] = max(best[at], mine)
            at += at & -at
    end = max(best)[1]
    chosen = list[tuple[int, int]]()
    while end != NOWHERE:
        chosen.append(rows[end][:2])
        end = before[end]
    return chosen[::-1]


def _between(anchors: list[tuple[int, int]], gap: _Gap) -> list[_Gap]:
    """Return what is between the anchors: each begins a gap, so that it is paired there."""
    if not anchors:
        return []
    starts = [(gap.a, gap.c), *anchors]
    return [_Gap(a, b, c, d) for (a, c), (b, d) in zip(starts, [*anchors, (gap.b, gap.d)], strict=True)]
