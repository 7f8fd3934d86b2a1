"""Finds what an output lacks of its recording: an editor may have saved an older copy over it."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from katod.agents import AGENTS
from katod.errors import OutputUnreadable, SourceError
from katod.events import RECEIPT
from katod.formats.chain import ChainHead
from katod.formats.eventlines import is_event
from katod.formats.redact.version import RULES_VERSION
from katod.formatspec import FORMATS, open_format
from katod.log import EventLog
from katod.model import Mark, SessionKey
from katod.record.compare import EventDifference, compare_events, compare_placed_events, missing, missing_lines
from katod.record.export import Stretch, render_recording, replay
from katod.record.output import chain_kept
from katod.record.outputfile import is_reverted
from katod.record.ranges import RangePrinter
from katod.record.reading import content_of
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, SourceRow


class Missing:
    """The events of a recording whose text is not in its output, or was changed there.

    One that was changed in JSONL is not appended again: it is there, under its id. If the output has all events as
    katod wrote them, what differs was not changed there, but in the session since.

    Each of the `pieces` is the text of one event. `receipt` says what became of the records of the session in the
    recording so far. What the output says of that may differ, and so may its head (front matter, title): they are no
    part of the conversation.

    Raises SourceError if the session files no longer have the recording, OutputUnreadable if the output cannot
    be read.
    """

    def __init__(self, row: OutputRow, key: SessionKey, sources: Iterable[SourceRow], log: EventLog) -> None:
        self._row = row
        self.key = key
        self._log = log
        self._stretches = [Stretch(source.path, source.identity, row.reached(source)) for source in sources]
        self._below: dict[int, bytes] = {}
        self._found = EventDifference([], [])
        self.written = content_of(row)
        self.content = self.written + (row.intent or b"")
        self.pieces, self.receipt = self._rendered(RangePrinter.of(row, None))
        self.is_exact = self.content == b"".join(self.pieces)  # no other text is between the pieces
        if not self.is_exact:
            self.pieces, _ = self._rendered(RangePrinter.of(row, None, conversation=True))
            self._found = self._missing(open_format(row.format, row.options).mark(Mark("restored")).strip().encode())

    @classmethod
    def of(cls, row: OutputRow, ledger: Ledger, log: EventLog) -> "Missing":
        """Return the missing text of one output in the ledger. Raises SourceError, OutputUnreadable."""
        return cls(row, ledger.session(row.session).key, ledger.sources_of(row.session), log)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the pieces that are missing or changed."""
        return sorted([*self._found.absent, *self._found.changed])

    @property
    def absent(self) -> list[int]:
        """Those of the pieces that can be appended again."""
        return self._found.absent

    @property
    def has_other_receipts(self) -> bool:
        """Whether nothing but what the output says of the agent's records differs."""
        return not self.is_exact and _without_receipts(self.content) == b"".join(self.pieces)

    @property
    def has_other_session(self) -> bool:
        """Whether an output in JSONL has exactly the events that katod wrote, and its session has others now."""
        events = [line for line in _without_receipts(self.content).splitlines(keepends=True) if is_event(line)]
        return self._is_as_written() and b"".join(events) != b"".join(self.pieces)

    def _is_as_written(self) -> bool:
        kept = chain_kept(self._row)
        if kept is None or kept.unchecked:
            return False
        return any(ChainHead().after(text).is_at(kept) for text in (self.content, self.written))

    def _rendered(self, printer: RangePrinter) -> tuple[list[bytes], dict[str, Any]]:
        """Return the text of each event of the recording, and what became of its records."""
        texts = render_recording(self._row, self.key, self._stretches, self._log, printer)
        return list(map(_encoded, texts)), printer.receipts.total()

    def _missing(self, mark: bytes) -> EventDifference:
        """Look for the pieces, given the mark above what is appended again, if there is one."""
        in_order = not self._row.restored
        if self._row.format == FORMATS["jsonl"].name:
            compare = compare_events if AGENTS[self.key.agent].nature.has_native_ids else compare_placed_events
            found = compare(self.content, self.pieces)
            return found._replace(changed=[]) if self._is_as_written() else found
        if not mark:
            return EventDifference(missing_lines(self.content, self.pieces, in_order=in_order), [])
        lost = missing(self.content, self.pieces, self._printed_below, mark=mark, in_order=in_order)
        return EventDifference(lost, [])

    def _printed_below(self, numbers: list[int]) -> dict[int, bytes]:
        """Return the text of some events as it is below a mark: whoever speaks is named again."""
        wanted, printer = frozenset(numbers), RangePrinter.of(self._row, None, conversation=True)
        for number, (event, metadata) in enumerate(replay(self.key, self._stretches, self._log, counts=True)):
            if number in wanted:
                state = deepcopy(printer.state())  # both printers change theirs
                interrupted = RangePrinter.of(self._row, state, conversation=True)
                interrupted.restored()
                self._below[number] = _encoded(interrupted.take(event, metadata))
            printer.take(event, metadata)
        return self._below

    def texts(self) -> Iterator[str]:
        """Yield the text of each absent event, with a heading where one that is not missing comes before it.

        Raises SourceError if they cannot be distinguished from events that other rules redacted.
        """
        if self._row.options.redact and self._row.options.rules != RULES_VERSION:
            raise SourceError("its secrets were redacted by an older set of rules", path=self._row.path)
        printed = [number for number, piece in enumerate(self.pieces) if piece]
        wanted = frozenset(self.absent)
        for before, number in zip([-1, *printed], printed, strict=False):
            if number in wanted:
                text = self.pieces[number] if before in wanted else self._below.get(number, self.pieces[number])
                yield text.decode()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _without_receipts(content: bytes) -> bytes:
    kind = b'"kind":"%b"' % RECEIPT.encode()
    return b"".join(line for line in content.splitlines(keepends=True) if kind not in line)


def count_missing(row: OutputRow, ledger: Ledger, log: EventLog) -> int | None:
    """Return how many events an output that may be an older copy lacks; None if that cannot be determined.

    Of any other output nothing is assumed to be missing: only `katod verify` compares it.
    """
    if not row.made or row.intent is not None or not (row.reverted or is_reverted(row)):
        return 0
    try:
        return len(Missing.of(row, ledger, log).absent)
    except (SourceError, OutputUnreadable):
        return None
