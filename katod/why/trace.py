"""Plays recorded edits forward over the versions of a file: which of them last wrote each line. Pure.

An edit is applied where its old lines are. If they are nowhere in the file as it was left, the file is taken as it was
in the last version: what was done since was thrown away. If they are not there either, the edit waits, as it was made
on lines that are not known, until a version has what it wrote. The later that is, the more of it has to be there.
"""

from collections import Counter
from collections.abc import Container, Sequence
from functools import cached_property
from itertools import compress
from typing import Final

from katod.edits.edits import Cause, Edit, LineChange
from katod.edits.lines import HashedLine
from katod.why.align import NOWHERE, align
from katod.why.carry import MUCH, adopted, carried, surviving, without_isolated, written
from katod.why.rows import Rows, TracedLine, applied, filled, replaced

_MOST_WAITING: Final = 64
_LEFT: Final = 1 / 2  # of the telling lines of an edit; it waits for a later version that has so few of them
_ARRIVED: Final = 3 / 4  # of the telling lines that were written in another work tree


class _Part:
    """What an edit wrote that no version has yet; it is late if it was thrown away, or a version did not have it."""

    def __init__(self, rows: list[TracedLine], *, is_late: bool = False) -> None:
        self.rows = rows
        self.is_late = is_late

    @cached_property
    def telling(self) -> set[int]:
        """The lines of the edit: whether a version has any of them costs less to say than which."""
        return {row.line.unindented for row in self.rows if row.origin and row.line.is_distinctive}


class Trace:
    """One file while its edits and versions pass, in the order of time."""

    def __init__(self) -> None:
        self.rows: list[TracedLine] = []
        self._version: list[TracedLine] = []  # as the last version was
        self._since: list[Edit] = []  # the edits after it
        self._handed = 0  # of these, those that wait in another work tree
        self._waiting: list[_Part] = []

    def edit(self, edit: Edit) -> None:
        """Take an edit."""
        if (rows := self._edited(self.rows, edit)) is not None:
            self.rows = rows
        elif self._since and (rows := self._edited(self._version, edit)) is not None:
            self._throw_away()
            self.rows = rows
        else:
            for change in edit.changes:
                self._change(edit.cause, change)
        self._since.append(edit)

    def fits(self, edit: Edit) -> bool:
        """Return whether all changes of an edit can be applied to the file as it is."""
        return self._edited(self.rows, edit) is not None

    def _change(self, cause: Cause, change: LineChange) -> None:
        if (rows := self._changed(self.rows, cause, change)) is not None:
            self.rows = rows
        elif not self._change_waiting(cause, change):
            self._wait(cause, change)

    def _edited(self, rows: list[TracedLine], edit: Edit) -> list[TracedLine] | None:
        """Return a file after an edit, None if not all of its changes can be applied."""
        for change in edit.changes:
            found = self._changed(rows, edit.cause, change)
            if found is None:
                return None
            rows = found
        return rows

    def _changed(self, rows: list[TracedLine], cause: Cause, change: LineChange) -> list[TracedLine] | None:
        if change.is_whole:
            return written(rows, cause, change.new, self._version)
        return applied(rows, cause, change)

    def _throw_away(self) -> None:
        """Note that the file was reset to its last version; another one may have what edits wrote since."""
        for edit in self._since:
            for change in edit.changes:
                self._wait(edit.cause, change, is_late=True)
        self._since, self._handed = [], 0

    def _wait(self, cause: Cause, change: LineChange, *, is_late: bool = False) -> None:
        self._waiting.append(_Part(replaced(list(map(TracedLine, change.old)), change, cause), is_late=is_late))
        del self._waiting[:-_MOST_WAITING]

    def _change_waiting(self, cause: Cause, change: LineChange) -> bool:
        for number, part in enumerate(self._waiting):
            if (rows := applied(part.rows, cause, change)) is not None:
                self._waiting[number] = _Part(rows, is_late=part.is_late)
                return True
        return False

    def version(self, lines: Sequence[HashedLine], made: Rows = ()) -> None:
        """Take the file as it is in a version; it may be known how it was made elsewhere."""
        rows = carried(self.rows, lines)
        before = align([row.line for row in self._version], lines)
        is_new = [row.origin is None and at == NOWHERE for row, at in zip(rows, before, strict=True)]
        rows, lost = surviving(self.rows, rows)
        rows = self._restored(rows, lines, before)
        rows = filled(rows, made, is_new) if made else rows
        self.rows = self._version = without_isolated(self._adopted(rows, is_new, lost))
        self._since = []

    def _adopted(
        self, rows: list[TracedLine], is_new: Sequence[bool], lost: Sequence[list[TracedLine]]
    ) -> list[TracedLine]:
        """Return a version with what it has of the parts that wait; what was lost in it waits from now on."""
        waiting, self._waiting = self._waiting, []
        fresh = {row.line.unindented for row, new in zip(rows, is_new, strict=True) if new}
        for part in [*waiting, *(_Part(one, is_late=True) for one in lost)]:
            is_any = not part.telling.isdisjoint(fresh)
            found = adopted(part.rows, rows, is_new, is_late=part.is_late) if is_any else None
            if found is None:
                part.is_late = True
                self._waiting.append(part)
            else:
                rows = found
        del self._waiting[:-_MOST_WAITING]
        return rows

    def forked(self) -> "Trace":
        """Return what is done to the file in another work tree from now on: it begins as the last version is."""
        other = Trace()
        other.rows = other._version = list(self._version)
        return other

    def brought_to(self, other: "Trace") -> "Trace":
        """Return the file as it is here if the last version of another trace was made of it, or was checked out."""
        brought = other.forked()
        unknown = {row.line.unindented for row in brought.rows if row.origin is None}
        if any(row.origin and row.line.is_distinctive and row.line.unindented in unknown for row in self.rows):
            rows, _ = surviving(self.rows, carried(self.rows, [row.line for row in brought.rows]))
            brought.learn(rows)
        return brought

    def unless(self, cause: Cause, other: "Trace") -> "Trace":
        """Return the same file, in which a call wrote only the lines that it wrote in another trace of it, too."""
        self.rows = [there if row.cause == cause else row for row, there in zip(self.rows, other.rows, strict=True)]
        return self

    def learn(self, rows: Rows) -> None:
        """Take the origins of the same lines from elsewhere where they are not known, just after a version."""
        self.rows = self._version = without_isolated(filled(self.rows, rows))

    def is_at(self, lines: Sequence[HashedLine]) -> bool:
        """Return whether the file is just like a version."""
        return _are_same(self.rows, lines)

    def is_like_version(self, lines: Sequence[HashedLine]) -> bool:
        """Return whether a version is just like the last one."""
        return _are_same(self._version, lines)

    def arrived(self, lines: Sequence[HashedLine]) -> list[TracedLine]:
        """Return a version that was made of the file as it is here, with origins; empty if it is not known to be.

        It was if most of what was written here is in it, and so much that somebody else hardly wrote the same.
        """
        causes = {edit.cause for edit in self._since}
        ours, there = _telling_of(causes, self.rows), {line.unindented for line in lines}
        if not _is_most(ours, [row for row in ours if row.line.unindented in there]):
            return []  # which costs less to say than where they are
        rows = carried(self.rows, lines)
        return rows if _is_most(ours, _telling_of(causes, rows)) else []

    def leave(self, lines: Sequence[HashedLine]) -> bool:
        """Forget the edits that a version has that was made of the file; return whether these are all.

        It may be the first of several: after a rebase, all of them are later than the edits.
        """
        there = {line.unindented for line in lines}
        wrote = Counter(row.cause for row in self.rows if row.line.is_distinctive)
        has = Counter(row.cause for row in self.rows if row.line.is_distinctive and row.line.unindented in there)
        left = [has[edit.cause] < wrote[edit.cause] * _LEFT for edit in self._since]
        self._handed = sum(left[: self._handed])
        self._since = list(compress(self._since, left))
        return not self._since

    def hand_over(self, other: "Trace") -> None:
        """Have what each edit wrote here wait for a version in another work tree, which it did not do before."""
        for cause in dict.fromkeys(edit.cause for edit in self._since[self._handed :]):
            self._waiting.append(_Part([row if row.cause == cause else row.unexplained() for row in self.rows]))
        other._waiting += self._waiting  # noqa: SLF001 - of the same class
        self._handed, self._waiting = len(self._since), []

    def _restored(self, rows: list[TracedLine], lines: Sequence[HashedLine], before: list[int]) -> list[TracedLine]:
        """Return a version in which lines of the last one that edits since had replaced have their origins again."""
        if not self._since or not self._version:
            return rows
        kept, _ = surviving(self._version, carried(self._version, lines))
        return filled(rows, kept, [at != NOWHERE for at in before])

    def deleted(self) -> None:
        """Take the file as deleted: nothing of it comes back."""
        self.rows, self._version, self._waiting, self._since = [], [], [], []


def _are_same(rows: Rows, lines: Sequence[HashedLine]) -> bool:
    return len(rows) == len(lines) and all(row.line.exact == line.exact for row, line in zip(rows, lines, strict=True))


def _is_most(ours: Rows, theirs: Rows) -> bool:
    return len(theirs) >= len(ours) * _ARRIVED and sum(row.line.weight for row in theirs) >= MUCH


def _telling_of(causes: Container[Cause | None], rows: Rows) -> list[TracedLine]:
    return [row for row in rows if row.cause in causes and row.line.is_distinctive]
