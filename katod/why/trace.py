"""Plays recorded edits forward over the versions of a file: which of them last wrote each line. Pure.

An edit is applied where its old lines are. If they are nowhere in the file as it was left, the file is taken as it was
in the last version: what was done since was thrown away. If they are not there either, the edit waits, as it was made
on lines that are not known, until a version has what it wrote.
"""

from collections.abc import Sequence
from typing import Final

from katod.edits.edits import Cause, Edit, LineChange
from katod.edits.lines import HashedLine
from katod.why.align import NOWHERE, align
from katod.why.carry import adopted, carried, surviving, without_lonely
from katod.why.rows import TracedLine, applied, replaced, written

_MOST_WAITING: Final = 256
Part = list[TracedLine]


class Trace:
    """One file while its edits and versions pass, in the order of time."""

    def __init__(self) -> None:
        self.rows: list[TracedLine] = []
        self._version: list[TracedLine] = []  # as the last version was
        self._since: list[Edit] = []  # the edits after it
        self._waiting: list[Part] = []  # what edits wrote that no version has yet

    def edit(self, edit: Edit) -> None:
        """Take an edit."""
        for change in edit.changes:
            self._change(edit.cause, change)
        self._since.append(edit)

    def _change(self, cause: Cause, change: LineChange) -> None:
        if not change.old:
            self.rows = written(self.rows, cause, change.new)
        elif (rows := applied(self.rows, cause, change)) is not None:
            self.rows = rows
        elif self._since and (rows := applied(self._version, cause, change)) is not None:
            self._throw_away()
            self.rows = rows
        elif not self._change_waiting(cause, change):
            self._wait(cause, change)

    def _throw_away(self) -> None:
        """Note that the file was reset to its last version; another one may have what edits wrote since."""
        for edit in self._since:
            for change in edit.changes:
                self._wait(edit.cause, change)
        self._since = []

    def _wait(self, cause: Cause, change: LineChange) -> None:
        self._waiting.append(replaced(list(map(TracedLine, change.old)), change, cause))

    def _change_waiting(self, cause: Cause, change: LineChange) -> bool:
        for number, part in enumerate(self._waiting):
            if (rows := applied(part, cause, change)) is not None:
                self._waiting[number] = rows
                return True
        return False

    def version(self, lines: Sequence[HashedLine]) -> None:
        """Take the file as it is in a version."""
        rows = carried(self.rows, lines)
        before = align([row.line for row in self._version], lines)
        is_new = [row.origin is None and at == NOWHERE for row, at in zip(rows, before, strict=True)]
        rows, lost = surviving(self.rows, rows)
        waiting = []
        for part in [*self._waiting, *lost]:
            found = adopted(part, rows, is_new)
            if found is None:
                waiting.append(part)
            else:
                rows = found
        self._waiting = waiting[-_MOST_WAITING:]
        self.rows = self._version = without_lonely(rows)
        self._since = []
