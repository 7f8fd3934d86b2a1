"""Plays the edits of a file over its versions, in the order of time."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from typing import NamedTuple

from katod.edits.edits import Edit
from katod.edits.lines import HashedLine, LineHasher
from katod.events import seconds
from katod.why.git import version_ends
from katod.why.rows import LineOrigin, Rows, TracedLine
from katod.why.target import AskedFile
from katod.why.timelines import Timelines

_Step = Edit | tuple[HashedLine, ...] | None  # what is done to a file; None: it is deleted
_VERSION, _EDIT = 0, 1  # at the end of its second, a version is first


class Run(NamedTuple):
    """Lines in a row that have the same origin, counted from 1; None if that is unknown."""

    first: int
    last: int
    origin: LineOrigin | None


def blame(file: AskedFile, edits: Iterable[Edit], hasher: LineHasher) -> list[TracedLine]:
    """Return the lines of a file, each with the edit that last wrote it. Raises GitError."""
    now = hasher.of(file.lines)
    made = sorted(filter(file.may_have, edits), key=lambda edit: seconds(edit.cause.time))
    if not made:
        return list(map(TracedLine, now))
    trace = Timelines()
    for step in _steps(made, _versions(file, made, hasher)):
        if step is None:
            trace.deleted()
        elif isinstance(step, Edit):
            trace.edit(step)
        else:
            trace.version(step)
    trace.version(now)
    return _certain(trace.rows, made)


def _certain(rows: Rows, edits: Iterable[Edit]) -> list[TracedLine]:
    """Return rows in which nothing is exact that was written in a folder of which only the name is known."""
    doubtful = {edit.cause for edit in edits if not edit.is_certain}
    return [row.as_followed() if row.cause in doubtful else row for row in rows]


class _Timed(NamedTuple):
    time: float
    kind: int
    step: _Step


def _steps(edits: Iterable[Edit], versions: Iterable[_Timed]) -> Iterator[_Step]:
    """Yield edits and versions, each in the order of time, in the order of time."""
    timed = (_Timed(seconds(edit.cause.time), _EDIT, edit) for edit in edits)
    yield from (one.step for one in merge(versions, timed, key=lambda one: one[:2]))


def _versions(file: AskedFile, edits: list[Edit], hasher: LineHasher) -> Iterator[_Timed]:
    """Yield the versions since the one before the first edit; what was before that has no say."""
    if file.repository is None:
        return
    times = version_ends(file.versions)
    first = max(bisect_left(times, seconds(edits[0].cause.time)) - 1, 0)
    needed = file.versions[first:]
    for time, version, content in zip(times[first:], needed, file.repository.contents(needed), strict=True):
        if not version.is_there:
            yield _Timed(time, _VERSION, None)
        elif content is not None:
            yield _Timed(time, _VERSION, hasher.lines(content.decode("utf-8", "replace")))


def runs(rows: Rows, numbers: Sequence[int]) -> Iterator[Run]:
    """Yield the runs of lines with the same origin among these lines, whose numbers rise."""
    places = enumerate(numbers)
    for (_, origin), group in groupby(places, key=lambda place: (place[1] - place[0], rows[place[1] - 1].origin)):
        found = [number for _, number in group]
        yield Run(found[0], found[-1], origin)
