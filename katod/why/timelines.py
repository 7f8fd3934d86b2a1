"""Plays the edits of several work trees, each on its own: what is done in one is not done in the others. Pure.

Another work tree begins as the last version is when it is first edited. Its edits count here once a version contains
them: the file as it was left there, most of what was written there, or one edit as a whole, in one piece.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from katod.edits.edits import Cause, Edit
from katod.edits.lines import HashedLine
from katod.why.carry import carried
from katod.why.rows import TracedLine, filled
from katod.why.trace import Trace


class _MadeVersion(NamedTuple):
    """A version that was made of the file in another work tree, with the origins from there; perhaps just as it is."""

    rows: list[TracedLine]
    is_same: bool


class _OtherTree:
    """One file in another work tree: as it was left there and, if versions were made since, as the last of them is.

    A version may have been made there, or checked out. Whether it was, an edit says that fits only one of the two, and
    a version that is just what became of one of them.
    """

    def __init__(self, here: Trace) -> None:
        self._traces = [here.forked()]
        self._is_behind = False  # a version was made since the last edit

    def edit(self, edit: Edit, here: Trace) -> None:
        """Take an edit of this tree."""
        if self._is_behind:
            self._traces = [self._traces[0], self._traces[0].brought_to(here)]
            self._is_behind = False
        self._traces = [trace for trace in self._traces if trace.fits(edit)] or self._traces
        for trace in self._traces:
            trace.edit(edit)
        if edit.is_whole and len(self._traces) > 1:
            left, brought = self._traces
            self._traces = [brought.unless(edit.cause, left)]

    def made(self, lines: Sequence[HashedLine]) -> _MadeVersion | None:
        """Return a version that was made of the file here, None if it is not known to be."""
        traces = self._traces[::-1]
        for trace in traces:
            if trace.is_at(lines):
                return _MadeVersion(carried(trace.rows, lines), is_same=True)
        # It has edits since the last version here on either; only the file as it was left has those before, too.
        arrived = [rows for trace in traces if (rows := trace.arrived(lines))]
        return _MadeVersion(reduce(filled, arrived), is_same=False) if arrived else None

    def leave(self, lines: Sequence[HashedLine]) -> bool:
        """Note that a version was made of the file here; return whether it has what was written here."""
        del self._traces[1:]
        return self._traces[0].leave(lines)

    def hand_over(self, here: Trace) -> None:
        """Have what was written here since the last version wait for one in the work tree that is asked about."""
        self._is_behind = True
        first, *others = self._traces
        first.hand_over(here)
        for other in others:
            other.hand_over(Trace())


class Timelines:
    """One file in all work trees while its edits and versions pass, in the order of time."""

    def __init__(self) -> None:
        self._here = Trace()
        self._others: dict[str, _OtherTree] = {}
        self._whole = set[Cause]()  # of calls that wrote the whole file

    @property
    def rows(self) -> list[TracedLine]:
        """The file as it is in the work tree that is asked about."""
        return self._here.rows

    def edit(self, edit: Edit) -> None:
        """Take an edit of the work tree that it names."""
        if not edit.tree:
            self._here.edit(edit)
            return
        if edit.is_whole:
            self._whole.add(edit.cause)
        if edit.tree not in self._others:
            self._others[edit.tree] = _OtherTree(self._here)
        self._others[edit.tree].edit(edit, self._here)

    def version(self, lines: Sequence[HashedLine]) -> None:
        """Take the file as it is in a version."""
        made = self._made_elsewhere(lines)
        self._here.version(lines, made.rows if made else ())
        if made and made.is_same:
            # By a call that writes the whole file, it is not certain what of the versions before it was new.
            self._here.learn([row.unexplained() if row.cause in self._whole else row for row in made.rows])

    def _made_elsewhere(self, lines: Sequence[HashedLine]) -> _MadeVersion | None:
        """Return a version that was made in another work tree; what was written in the others waits for a later one."""
        found: _MadeVersion | None = None
        is_known = self._here.is_like_version(lines)
        for tree, other in list(self._others.items()):
            made = None if found or is_known else other.made(lines)
            is_done = made is not None and other.leave(lines)
            other.hand_over(self._here)
            if is_done:
                del self._others[tree]
            found = found or made
        return found

    def deleted(self) -> None:
        """Take the file as deleted: nothing of it comes back."""
        self._here.deleted()
        self._others.clear()
