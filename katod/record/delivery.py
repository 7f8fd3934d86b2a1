"""Writes intents to their outputs: checks, appends, parks unwritable ones, completes those a crash cut short."""

import os
import time
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from katod.agents.fields import decoded
from katod.backoff import pause
from katod.errors import OutputError, OutputReplaced
from katod.formats.pictures import asset_name
from katod.formats.registry import open_format
from katod.log import EventLog
from katod.model import Mark
from katod.record.news import News, Tell, tell_nobody
from katod.record.placed import adopt, known_of, place_of, without_names
from katod.record.ranges import head_metadata
from katod.record.session import LiveOutput
from katod.store.ledger import Ledger
from katod.store.rows import UNMARKED, OutputRow
from katod.write.moved import find_moved
from katod.write.output import (
    Comparison,
    Known,
    Place,
    append,
    complete,
    detect_change,
    make,
    owner_number,
    save_asset,
)  # fmt: skip
from katod.write.root import mark_root

_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 300.0
_SERIOUS: Final = 2  # attempts: after the first, an editor may just be saving the file
_MISSING: Final = "is missing: it may have been renamed or deleted"


class Delivery:
    """Knows how each output was left, and when a parked one is retried."""

    def __init__(self, ledger: Ledger, log: EventLog, tell: Tell = tell_nobody) -> None:
        self._ledger = ledger
        self._log = log
        self.tell = tell
        self._written: dict[int, OutputRow] = {}
        self._parked: dict[int, float] = {}
        self._foreign: set[int] = set()
        self._missed: dict[int, Literal["once", "gone"]] = {}  # outputs that were not at their path when last looked at
        self.directory: Path | None = None  # the configured output directory

    def check(self, output: LiveOutput) -> bool:
        """Before anything is printed, adopt changes by others and print a mark about them.

        Return False, with the output parked, if its file is missing: an editor may be about to replace it.
        """
        row = output.row
        if row.intent is not None:
            return True
        if row.id in self._foreign:
            self._foreign.discard(row.id)
            output.printer.interrupt("edited")
        try:
            seen = detect_change(place_of(row), known_of(row))
        except OutputError:
            return True  # the append will fail for the same reason, and park it
        if seen.change == "gone" and self._missed.pop(row.id, None) != "gone":
            self._miss(row)
            return False
        if seen.change != "same":
            self._adopt_change(row, seen)
            output.printer.interrupt("continued" if seen.change == "gone" else "edited")
        return True

    def _miss(self, row: OutputRow) -> None:
        """Park an output that is missing for the first time; after a moment it is looked for, whatever failed."""
        self._missed[row.id] = "once"
        self._park(row, OutputError(_MISSING, path=row.path), _FIRST_RETRY)

    def _adopt_change(self, row: OutputRow, seen: Comparison) -> None:
        self._log.output_edited(row.id, seen.change)
        adopt(row, seen.known)
        row.made = seen.change != "gone"
        row.reverted |= seen.change == "reverted"

    def save_assets(self, output: LiveOutput) -> None:
        """Write attachments before the text that links to them. A failed one is logged; its link stays."""
        assets, output.assets = output.assets, []
        for media, data in assets:
            content = decoded(data)
            name = asset_name({"sha256": sha256(content).hexdigest(), "mediaType": media})
            try:
                self._mark(output.row)
                save_asset(place_of(output.row), output.row.options.assets, name, content)
            except OutputError as error:
                self._log.attachment_failed(output.row.id, without_names(error.what, output.row))

    def deliver(self, row: OutputRow) -> bool:
        """Append the intent of one output; on failure, park the output and return False."""
        if row.intent is None:
            return True
        try:
            self._make(row)
            known = append(place_of(row), row.intent)
        except OutputReplaced:
            return self.retry(row)  # in the file that has the name now
        except OutputError as error:
            if self._has_new_directory(row):
                return self.retry(row)  # it may have been moved there
            self.park(row, error)
            return False
        self._wrote(row, known)
        return True

    def retry(self, row: OutputRow) -> bool:
        """Complete an intent that a failure or a crash may have left partly written; return whether it worked.

        An output that was missing before, and still is, is looked for; if it is nowhere, it is created again.
        """
        self._parked.pop(row.id, None)
        if row.intent is None and row.id not in self._missed:
            return True
        row.marker = row.marker or self._ledger.marker_of(row.root)  # its file may be older
        try:
            if not self._is_there(row) and not self._look_for(row):
                return False
            if row.intent is not None:
                self._complete(row, row.intent)
        except OutputError as error:
            self.park(row, error)
            return False
        return True

    def _complete(self, row: OutputRow, intent: bytes) -> None:
        """Write what the file lacks of an intent, in a new file if the old one is gone. Raises OutputError."""
        if self._missed.pop(row.id, None):
            intent = self._recreate(row, intent)
        self._make(row)
        known, foreign = complete(place_of(row), known_of(row), intent, row.bounds)
        self._log.output_recovered(row.id, foreign=foreign)
        if foreign:
            self._foreign.add(row.id)
        if row.problem:
            self._log.output_resumed(row.id)
            if row.attempts >= _SERIOUS:
                self.tell(News.of("unparked", row))
        self._wrote(row, known)

    def _is_there(self, row: OutputRow) -> bool:
        """Return whether an output is at its path. Raises OutputError if its disk is not mounted."""
        try:
            seen = detect_change(place_of(row), known_of(row))
        except OutputError:
            self._missed.pop(row.id, None)
            if not self._has_new_directory(row) or not self._follow(row):
                raise
            return True
        row.reverted |= seen.change == "reverted"
        if seen.change != "gone":
            self._missed.pop(row.id, None)
        return seen.change != "gone"

    def _has_new_directory(self, row: OutputRow) -> bool:
        """Return whether the directory of an output does not exist, and the settings name another one."""
        return row.root != self.directory and not os.path.isdir(row.root)

    def _look_for(self, row: OutputRow) -> bool:
        """Follow a missing output to where it was moved; return False if it was not missing before, and is parked."""
        if row.committed and row.id not in self._missed:
            self._miss(row)
            return False
        if self._follow(row):
            self._missed.pop(row.id, None)
        else:
            self._missed[row.id] = "gone"
        return True

    def _follow(self, row: OutputRow) -> bool:
        """Change the path of an output to where it was moved; return whether it was found."""
        is_ours = row.marker or row.root == self.directory
        directories = [Place(row.root, (), row.marker)] if is_ours else []
        if self.directory and self.directory != row.root and os.path.isdir(self.directory):
            marker = self._ledger.marker_of(self.directory) or mark_root(self.directory)
            directories.append(Place(self.directory, (), marker))
        found = find_moved(place_of(row), known_of(row), row.intent or b"", directories)
        if found is None or self._ledger.output_at(found.path) is not None:
            return False
        self._log.output_moved(row.id)
        row.root, row.path, row.marker = found.root, found.path, found.marker
        with self._ledger.transaction():
            self._ledger.save_output(row)
        return True

    def _mark(self, row: OutputRow) -> None:
        """Before a new output's first file, mark its root, if that was the output directory when it was planned.

        A known marker is never created again: without it, the directory may be the place where a disk is missing.
        """
        if row.marker in ("", UNMARKED):
            known = self._ledger.marker_of(row.root)
            row.marker = mark_root(row.root) if row.marker == UNMARKED and not known else known

    def _make(self, row: OutputRow) -> None:
        """Create the file of a new output; the ledger knows it before anything is written to it."""
        if not row.ino:
            self._mark(row)
            adopt(row, make(place_of(row), owner_number(self._ledger.name)))
            with self._ledger.transaction():
                self._ledger.save_output(row)

    def _recreate(self, row: OutputRow, intent: bytes) -> bytes:
        """Continue an intent in a new file after the old one disappeared: after a head and a mark that says so."""
        if row.committed:  # otherwise nothing had been written, and its creation had not reached the disk
            printer = open_format(row.format, row.options)
            metadata = head_metadata(row)
            text = printer.head(metadata, metadata.started) + printer.mark(Mark("continued"))
            head = text.encode("utf-8", "replace")
            row.intent = intent = head + intent
            row.bounds = [len(head), *(len(head) + end for end in row.bounds)]
            self._log.output_edited(row.id, "gone")
        adopt(row, Known())
        return intent

    def is_parked(self, output_id: int) -> bool:
        """Return whether an output is waiting to be retried."""
        return output_id in self._parked

    def unpark(self, output_id: int) -> None:
        """Retry no more: nothing of the output waits."""
        self._parked.pop(output_id, None)

    def forget(self, output_id: int) -> None:
        """Forget the state of an output whose step was undone; the ledger has the state before it."""
        self._parked.pop(output_id, None)
        self._missed.pop(output_id, None)
        self._written.pop(output_id, None)

    def forget_for_good(self, output_id: int) -> None:
        """Forget an output that the ledger no longer has: its number may be given to another one."""
        self.forget(output_id)
        self._foreign.discard(output_id)

    def due(self, now: float) -> list[int]:
        """Return the parked outputs that are due to be retried."""
        return [output_id for output_id, at in self._parked.items() if at <= now]

    def next_retry(self) -> float | None:
        """Return when (monotonic) the next parked output is retried, None if none is parked."""
        return min(self._parked.values(), default=None)

    def next_look(self) -> float | None:
        """Return when (monotonic) all outputs that were missed once can be looked for, None if there is none."""
        missed = (at for output_id, at in self._parked.items() if self._missed.get(output_id) == "once")
        return max(missed, default=None)

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
        adopt(row, known)
        row.made, row.intent, row.bounds = True, None, []
        row.problem, row.attempts = "", 0
        self._parked.pop(row.id, None)
        self._written[row.id] = row

    def park(self, row: OutputRow, error: OutputError) -> None:
        """Retry an output later, at growing intervals."""
        self._park(row, error, pause(row.attempts, first=_FIRST_RETRY, longest=_LONGEST_RETRY))

    def _park(self, row: OutputRow, error: OutputError, wait: float) -> None:
        row.attempts += 1
        row.problem = f"{error.what} ({error.hint})" if error.hint else error.what
        self._parked[row.id] = time.monotonic() + wait
        if row.attempts == _SERIOUS:
            self.tell(News.of("parked", row, row.problem))
        self._log.output_parked(row.id, without_names(error.what, row), wait)
