"""Which parts of a session its person had recorded: so much of it, and no more, is for other agents. Pure."""

from collections.abc import Iterable, Iterator, Sequence
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
        united = _united(part for one in self._followed for part in one.parts())
        if not united:
            return RecordedParts()
        parts = tuple((first, last) for _, first, _, last in united)
        shown = [(output.options, each) for output in self._outputs for each in output.ranges]
        options = [given.with_switches(dict(each.switches)) for given, each in shown]
        tools = min((one.tools for one in options), key=_ORDER.index)
        return RecordedParts(parts, tools, all(one.thinking for one in options))


class _FollowedRanges:
    """The parts of a session that one recording has."""

    def __init__(self, output: OutputRow) -> None:
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
