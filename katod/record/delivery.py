"""Writes intents to their outputs: checks, appends, parks unwritable ones, completes those a crash cut short."""

import time
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from katod.agents.fields import decoded
from katod.backoff import pause
from katod.errors import OutputError
from katod.formats.markdown import asset_name
from katod.formats.registry import open_format
from katod.log import EventLog
from katod.model import Mark
from katod.record.ranges import head_metadata
from katod.record.session import LiveOutput
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow
from katod.write.output import Known, Place, append, complete, detect_change, make, save_asset

_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 300.0


class Delivery:
    """Knows how each output was left, and when a parked one is retried."""

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self._ledger = ledger
        self._log = log
        self._written: dict[int, OutputRow] = {}
        self._parked: dict[int, float] = {}
        self._foreign: set[int] = set()

    def check(self, output: LiveOutput) -> None:
        """Before anything is printed, adopt changes by others and print a mark about them."""
        row = output.row
        if row.intent is not None:
            return
        if row.id in self._foreign:
            self._foreign.discard(row.id)
            output.printer.interrupt("edited")
        try:
            seen = detect_change(_place(row), _known(row))
        except OutputError:
            return  # the append will fail for the same reason, and park it
        if seen.change == "same":
            return
        self._log.output_edited(str(row.path), seen.change)
        _adopt(row, seen.known)
        row.made = seen.change != "gone"
        output.printer.interrupt("edited" if seen.change == "edited" else "continued")

    def save_assets(self, output: LiveOutput) -> None:
        """Write attachments before the text that links to them. A failed one is logged; its link stays."""
        assets, output.assets = output.assets, []
        for media, data in assets:
            content = decoded(data)
            name = asset_name({"sha256": sha256(content).hexdigest(), "mediaType": media})
            try:
                save_asset(_place(output.row), output.row.options.assets, name, content)
            except OutputError as error:
                self._log.attachment_failed(str(error.path), error.what)

    def deliver(self, row: OutputRow) -> bool:
        """Append the intent of one output; on failure, park the output and return False."""
        if row.intent is None:
            return True
        try:
            self._make(row)
            known = append(_place(row), row.intent)
        except OutputError as error:
            self.park(row, error)
            return False
        self._wrote(row, known)
        return True

    def retry(self, row: OutputRow) -> bool:
        """Complete an intent that a failure or a crash may have left partly written; return whether it worked."""
        self._parked.pop(row.id, None)
        if row.intent is None:
            return True
        try:
            if detect_change(_place(row), _known(row)).change == "gone":
                self._recreate(row, row.intent)
            self._make(row)
            known, foreign = complete(_place(row), _known(row), row.intent, row.bounds)
        except OutputError as error:
            self.park(row, error)
            return False
        self._log.output_recovered(str(row.path), foreign=foreign)
        if foreign:
            self._foreign.add(row.id)
        if row.problem:
            self._log.output_resumed(str(row.path))
        self._wrote(row, known)
        return True

    def _make(self, row: OutputRow) -> None:
        """Create the file of a new output; the ledger knows it before anything is written to it."""
        if not row.ino:
            _adopt(row, make(_place(row)))
            with self._ledger.transaction():
                self._ledger.save_output(row)

    def _recreate(self, row: OutputRow, intent: bytes) -> None:
        """Continue an intent in a new file after the old one disappeared: after a head and a mark that says so."""
        if not row.committed:  # nothing had been written, and its creation had not reached the disk
            _adopt(row, Known())
            return
        printer = open_format(row.format, row.options)
        metadata = head_metadata(row)
        head = (printer.head(metadata, metadata.started) + printer.mark(Mark("continued"))).encode("utf-8", "replace")
        row.intent = head + intent
        row.bounds = [len(head), *(len(head) + end for end in row.bounds)]
        self._log.output_edited(str(row.path), "gone")
        _adopt(row, Known())

    def is_parked(self, output_id: int) -> bool:
        """Return whether an output is waiting to be retried."""
        return output_id in self._parked

    def unpark(self, output_id: int) -> None:
        """Retry no more: nothing of the output waits."""
        self._parked.pop(output_id, None)

    def forget(self, output_id: int) -> None:
        """Forget the state of an output whose step was undone; the ledger has the state before it."""
        self._parked.pop(output_id, None)
        self._written.pop(output_id, None)

    def due(self, now: float) -> list[int]:
        """Return the parked outputs that are due to be retried."""
        return [output_id for output_id, at in self._parked.items() if at <= now]

    def next_retry(self) -> float | None:
        """Return when (monotonic) the next parked output is retried, None if none is parked."""
        return min(self._parked.values(), default=None)

    @property
    def unsettled(self) -> bool:
        """Whether intents were written that are still open in the ledger."""
        return bool(self._written)

    def settle(self) -> None:
        """Close the intents that were written; the next step would do so, too."""
        if self._written:
            with self._ledger.transaction():
                for row in self._written.values():
                    self._ledger.save_output(row)
            self._written.clear()

    def saved(self, rows: Iterable[OutputRow]) -> None:
        """Note that the ledger has the current state of these rows."""
        for row in rows:
            self._written.pop(row.id, None)

    def _wrote(self, row: OutputRow, known: Known) -> None:
        _adopt(row, known)
        row.made, row.intent, row.bounds = True, None, []
        row.problem, row.attempts = "", 0
        self._parked.pop(row.id, None)
        self._written[row.id] = row

    def park(self, row: OutputRow, error: OutputError) -> None:
        """Retry an output later, at growing intervals."""
        wait = pause(row.attempts, first=_FIRST_RETRY, longest=_LONGEST_RETRY)
        row.attempts += 1
        row.problem = error.what
        self._parked[row.id] = time.monotonic() + wait
        self._log.output_parked(str(row.path), error.what, wait)


def _place(row: OutputRow) -> Place:
    return Place(row.root, row.parts)


def _known(row: OutputRow) -> Known:
    return Known(row.dev, row.ino, row.committed, row.tail)


def _adopt(row: OutputRow, known: Known) -> None:
    row.dev, row.ino, row.committed, row.tail = known
