"""Which recordings are read next: those with more to send, and those that failed, after a pause."""

from collections.abc import Callable
from time import monotonic
from typing import Final, Generic, NamedTuple

from katod.backoff import pause
from katod.delivery.exchange import OfferedRecording
from katod.delivery.reader import L, RecordingReader, SentFormat
from katod.log import EventLog

_MOST: Final = 64 * 1024 * 1024  # bytes of memory for positions that are kept; others are found again by reading
_LOOK_EVERY: Final = 30.0  # seconds, after which what could not be read is tried again
_QUIET: Final = 60.0  # seconds, after which nothing more is expected of an answer
_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 300.0
_LONGEST: Final = 600.0  # seconds to wait at most when nothing is due


class RestingReader(NamedTuple):
    """Nothing can be read or sent of a recording, as it was offered, until `due` (None: until it has more).

    `since` is when it began to rest. `failures`: so often in a row something failed; then it does, whatever
    more is offered.
    """

    recording: OfferedRecording
    since: float
    due: float | None
    failures: int = 0

    def is_over(self, recording: OfferedRecording) -> bool:
        """Return whether there may be something to do for a recording, as it is offered now."""
        if not recording.goes_on(self.recording):
            return True
        is_due = self.due is not None and monotonic() >= self.due
        return is_due or (not self.failures and self.recording is not recording)


class Readers(Generic[L]):
    """Positions in recordings, as many as memory allows, and which of them rest."""

    def __init__(self, form: SentFormat[L], log: EventLog, last: Callable[[OfferedRecording], str]) -> None:
        self._form = form
        self._log = log
        self._last = last  # returns the transaction of the last line that was sent of a recording
        self._readers: dict[int, RecordingReader[L]] = {}
        self._rests: dict[int, RestingReader] = {}

    def keep(self, offered: dict[int, OfferedRecording]) -> None:
        """Forget the recordings that are not offered any more."""
        for output in self._readers.keys() - offered.keys():
            del self._readers[output]
        for output in self._rests.keys() - offered.keys():
            del self._rests[output]

    def of(self, recording: OfferedRecording) -> RecordingReader[L] | None:
        """Return a position in a recording; None if it rests, or others have to be sent first."""
        output = recording.row.id
        rest = self._rests.get(output)
        if rest is not None and not rest.is_over(recording):
            return None
        reader = self._readers.get(output)
        if reader is None or not recording.goes_on(reader.recording):
            self._readers.pop(output, None)
            if not self._make_room():
                return None
            reader = self._readers[output] = self._make(recording)
        reader.update(recording)
        return reader

    def _make(self, recording: OfferedRecording) -> RecordingReader[L]:
        return RecordingReader(self._form, recording, self._log, self._last(recording))

    def is_quiet(self, reader: RecordingReader[L]) -> bool:
        """Return whether a recording has been resting for so long that nothing more is expected of an answer."""
        rest = self._rests.get(reader.recording.row.id)
        is_same = rest is not None and rest.recording is reader.recording and not rest.failures
        return is_same and rest is not None and monotonic() - rest.since >= _QUIET

    def _make_room(self) -> bool:
        """Drop positions that have not been needed for the longest time; return False if all are needed."""
        weight = sum(reader.weight for reader in self._readers.values())
        for output in [output for output in self._rests if output in self._readers]:
            if weight < _MOST:
                break
            weight -= self._readers.pop(output).weight
        return weight < _MOST

    def rest(self, reader: RecordingReader[L]) -> None:
        """Do nothing with a recording until it has more, and once after a while: for what cannot be read, or waits."""
        output, now = reader.recording.row.id, monotonic()
        before = self._rests.pop(output, None)
        since = before.since if before is not None and before.recording is reader.recording else now
        due = now + _LOOK_EVERY if reader.problem else since + _QUIET if now - since < _QUIET else None
        self._rests[output] = RestingReader(reader.recording, since, due)

    def park(self, recording: OfferedRecording, *, reread: bool) -> tuple[float, int]:
        """Do nothing with a recording in which something failed for some time, longer each time.

        Return for how many seconds, and how often that was in a row.
        With `reread`, its position is dropped: it is read from the beginning.
        """
        output, now = recording.row.id, monotonic()
        before = self._rests.pop(output, None)
        failures = before.failures if before is not None else 0
        wait = pause(failures, first=_FIRST_RETRY, longest=_LONGEST_RETRY)
        self._rests[output] = RestingReader(recording, now, now + wait, failures + 1)
        if reread:
            self._readers.pop(output, None)
        return wait, failures + 1

    def resume(self, reader: RecordingReader[L]) -> None:
        """Note that something was sent of a recording: it does not rest any more, and what failed does not count."""
        self._rests.pop(reader.recording.row.id, None)

    def is_resting(self, recording: OfferedRecording) -> bool:
        """Return whether there is nothing to do for a recording, as it is offered now."""
        rest = self._rests.get(recording.row.id)
        return rest is not None and rest.recording is recording and not rest.failures

    def pause(self) -> float:
        """Return for how many seconds there is nothing to do, unless something else is offered."""
        due = min((rest.due for rest in self._rests.values() if rest.due is not None), default=monotonic() + _LONGEST)
        return max(0.0, min(_LONGEST, due - monotonic()))
