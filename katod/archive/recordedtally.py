"""Which parts of a session its person had recorded: so much of it, and no more, is for other agents. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from katod import events as ev
from katod.archive.manifest import WHOLE, RecordedParts
from katod.events import Event
from katod.formats.lines import Lines
from katod.metadata import Replay, SessionMetadata
from katod.record.ranges import RangePrinter
from katod.store.rows import OutputRow

# What says nothing of a conversation: it is recorded as a whole if only such events are outside of its recordings.
_BESIDE: Final = frozenset({ev.SESSION_START, ev.SESSION_END, ev.TURN_START, ev.TURN_END, ev.CONFIG_CHANGE})


class RecordedTally:
    """Notes which events are within recordings while they pass."""

    def __init__(self, outputs: Iterable[OutputRow]) -> None:
        self._printers = [_printer(output) for output in outputs]
        self._parts: list[tuple[str, str]] = []
        self._is_within = False  # whether the last event was
        self._is_whole = bool(self._printers)

    def over(self, events: Replay) -> Iterator[tuple[Event, SessionMetadata]]:
        """Yield the events."""
        if not self._printers:
            yield from events
            return
        for event, metadata in events:
            self._take(event, metadata)
            yield event, metadata

    @property
    def parts(self) -> RecordedParts:
        """The recorded parts of what has passed."""
        return WHOLE if self._is_whole and self._parts else tuple(self._parts)

    def _take(self, event: Event, metadata: SessionMetadata) -> None:
        within = [_has(printer, event, metadata) for printer in self._printers]  # each has to see each event
        is_within = any(within)
        if is_within:
            first = self._parts.pop()[0] if self._is_within else event.id
            self._parts.append((first, event.id))
        self._is_whole = self._is_whole and (is_within or event.kind in _BESIDE)
        self._is_within = is_within


def _printer(output: OutputRow) -> RangePrinter:
    return RangePrinter("jsonl", output.options, output.ranges, printer=_Silent())


def _has(printer: RangePrinter, event: Event, metadata: SessionMetadata) -> bool:
    is_within = printer.has(event)
    printer.take(event, metadata)
    return is_within


class _Silent(Lines):
    """Prints nothing."""

    def event(self, event: Event, metadata: SessionMetadata) -> str:  # noqa: ARG002 - the place of an event is all
        """Print nothing."""
        return ""
