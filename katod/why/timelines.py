"""Plays the edits of several work trees, each on its own: what is done in one is not done in the others. Pure.

Another work tree begins as the last version is when it is first edited. Its edits count here once a version contains
them: the file as it was left there, most of what was written there, or one edit as a whole, in one piece.
"""

from collections.abc import Sequence

from katod.edits.edits import Edit
from katod.edits.lines import HashedLine
from katod.why.rows import TracedLine
from katod.why.trace import Trace


class Timelines:
    """One file in all work trees while its edits and versions pass, in the order of time."""

    def __init__(self) -> None:
        self._here = Trace()
        self._others: dict[str, Trace] = {}

    @property
    def rows(self) -> list[TracedLine]:
        """The file as it is in the work tree that is asked about."""
        return self._here.rows

    def edit(self, edit: Edit) -> None:
        """Take an edit of the work tree that it names."""
        if not edit.tree:
            self._here.edit(edit)
            return
        if edit.tree not in self._others:
            self._others[edit.tree] = self._here.forked()
        self._others[edit.tree].edit(edit)

    def version(self, lines: Sequence[HashedLine]) -> None:
        """Take the file as it is in a version."""
        made: list[TracedLine] = []
        for tree, other in list(self._others.items()):
            if not made and (made := other.arrived(lines)):
                del self._others[tree]
            else:
                other.hand_over(self._here)
        self._here.version(lines, made)

    def deleted(self) -> None:
        """Take the file as deleted: nothing of it comes back."""
        self._here.deleted()
        self._others.clear()
