"""The lines of a file with the edits that wrote them, and what an edit does to them. Pure."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from katod.edits.edits import Cause, LineChange
from katod.edits.lines import HashedLine
from katod.why.align import NOWHERE, align

Status = Literal["exact", "followed"]


class LineOrigin(NamedTuple):
    """The edit that last wrote a line: the line is exactly as the edit wrote it, or its indentation was changed since.

    A line that was moved is exact; one that was written in another folder of the repository's name is followed.
    """

    cause: Cause
    status: Status


class TracedLine(NamedTuple):
    """A line of a file; without an origin, no recorded edit is known to have written it."""

    line: HashedLine
    origin: LineOrigin | None = None

    @property
    def cause(self) -> Cause | None:
        """What led to the edit that wrote it."""
        return self.origin.cause if self.origin else None

    def unexplained(self) -> "TracedLine":
        """Return the line without an origin."""
        return TracedLine(self.line)

    def in_version(self, line: HashedLine) -> "TracedLine":
        """Return what the line is in a later version: it is followed, if only its indentation changed."""
        if self.origin is None or self.line.exact == line.exact:
            return TracedLine(line, self.origin)
        return TracedLine(line, self.origin).as_followed()

    def as_followed(self) -> "TracedLine":
        """Return the line as one that is not exactly as its edit wrote it."""
        return self._replace(origin=self.origin and self.origin._replace(status="followed"))


Rows = Sequence[TracedLine]


def filled(rows: Rows, others: Rows, wanted: Sequence[bool] | None = None) -> list[TracedLine]:
    """Return the same lines, of which those wanted that have no origin have that of others; all are, if not said."""
    return [
        other if is_wanted and row.origin is None else row
        for row, other, is_wanted in zip(rows, others, wanted or [True] * len(rows), strict=True)
    ]


def applied(rows: Rows, cause: Cause, change: LineChange) -> list[TracedLine] | None:
    """Return a file after a change, None if the old lines are not in it, or it is not clear where."""
    places = _places(rows, change.old) if change.old else []
    if not places or (len(places) > 1 and not change.everywhere):
        return None
    size, done, at = len(change.old), list[TracedLine](), 0
    for place in places:
        if place >= at:
            done += [*rows[at:place], *replaced(rows[place : place + size], change, cause)]
            at = place + size
    return [*done, *rows[at:]]


def _places(rows: Rows, old: Sequence[HashedLine]) -> list[int]:
    """Return where the old lines are; of the first and the last one, the indentation may be missing."""
    last = len(old) - 1

    def is_at(at: int) -> bool:
        ends = rows[at].line.unindented == old[0].unindented and rows[at + last].line.unindented == old[last].unindented
        return ends and all(rows[at + n].line.exact == old[n].exact for n in range(1, last))

    return [at for at in range(len(rows) - last) if is_at(at)]


def replaced(before: Rows, change: LineChange, cause: Cause) -> list[TracedLine]:
    """Return the rows of new lines in the place of others: what the old and the new text have in common stays.

    The old text says what the agent left as it was; the file may be indented otherwise than it was known to be.
    """
    ends = {0, len(change.old) - 1}  # of these, the indentation may be missing

    def row(line: HashedLine, at: int) -> TracedLine:
        if at < 0:
            return TracedLine(line, LineOrigin(cause, "exact") if at == NOWHERE else None)
        return before[at] if at in ends else before[at].in_version(line)

    return [row(line, at) for line, at in zip(change.new, _common(change), strict=True)]


def _common(change: LineChange) -> list[int]:
    """Return for each new line the number of the old line that it is, or NOWHERE."""
    old, new = change.old, change.new
    pairs = align([_exactly(line) for line in old], [_exactly(line) for line in new], to_the_end=True)
    for n, at in ((0, 0), (len(new) - 1, len(old) - 1)):
        if new and old and pairs[n] == NOWHERE and old[at].unindented == new[n].unindented:
            pairs[n] = at
    return pairs


def _exactly(line: HashedLine) -> HashedLine:
    """Return a line for which its indentation counts."""
    return line._replace(unindented=line.exact)
