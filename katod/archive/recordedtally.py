"""Which parts of a session the user had recorded: other agents get these, and nothing else. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final

from katod.archive.manifest import RecordedParts
from katod.events import Event
from katod.formats.lines import Lines
from katod.metadata import Replay, SessionMetadata
from katod.model import Tools
from katod.record.ranges import RangePrinter
from katod.store.rows import OutputRow

_ORDER: Final[tuple[Tools, ...]] = ("none", "summary", "full")
_Part = tuple[int, str, int, str]  # number and id of the first event, and of the last one


def name_of(output: OutputRow) -> str:
    """Return what a recording is called in lists that others read: it says neither where it is nor what it is of."""
    [begin, *_] = output.ranges or (None,)
    what = repr((output.id, begin and (begin.start, begin.start_time)))
    return blake2b(what.encode("utf-8", "replace"), digest_size=8).hexdigest()


class RecordedTally:
    """Notes which events are within recordings while they pass."""

    def __init__(self, outputs: Sequence[OutputRow]) -> None:
        self._outputs = outputs
        self._followed = [_FollowedRanges(output) for output in outputs]
        self._number = 0

    def over(self, events: Replay) -> Iterator[tuple[Event, SessionMetadata]]:
        """Yield the events."""
        if not self._followed:
            yield from events
            return
        for event, metadata in events:
            self._number += 1
            for one in self._followed:
                one.take(self._number, event, metadata)
            yield event, metadata

    @property
    def recorded(self) -> RecordedParts:
        """The recorded parts of what has passed."""
        found = [one for one in self._followed if one.parts()]
        if not found:
            return RecordedParts()
        united = _united(part for one in found for part in one.parts())
        parts = tuple((first, last) for _, first, _, last in united)
        tools, thinking = self._shown()
        return RecordedParts(parts, tools, thinking, tuple(sorted(one.name for one in found)))

    def _shown(self) -> tuple[Tools, bool]:
        """Return what each of the recordings shows of tools and thinking."""
        shown = [(output.options, each) for output in self._outputs for each in output.ranges]
        options = [given.with_switches(dict(each.switches)) for given, each in shown]
        return min((one.tools for one in options), key=_ORDER.index), all(one.thinking for one in options)


class _FollowedRanges:
    """The parts of a session that one recording has."""

    def __init__(self, output: OutputRow) -> None:
        self.name = name_of(output)
        self._printer = RangePrinter("jsonl", output.options, output.ranges, printer=_Silent())
        self._parts: list[_Part] = []
        self._is_within = False  # whether the last event was

    def take(self, number: int, event: Event, metadata: SessionMetadata) -> None:
        """Take the next event."""
        is_within = self._printer.has(event)
        self._printer.take(event, metadata)
        if is_within:
            first = self._parts.pop()[:2] if self._is_within else (number, event.id)
            self._parts.append((*first, number, event.id))
        self._is_within = is_within and self._printer.active

    def parts(self) -> list[_Part]:
        """Return the parts so far.

        A range of which the end did not come is none: the agent has dropped its records, and what follows is not of it.
        """
        printer = self._printer
        is_lost = printer.active and bool(printer.ranges[printer.index].end or printer.ranges[printer.index].until)
        return self._parts[:-1] if is_lost else self._parts


def _united(parts: Iterable[_Part]) -> list[_Part]:
    """Return the parts of several recordings, those that overlap or follow one another as one."""
    united: list[_Part] = []
    for part in sorted(parts):
        before = united[-1] if united else None
        if before is None or part[0] > before[2] + 1:
            united.append(part)
        elif part[2] > before[2]:
            united[-1] = (*before[:2], *part[2:])
    return united


class _Silent(Lines):
    """Prints nothing."""

    def event(self, event: Event, metadata: SessionMetadata) -> str:  # noqa: ARG002 - the place of an event is all
        """Print nothing."""
        return ""
