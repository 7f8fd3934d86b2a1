"""From the events of a session to the text of one output: its ranges, in its format. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.lines import Lines
from katod.formats.protocol import Format
from katod.formatspec import open_format
from katod.metadata import Replay, SessionMetadata
from katod.model import Mark, MarkKind, Options, Range, SessionKey
from katod.receipt import Counts, RangeReceipts, RecordTally
from katod.store.rows import OutputRow


class RangePrinter:
    """Takes every event of a session in order and prints those within the ranges of one output.

    A live recording and its export are identical because both run this code over the same ranges.
    """

    def __init__(
        self, format_name: str, options: Options, ranges: Sequence[Range], state: dict[str, Any] | None = None, *,
        printer: Format | None = None, with_head: bool = True,
    ) -> None:  # fmt: skip
        """Begin, or go on from a state; with a `printer`, the format is only that of the output."""
        state = state or {}
        self._format = printer or open_format(format_name, options, state.get("format"))
        self.ranges = ranges
        self.index: int = state.get("index", 0)
        self.active: bool = state.get("active", False)
        self.headed: bool = state.get("headed", False)
        self.receipts = RangeReceipts(state.get("since"))
        self._options = options
        self._with_head = with_head
        self._pending: str = state.get("pending", "")
        self.head_metadata: SessionMetadata | None = None
        if state.get("edited"):  # noted without a printer
            self.interrupt("edited")

    @classmethod
    def of(
        cls, row: OutputRow, state: dict[str, Any] | None, format_name: str = "", *, conversation: bool = False
    ) -> "RangePrinter":
        """Return the printer of an output, in its format or another, at the given state (None: at its beginning).

        Of the `conversation` alone: without head, and without what became of the agent's records.
        """
        options = replace(row.options, receipts=False) if conversation else row.options
        printer = cls(format_name or row.format, options, row.ranges, state, with_head=not conversation)
        printer.head_metadata = head_metadata(row)
        return printer

    def follow(self, ranges: Sequence[Range]) -> None:
        """Print these ranges from now on: one was added, or the last one has ended."""
        self.ranges = ranges

    def state(self) -> dict[str, Any]:
        """Return the position among the ranges and the format's state."""
        row: dict[str, Any] = {"index": self.index, "active": self.active, "headed": self.headed}
        if self._pending:
            row["pending"] = self._pending
        if self.receipts.since:
            row["since"] = self.receipts.since
        return row | {"format": self._format.state()}

    @property
    def done(self) -> bool:
        """Whether all ranges have been passed."""
        return not self.active and self.index >= len(self.ranges)

    def take(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the text of an event in this output, including marks."""
        text = self._end(metadata, event.time, is_past=True) if self._is_until(event) else ""
        if not self.active:
            now = self._next()
            if now is None or not _begins_with(now, event):
                return text + self.settle(event.id, metadata)
            text += self._begin(now, metadata, event.time)
        present = self.ranges[self.index]
        if present.mark_at == event.id:
            text += self._begun(present, metadata, event.time)
        if printed := self._format.event(event, metadata):
            text += self._head(metadata, event.time) + self._take_pending() + printed
        return text + self.settle(event.id, metadata, event.time)

    def has(self, event: Event) -> bool:
        """Return whether the event that is taken next is within a range."""
        return self.place(event) is not None

    def place(self, event: Event) -> int | None:
        """Return the number of the range that the event which is taken next is within, None if it is in none."""
        is_until = self._is_until(event)
        if self.active and not is_until:
            return self.index
        following = self.index + is_until
        return following if following < len(self.ranges) and _begins_with(self.ranges[following], event) else None

    def _is_until(self, event: Event) -> bool:
        return self.active and self.ranges[self.index].until == event.id

    def settle(self, event_id: str, metadata: SessionMetadata, time: str = "") -> str:
        """Return the marks of ranges that end at, or begin right after, the event that just passed."""
        text = ""
        if self.active and event_id and self.ranges[self.index].end == event_id:
            text = self._end(metadata, time)
        following = None if self.active else self._next()
        if following and following.start == event_id and not following.inclusive:
            text += self._begin(following, metadata, following.start_time or time)
            text += self.settle(event_id, metadata, time)
        return text

    def _end(self, metadata: SessionMetadata, time: str, *, is_past: bool = False) -> str:
        """Return what is below a range that ends with, or if it `is_past` before, the last event."""
        ended = self.ranges[self.index]
        self.active = False
        self.index += 1
        text = self._format.pause() + self._receipt(ended, metadata, is_past=is_past)
        text += self._mark(Mark(ended.end_mark, ended.end_time or time), metadata) if ended.end_mark else ""
        return text + (self._format.end() if self.done else "")

    def _receipt(self, ended: Range, metadata: SessionMetadata, *, is_past: bool) -> str:
        """Return the line that says what became of the records of a range, if the format has one."""
        if (tally := metadata.tally) is None:
            return ""
        payload = self.receipts.end(tally.before() if is_past else tally.up_to())
        if not payload or not self._options.receipts:
            return ""
        return self._format.event(_receipt_event(ended, metadata, payload), metadata)

    def interrupt(self, kind: MarkKind) -> None:
        """Print a mark before the next text: the file contains other text, or a part is missing."""
        self._pending = self._format.mark(Mark(kind))
        if kind == "continued":
            self.headed = False

    def release(self) -> str:
        """Return the pending text of the range that is being printed."""
        return self._format.pause() if self.active else ""

    def restored(self) -> str:
        """Return the mark above events that were missing and are printed again; the next one gets a heading."""
        return self._take_pending() + self._format.mark(Mark("restored"))

    def missing(self, metadata: SessionMetadata) -> str:
        """Return the mark of an output that ends before its last range does: the session no longer has the rest."""
        return self._head(metadata, "") + (self._take_pending() or self._format.mark(Mark("gap")))

    def _next(self) -> Range | None:
        return self.ranges[self.index] if self.index < len(self.ranges) else None

    def _begin(self, begun: Range, metadata: SessionMetadata, time: str) -> str:
        self.active = True
        if metadata.tally is not None:
            self.receipts.begin(metadata.tally, _counted(begun, metadata.tally))
        since = begun.start_time or time
        text = self._head(metadata, since)
        return text if begun.mark_at else text + self._begun(begun, metadata, since)

    def _begun(self, begun: Range, metadata: SessionMetadata, time: str) -> str:
        goes_on = self.index > 0 and self.ranges[self.index - 1].end_mark == "paused"
        kind: MarkKind = "resumed" if goes_on else "started"
        text = self._mark(Mark(kind, time, begun.switches), metadata) if begun.marked else ""
        return text + (self._mark(Mark("refused", text=begun.refused), metadata) if begun.refused else "")

    def _mark(self, mark: Mark, metadata: SessionMetadata) -> str:
        head = self._head(metadata, mark.time)
        printed = self._format.mark(mark)
        return head + self._take_pending() + printed if printed else head

    def _head(self, metadata: SessionMetadata, time: str) -> str:
        if self.headed:
            return ""
        self.headed = True
        head = self._format.head(self.head_metadata or metadata, time)
        return head if self._with_head else ""

    def _take_pending(self) -> str:
        text, self._pending = self._pending, ""
        return text


def _begins_with(following: Range, event: Event) -> bool:
    """Return whether a range begins with an event, not behind it or another one."""
    return not following.start or (following.inclusive and following.start == event.id)


def _counted(begun: Range, tally: RecordTally) -> Counts:
    """Return how many records there were before a range that begins at the last event, or after it."""
    if not begun.start:
        return {}
    return tally.before() if begun.inclusive else tally.up_to()


def _receipt_event(ended: Range, metadata: SessionMetadata, payload: dict[str, Any]) -> Event:
    key, start = metadata.key, metadata.start
    ref = SessionRef(key.agent, start.session or key.id, key.subagent, start.parent)
    return Event(f"{ended.end}:receipt", ev.RECEIPT, ref, payload, {}, metadata.time, "derived")


class _Events(Lines):
    """Keeps the events that a recording has: like JSONL, every one in its ranges, and nothing else."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def event(self, event: Event, _metadata: SessionMetadata) -> str:
        """Keep the event."""
        self._events.append(event)
        return ""

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        taken, self._events = self._events, []
        return taken


def recorded(row: OutputRow, events: Replay) -> Replay:
    """Yield the events of a session that are within the ranges of an output, with the title of the output."""
    within, title = _Events(), head_metadata(row).title
    printer = RangePrinter("jsonl", row.options, row.ranges, printer=within)
    for event, metadata in events:
        printer.take(event, metadata)
        for found in within.take():
            metadata.rename(title)
            yield found, metadata


def head_metadata(row: OutputRow) -> SessionMetadata:
    """Return the metadata for an output's head, fixed when the output was created."""
    return SessionMetadata(SessionKey(*row.head["key"]), row.head["metadata"])
