"""The lines of one recording, read from its session up to where katod has read it. The session is the queue.

A recording is what its sources, its ranges and its options make of it: read again, it has the same lines. So nothing
has to be kept of what is to be sent, and after a restart it is read again from its beginning.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final

from katod.errors import SourceChanged
from katod.log import EventLog
from katod.matrix.exchange import Recording
from katod.matrix.lines import Line, lines_of
from katod.record.export import Stretch, replay
from katod.record.follow import Follower
from katod.record.ranges import RangePrinter, head_metadata

FORMAT: Final = "matrix"
_BUDGET: Final = 256 * 1024  # bytes of a source that are read at once: their lines are in memory until they are sent
_NO_START: Final = "its session no longer has the place where it began"
_NO_END: Final = "its session no longer has the place where it ended"


class Reader:
    """A position in a recording: the lines that were read and not sent, and where to read on."""

    def __init__(self, recording: Recording, log: EventLog) -> None:
        self.recording = recording
        self.lines: deque[Line] = deque()
        self.problem = ""  # why the rest cannot be read, as far as that is known
        self._log = log
        self._follower = Follower(recording.key, log)
        self._printer = RangePrinter(FORMAT, recording.row.options, recording.row.ranges)
        self._printer.head_metadata = head_metadata(recording.row)
        self._checked: object = None  # the ends of ranges that are known to be in the session as it is

    def update(self, recording: Recording) -> None:
        """Go on with the same recording, of which there is more by now."""
        self.recording = recording
        self._printer.ranges = recording.row.ranges

    @property
    def done(self) -> bool:
        """Whether all lines of a recording that has ended were read and taken."""
        return not self.lines and self._printer.done

    def read(self) -> bool:
        """Read the next lines, if none are left; return whether there may be more to read now."""
        if self.lines or self._printer.done:
            return bool(self.lines)
        metadata = self._follower.metadata
        self._take(self._printer.settle(metadata.last, metadata) if metadata.last else "")
        if self._printer.done or not self._has_ends():
            return bool(self.lines)
        self.problem = ""
        self._read_batch()
        if not (self._follower.moved or self._printer.done):
            self._note_problem()
        return self._follower.moved or bool(self.lines)

    def _read_batch(self) -> None:
        """Read the next lines, up to the end of the last range, of a session that still has the ends of all ranges."""
        restarts = self._follower.restarts
        for event, metadata in self._follower.advance(self.recording.sources, _BUDGET):
            if self._follower.restarts != restarts:
                restarts = self._follower.restarts
                if not self._has_ends():
                    return
            self._take(self._printer.take(event, metadata))
            if self._printer.done:
                return

    def _take(self, text: str) -> None:
        self.lines.extend(lines_of(text))

    def _note_problem(self) -> None:
        """Note why nothing more can be read, if the recording has more."""
        error = self._follower.problem
        if isinstance(error, SourceChanged):
            return  # katod reads it again first
        if error is not None:
            self.problem = f"its session cannot be read: {error.what}"
        elif not self._printer.active and not self._printer.done:
            self.problem = _NO_START
        elif not self.recording.row.open:
            self.problem = _NO_END

    def _has_ends(self) -> bool:
        """Return whether the session has the end of each range that has ended; without it, too much would be sent."""
        ends = {one.end for one in self.recording.row.ranges if one.end}
        state = (ends, self._follower.restarts)
        if ends and self._checked != state:
            if not ends <= self._found(ends):
                self.problem = _NO_END
                return False
            self._checked = state
        return True

    def _found(self, wanted: set[str]) -> set[str]:
        """Return which of these events are in the session."""
        return set(self._passing(wanted))

    def _passing(self, wanted: set[str]) -> Iterator[str]:
        left = set(wanted)
        stretches = [Stretch(path, identity) for path, identity, _ in self.recording.sources]
        for event, _ in replay(self.recording.key, stretches, self._log, skip_missing=True):
            if event.id in left:
                left.discard(event.id)
                yield event.id
            if not left:
                return
