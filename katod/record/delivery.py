"""Writes intents to their outputs: checks, appends, parks unwritable ones, completes those a crash cut short."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from katod.backoff import pause
from katod.errors import AgentFailed, OutputError, OutputReplaced, SourceError, SourceUnusable, TargetRefused
from katod.formatspec import MARKDOWN, open_format
from katod.log import EventLog
from katod.model import Mark
from katod.record.export import Stretch, pictures_again
from katod.record.news import News, Tell, tell_nobody
from katod.record.output import Output
from katod.record.outputfile import compared, without_names
from katod.record.pictures import picture_file
from katod.record.ranges import head_metadata
from katod.store.ledger import Ledger
from katod.store.rows import UNMARKED, OutputRow
from katod.write.moved import Moved, find_moved
from katod.write.output import (
    ABSENT,
    Comparison,
    FileFingerprint,
    OutputPath,
    append,
    complete,
    make,
    owner_number,
    require_no_other,
    save_asset,
)  # fmt: skip
from katod.write.root import mark_root

_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 300.0
_SERIOUS: Final = 2  # attempts: after the first, an editor may just be saving the file
_MISSING: Final = "is missing: it may have been renamed or deleted"
_NAME_OF_ANOTHER: Final = "was given the name of another recording"


class Delivery:
    """Appends to the files of recordings; knows how each was left, and when a parked one is retried."""

    def __init__(self, ledger: Ledger, log: EventLog, tell: Tell = tell_nobody) -> None:
        self._ledger = ledger
        self._log = log
        self.tell = tell
        self._written: dict[Output, None] = {}  # those whose intent was written, and is still open in the ledger
        self._parked: dict[Output, float] = {}  # when (monotonic) each is retried
        self._directory: Path | None = None  # the configured output directory

    def use(self, directory: Path) -> None:
        """Look for outputs that were moved in this output directory from now on."""
        self._directory = directory

    def check(self, output: Output) -> bool:
        """Before anything is printed, adopt changes by others and print a mark about them.

        Return False, with the output parked, if its file is missing, or a different file has its name: an editor may be
        about to replace it, or a person may have renamed it.
        """
        if output.row.intent is not None:
            return True
        try:
            seen = compared(output.row)
        except OutputError:
            return True  # the append will fail for the same reason, and park it
        if seen.change in ABSENT and not self._was_gone(output, seen):
            self._miss(output)
            return False
        if seen.change == "same":
            if seen.known != output.known:  # another file, with the same bytes
                output.adopt(seen.known)
        else:
            self._log.output_edited(output.id, seen.change)
            output.adopt_change(seen)
            output.interrupt("continued" if seen.change == "gone" else "edited")
        return True

    def _was_gone(self, output: Output, seen: Comparison) -> bool:
        """Clear the note that an output is missing; return whether it was searched for and not found."""
        how = output.missing
        output.note_missing("")
        return how == "gone" and seen.change == "gone"

    def _miss(self, output: Output) -> None:
        """Park an output that was just found missing; it is looked for after a moment, whatever failed before."""
        output.note_missing("once")
        self._park(output, OutputError(_MISSING), _FIRST_RETRY)

    def save_assets(self, output: Output) -> None:
        """Write attachments before the text that links to them is stored.

        That text waits for those that cannot be written, which are tried again with it, from now on.
        """
        with suppress(OutputError):
            self._save_assets(output)

    def _save_assets(self, output: Output) -> None:
        """Write what is left of the attachments that the text of an output links to. Raises OutputError."""
        if not (output.assets or output.lost_assets):
            return
        self._mark(output)
        place, lost = self._place_now(output), set(output.lost_assets)
        for media, data in output.assets:
            self._save_asset(output, place, *picture_file(media, data))
            output.saved_asset()
        if lost:
            self._save_lost(output, lost, place)
        output.saved_assets()

    def _save_asset(self, output: Output, place: OutputPath, name: str, content: bytes) -> None:
        """Write an attachment; where the user put a link in its place, or its folder's, it stays. Raises OutputError.

        Nothing is written through such a folder, and no text waits for it: the user may never remove it. No text of
        other formats than Markdown links to an attachment, and none waits for it.
        """
        try:
            save_asset(place, output.row.options.assets, name, content)
        except OutputError as error:
            folder = place.path.parent / output.row.options.assets
            is_own = isinstance(error.__cause__, TargetRefused) and (
                folder.is_symlink() or os.path.lexists(folder / name)
            )
            if output.row.format == MARKDOWN and not is_own:
                raise
            self._log.attachment_failed(output.id, without_names(error.what, output.row))

    def _save_lost(self, output: Output, lost: set[str], place: OutputPath) -> None:
        """Write attachments that an earlier process could not write, from the session; what it lacks now is logged.

        Raises OutputError, also if a file of the session that may have them cannot be read now.
        """
        unread, why = None, "its session no longer has it"
        for source in self._ledger.sources_of(output.row.session) if lost else ():
            try:
                for media, data in pictures_again(lost, Stretch(source.path, source.identity), self._log):
                    name, content = picture_file(media, data)
                    self._save_asset(output, place, name, content)
                    lost.discard(name)
            except (AgentFailed, SourceUnusable) as error:  # it may never be read
                why = f"its session cannot be read: {error.what}"
            except SourceError as error:
                unread = error
        if lost and unread is not None:
            raise OutputError(f"its session cannot be read: {unread.what}", hint=unread.hint) from unread
        for _ in lost:
            self._log.attachment_failed(output.id, why)

    def _place_now(self, output: Output) -> OutputPath:
        """Return where the file of an output is, if it was moved and will be followed there with its next text."""
        with suppress(OutputError):
            if output.row.ino and compared(output.row).change in ABSENT and (moved := self._search(output)):
                return moved.place
        return output.place

    def deliver(self, output: Output) -> bool:
        """Append the intent of one output; on failure, park the output and return False."""
        if output.row.intent is None:
            return True
        try:
            self._save_assets(output)
            self._make(output)
            known = append(output.place, output.row.intent)
        except OutputReplaced:
            return self.retry(output)  # in the file that has the name now
        except OutputError as error:
            if self._has_new_directory(output):
                return self.retry(output)  # it may have been moved there
            self.park(output, error)
            return False
        self._wrote(output, known)
        return True

    def retry(self, output: Output) -> bool:
        """Complete an intent that a failure or a crash may have left partly written; return whether it worked.

        Without an intent, nothing is left to write, and the output only is no longer parked.

        An output that was missing before, and still is, is looked for; if it is nowhere, it is created again.
        """
        self._parked.pop(output, None)
        if output.row.intent is None and not output.missing:
            return True
        output.set_marker(output.row.marker or self._ledger.markers.of(output.row.root))  # its file may be older
        try:
            if not self._is_there(output) and not self._look_for(output):
                return False
            if output.row.intent is not None:
                self._complete(output)
        except OutputError as error:
            self.park(output, error)
            return False
        return True

    def _complete(self, output: Output) -> None:
        """Write what the file lacks of an intent, in a new file if the old one is gone. Raises OutputError."""
        self._save_assets(output)
        if output.missing:
            output.note_missing("")
            self._recreate(output)
        self._make(output)
        row = output.row
        known, foreign = complete(output.place, output.known, row.intent or b"", row.bounds)
        self._log.output_recovered(row.id, foreign=foreign)
        if foreign:
            output.note_edited()
        if row.problem:
            self._log.output_resumed(row.id)
            if row.attempts >= _SERIOUS:
                self.tell(News.of("unparked", row))
        self._wrote(output, known)

    def _is_there(self, output: Output) -> bool:
        """Return whether an output is at its path. Raises OutputError if its disk is not mounted."""
        try:
            seen = compared(output.row)
        except OutputError:
            output.note_missing("")
            if not self._has_new_directory(output) or not self._follow(output):
                raise
            return True
        output.note_reverted(seen)
        if seen.change not in ABSENT:
            output.note_missing("")
        return seen.change not in ABSENT

    def _has_new_directory(self, output: Output) -> bool:
        """Return whether the directory of an output does not exist, and the settings name another one."""
        return output.row.root != self._directory and not os.path.isdir(output.row.root)

    def _look_for(self, output: Output) -> bool:
        """Follow a missing output to where it was moved; return False if it was not missing before, and is parked.

        Raises OutputError if it is nowhere, and a different file has its name.
        """
        if output.row.committed and not output.missing:
            self._miss(output)
            return False
        is_found = self._follow(output)
        if not is_found:
            require_no_other(output.place)
        output.note_missing("" if is_found else "gone")
        return True

    def _follow(self, output: Output) -> bool:
        """Change the path of an output to where it was moved; return whether it was found.

        Raises OutputError if it has the name of another recording now, which may have been renamed as well.
        """
        found = self._search(output)
        if found is None:
            return False
        if (other := self._ledger.output_at(found.place.path)) is not None:
            rows = self._ledger.outputs(other.session) if found.is_sure else []
            if any(_goes_on(row) for row in rows if row.id == other.id):
                raise OutputError(_NAME_OF_ANOTHER, path=found.place.path, hint="give it another name")
            return False
        self._log.output_moved(output.id)
        output.moved_to(found.place)
        with self._ledger.transaction():
            output.save(self._ledger)
        return True

    def _search(self, output: Output) -> Moved | None:
        """Return where an output was moved in its folder, or below an output directory; None if it was not found."""
        row, directory = output.row, self._directory
        is_ours = row.marker or row.root == directory
        directories = [OutputPath(row.root, (), row.marker)] if is_ours else []
        if directory and directory != row.root and os.path.isdir(directory):
            marker = self._ledger.markers.of(directory) or mark_root(directory)
            directories.append(OutputPath(directory, (), marker))
        return find_moved(output.place, output.known, row.intent or b"", directories)

    def _mark(self, output: Output) -> None:
        """Before a new output's first file, mark its root, if that was the output directory when it was planned.

        A known marker is never created again: without it, the directory may be the place where a disk is missing.
        """
        row = output.row
        if row.marker in ("", UNMARKED):
            known = self._ledger.markers.of(row.root)
            output.set_marker(mark_root(row.root) if row.marker == UNMARKED and not known else known)

    def _make(self, output: Output) -> None:
        """Create the file of a new output; the ledger knows it before anything is written to it."""
        if not output.row.ino:
            self._mark(output)
            output.adopt(make(output.place, owner_number(self._ledger.name)))
            with self._ledger.transaction():
                output.save(self._ledger)

    def _recreate(self, output: Output) -> None:
        """Continue an intent in a new file after the old one disappeared: after a head and a mark that says so."""
        row, head = output.row, b""
        if row.committed:  # otherwise nothing had been written, and its creation had not reached the disk
            printer = open_format(row.format, row.options)
            metadata = head_metadata(row)
            text = printer.head(metadata, metadata.started) + printer.mark(Mark("continued"))
            head = text.encode("utf-8", "replace")
            self._log.output_edited(row.id, "gone")
        output.continue_in_new_file(head)

    def is_parked(self, output: Output) -> bool:
        """Return whether an output is waiting to be retried."""
        return output in self._parked

    def forget(self, output: Output) -> None:
        """Forget an output whose step was undone: the ledger has the state before it."""
        self._parked.pop(output, None)
        self._written.pop(output, None)
        output.note_missing("")

    def forget_session(self, session_id: int) -> None:
        """Forget the outputs of a session that the ledger no longer has."""
        for output in [one for one in (*self._parked, *self._written) if one.row.session == session_id]:
            self.forget(output)

    def waiting(self) -> list[Output]:
        """Return the outputs that wait for a retry, or to be stored."""
        return [*self._parked, *self._written]

    def due(self, now: float) -> list[Output]:
        """Return the parked outputs that are due to be retried."""
        return [output for output, at in self._parked.items() if at <= now]

    def next_retry(self) -> float | None:
        """Return when (monotonic) the next parked output is retried, None if none is parked."""
        return min(self._parked.values(), default=None)

    def next_look(self) -> float | None:
        """Return when (monotonic) all outputs that were missed once can be looked for, None if there is none."""
        missed = (at for output, at in self._parked.items() if output.missing == "once")
        return max(missed, default=None)

    @property
    def unsettled(self) -> bool:
        """Whether intents were written that are still open in the ledger."""
        return bool(self._written)

    def settle(self) -> None:
        """Close the intents that were written; the next step would do so, too."""
        if self._written:
            with self._ledger.transaction():
                for output in self._written:
                    output.save(self._ledger)
            self._written.clear()

    def saved(self, outputs: Iterable[Output]) -> None:
        """Note that the ledger has the current state of these outputs."""
        for output in outputs:
            self._written.pop(output, None)

    def _wrote(self, output: Output, known: FileFingerprint) -> None:
        output.wrote(known)
        self._parked.pop(output, None)
        self._written[output] = None

    def park(self, output: Output, error: OutputError) -> None:
        """Retry an output later, at growing intervals."""
        self._park(output, error, pause(output.row.attempts, first=_FIRST_RETRY, longest=_LONGEST_RETRY))

    def _park(self, output: Output, error: OutputError, wait: float) -> None:
        output.park(f"{error.what} ({error.hint})" if error.hint else error.what)
        self._parked[output] = time.monotonic() + wait
        if output.row.attempts == _SERIOUS:
            self.tell(News.of("parked", output.row, output.row.problem))
        self._log.output_parked(output.id, without_names(error.what, output.row), wait)


def _goes_on(row: OutputRow) -> bool:
    """Return whether an output is written to, so that it will be followed if it was renamed as well."""
    return row.open or row.paused or row.intent is not None or row.behind is not None
