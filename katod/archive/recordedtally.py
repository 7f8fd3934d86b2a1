"""Which parts of a session the user had recorded: other agents get these, and nothing else. Pure."""

from collections.abc import Container, Iterable, Iterator, Sequence
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
    """Notes which events are within recordings while they pass.

    Of those that are `unread`, by their ids, nothing counts but what is in `known` parts as well.
    """

    def __init__(
        self, outputs: Sequence[OutputRow], unread: Container[int] = (), known: Sequence[tuple[str, str]] = ()
    ) -> None:
        self._outputs = outputs
        self._followed = [_FollowedRanges(each, known if each.id in unread else None) for each in outputs]
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

    def __init__(self, output: OutputRow, known: Sequence[tuple[str, str]] | None = None) -> None:
        self.name = name_of(output)
        self._printer = RangePrinter("jsonl", output.options, output.ranges, printer=_Silent())
        self._parts: list[_Part] = []
        self._is_within = False  # whether the last event was
        self._known = _KnownParts(known) if known is not None else None

    def take(self, number: int, event: Event, metadata: SessionMetadata) -> None:
        """Take the next event."""
        is_known = self._known is None or self._known.has(event)
        is_within = self._printer.has(event) and is_known
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
        is_lost |= self._known is not None and self._known.is_open
        return self._parts[:-1] if is_lost else self._parts


class _KnownParts:
    """Parts of a session that were noted before, while its events pass."""

    def __init__(self, parts: Iterable[tuple[str, str]]) -> None:
        self._ends = dict(parts)
        self._end = ""  # of the part that the last event was in, if that goes on

    @property
    def is_open(self) -> bool:
        """Whether the end of a part did not come."""
        return bool(self._end)

    def has(self, event: Event) -> bool:
        """Return whether the next event is in one of them."""
        end = self._end or self._ends.get(event.id, "")
        self._end = end if end != event.id else ""
        return bool(end)


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
