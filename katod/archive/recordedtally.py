"""Which parts of a session the user had recorded: other agents get these, and nothing else. Pure."""

from collections.abc import Container, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from katod.archive.manifest import RecordedParts
from katod.archive.tally import ExportedTexts
from katod.events import Event
from katod.formats.lines import Lines
from katod.metadata import Replay, SessionMetadata
from katod.model import Tools
from katod.record.ranges import RangePrinter
from katod.record.stream import DISTINCTIVE
from katod.store.rows import OutputRow

_ORDER: Final[tuple[Tools, ...]] = ("none", "summary", "full")
_Part = tuple[int, str, int, str]  # number and id of the first event, and of the last one
_Place = tuple[int, int]  # the number of a range, and of a known part
KnownParts = tuple[Sequence[tuple[str, str]], ExportedTexts | None]  # what a list noted: parts, and what was exported


def name_of(output: OutputRow) -> str:
    """Return what a recording is called in lists that others read: it says neither where it is nor what it is of."""
    [begin, *_] = output.ranges or (None,)
    what = repr((output.id, begin and (begin.start, begin.start_time)))
    return blake2b(what.encode("utf-8", "replace"), digest_size=8).hexdigest()


class RecordedTally:
    """Notes which events are within recordings while they pass.

    Of those that are `unread`, by their ids, nothing counts but what is in `known` parts as well, and of these what an
    export had. What is `provisional`, by its id, is in no transcript yet: no part begins or ends with it.
    """

    def __init__(
        self,
        outputs: Sequence[OutputRow],
        unread: Container[int] = (),
        known: KnownParts = ((), None),
        provisional: Container[str] = (),
    ) -> None:
        self._outputs = outputs
        self._followed = [_FollowedRanges(each, known if each.id in unread else None) for each in outputs]
        self._provisional = provisional
        self._number = 0

    def over(self, events: Replay) -> Iterator[tuple[Event, SessionMetadata]]:
        """Yield the events."""
        if not self._followed:
            yield from events
            return
        for event, metadata in events:
            self._number += 1
            for one in self._followed:
                one.take(self._number, event, metadata, is_provisional=event.id in self._provisional)
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

    def __init__(self, output: OutputRow, known: KnownParts | None = None) -> None:
        self.name = name_of(output)
        self._printer = RangePrinter("jsonl", output.options, output.ranges, printer=_Silent())
        self._parts: list[tuple[_Place, _Part]] = []
        self._at: _Place | None = None  # where the last event was
        self._known = _KnownRanges(*known) if known is not None else None

    def take(self, number: int, event: Event, metadata: SessionMetadata, *, is_provisional: bool = False) -> None:
        """Take the next event."""
        of_range, look = self._printer.place(event), self._known.look(event) if self._known else _ALL
        self._printer.take(event, metadata)
        place = None if of_range is None or look.part is None else (of_range, look.part)
        if place is not None and look.counts and not is_provisional:
            first = self._parts.pop()[1][:2] if place == self._at else (number, event.id)
            self._parts.append((place, (*first, number, event.id)))
        elif place != self._at:
            place = None
        self._at = place

    def parts(self) -> list[_Part]:
        """Return the parts so far.

        A range of which the end did not come is none: the agent has dropped its records, and what follows is not of it.
        """
        printer = self._printer
        is_lost = printer.active and bool(printer.ranges[printer.index].end or printer.ranges[printer.index].until)
        lost, unknown = printer.index if is_lost else None, self._known.lost if self._known else ()
        return [part for (of_range, known), part in self._parts if of_range != lost and known not in unknown]


class _Look(NamedTuple):
    """In which known part an event is, if it is in one, and whether it counts: no part begins or ends with others."""

    part: int | None
    counts: bool = True


_ALL: Final = _Look(0)


class _KnownRanges:
    """Parts of a session that were noted before, while its events pass, and what was exported then.

    What is new among the messages of a part is in none. An end that does not come is where the last message was that
    was exported before it; if that is not known, the part is lost.
    """

    def __init__(self, parts: Iterable[tuple[str, str]], texts: ExportedTexts | None) -> None:
        self._parts = list(parts)
        self._firsts = {first: number for number, (first, _) in enumerate(self._parts)}
        self._texts = texts if texts is not None and texts.is_comparable else None
        self._open: int | None = None  # the part that the last event was in, if that goes on
        self._had: frozenset[bytes] = frozenset()  # what was exported of it
        self._is_bounded = False
        self._is_within = True  # whether the last message was exported
        self._lost = set[int]()

    @property
    def lost(self) -> set[int]:
        """The parts that are lost."""
        return self._lost | ({self._open} if self._open is not None and not self._is_bounded else set())

    def look(self, event: Event) -> _Look:
        """Return where the next event is."""
        is_first = event.id in self._firsts
        if is_first:
            self._begin(self._firsts[event.id])
        number = self._open
        if number is None:
            return _Look(None)
        is_last = event.id == self._parts[number][1]
        if is_last:
            self._open = None
        if self._texts is None:
            return _Look(number)
        if event.kind in DISTINCTIVE:
            self._is_within = self._texts.hash_of(event) in self._had
            return _Look(number if self._is_within else None)
        return _Look(number if self._is_within else None, is_first or is_last)

    def _begin(self, number: int) -> None:
        self._lost = self.lost
        self._open, self._is_within, self._is_bounded = number, True, False
        if self._texts is not None:
            self._had, self._is_bounded = self._texts.between(*self._parts[number])


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
