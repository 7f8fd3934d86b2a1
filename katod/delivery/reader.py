"""The lines of one recording, read from its session up to where katod has read it. The session is the queue.

A recording is what its sources, its ranges and its options make of it: read again, it has the same lines, and those of
one source in the same order. So nothing has to be kept of what is to be sent, and after a restart it is read again from
its beginning.
"""

from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from katod.delivery.exchange import OfferedRecording
from katod.discover.live import signature
from katod.errors import SourceChanged
from katod.log import EventLog
from katod.record.export import Stretch, replay
from katod.record.follow import Follower
from katod.record.ranges import RangePrinter

_BUDGET: Final = 256 * 1024  # bytes of a source that are read at once: their lines are in memory until they are sent
_EVENT: Final = 256  # bytes of memory for each event that was read
_CHECK_EVERY: Final = 300.0  # seconds, after which an end that is missing is looked for in a session that has changed
_UNKNOWN: Final = "?"  # the end of a range that ended after an event that nobody knows any more
_NO_START: Final = "its session no longer has the place where it began"
_NO_END: Final = "its session no longer has the place where it ended"


class UnsentLine(Protocol):
    """A line of a format, as it is sent; `txn` identifies it among those of its session."""

    @property
    def txn(self) -> str:
        """What the line is known by, here and by the server."""


L = TypeVar("L", bound=UnsentLine)


class SentFormat(NamedTuple, Generic[L]):
    """The format in which recordings are sent, and what its text consists of.

    `releases`: a line that waits for what may still come is sent as it is, once nothing has come for a while.
    """

    name: str
    lines_of: Callable[[str], Iterator[L]]
    releases: bool


class Unsent(Generic[L]):
    """The lines that were read and not sent, in order. Those up to one that was sent before are passed over."""

    def __init__(self, form: SentFormat[L], after: str) -> None:
        self.lines: deque[L] = deque()
        self._lines_of = form.lines_of
        self.after = after  # the transaction of the line after which they begin, until it has come
        self.size = 0  # characters, as they were read

    def add(self, text: str) -> None:
        """Add the lines of a text."""
        self.size = self.size + len(text) if self.lines else len(text)
        for line in self._lines_of(text):
            if not self.after:
                self.lines.append(line)
            elif line.txn == self.after:
                self.after = ""


class RecordingReader(Generic[L]):
    """A position in a recording: the lines that were read and not sent, and where to read on.

    It begins after the line with the transaction `after`. Where that is nowhere in the recording any more, as the
    session was rewritten or a new version of katod has other lines, it begins with the first one; and where the session
    has several sources, as lines that came later may be before that one when they are read again. Whoever sends lines
    knows which of them were sent.
    """

    def __init__(self, form: SentFormat[L], recording: OfferedRecording, log: EventLog, after: str) -> None:
        self._form = form
        self.recording = recording
        self.problem = ""  # why the rest cannot be read, as far as that is known
        self._log = log
        self._checked: object = None  # the ends of ranges that are known to be in the session as it is, or not to be
        self._check_at = 0.0  # when those that are not can be looked for again
        self._begin(after if len(recording.sources) == 1 else "")

    def _begin(self, after: str) -> None:
        """Begin at the beginning of the session."""
        self._unsent = Unsent(self._form, after)
        self._follower = Follower(self.recording.key, self._log)
        self._printer = RangePrinter.of(self.recording.row, None, self._form.name)

    @property
    def lines(self) -> deque[L]:
        """The lines that were read and not sent."""
        return self._unsent.lines

    @property
    def weight(self) -> int:
        """About how many bytes of memory this needs."""
        return _EVENT * self._follower.count + (self._unsent.size if self.lines else 0)

    @property
    def done(self) -> bool:
        """Whether all lines of a recording that has ended were read and taken."""
        return not self.lines and self._printer.done

    def update(self, recording: OfferedRecording) -> None:
        """Go on with the same recording, of which there is more by now."""
        self.recording = recording
        self._printer.follow(recording.row.ranges)

    def read(self) -> bool:
        """Read the next lines, if none are left; return whether there may be more to read now."""
        if self.lines or self._printer.done:
            return bool(self.lines)
        metadata = self._follower.metadata
        self._unsent.add(self._printer.settle(metadata.last, metadata) if metadata.last else "")
        if self._printer.done or not self._has_ends():
            return bool(self.lines)
        self.problem = ""
        self._read_batch()
        if not (self._follower.moved or self._printer.done):
            self._note_problem()
        return self._follower.moved or bool(self.lines) or self._finds_no_beginning()

    def release(self) -> None:
        """Take the lines that wait for what may still come, if the format allows it: nothing has come for a while."""
        if self._form.releases:
            self._unsent.add(self._printer.release())

    def _read_batch(self) -> None:
        """Read the next lines, up to the end of the last range, of a session that still has the ends of all ranges."""
        restarts = self._follower.restarts
        for event, metadata in self._follower.advance(self.recording.sources, _BUDGET):
            if self._follower.restarts != restarts:
                restarts = self._follower.restarts
                if not self._has_ends():
                    return
            self._unsent.add(self._printer.take(event, metadata))
            if self._printer.done:
                return

    def _finds_no_beginning(self) -> bool:
        """Begin with the first line if all was read, and the one that is looked for is not even held back."""
        if not self._unsent.after or self.problem or self._follower.problem is not None:
            return False
        self.release()
        if self._unsent.after:
            self._begin("")
            return True
        return bool(self.lines)

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
        """Return whether the session has the end of each range that has ended; without it, too much would be sent.

        An end that is missing is looked for again when the session has changed, and not all the time.
        """
        ends = {one.end for one in self.recording.row.ranges if one.end}
        state = (ends, self._follower.restarts)
        if not ends or self._checked == state:
            return True
        missing = (*state, *(signature(path, identity) for path, identity, _ in self.recording.sources))
        if self._checked != missing and monotonic() >= self._check_at:
            if _UNKNOWN not in ends and ends <= self._found(ends):
                self._checked = state
            else:
                self._checked, self._check_at = missing, monotonic() + _CHECK_EVERY
        if self._checked != state:
            self.problem = _NO_END
        return self._checked == state

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
