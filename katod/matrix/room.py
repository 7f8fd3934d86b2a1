"""Sends the lines of recordings to the room, one by one, over a connection that works."""

from base64 import b64decode
from binascii import Error as NotBase64
from itertools import islice
from time import monotonic
from typing import Final, NamedTuple

from katod.delivery.exchange import Exchange, OfferedRecording, Sent, SentAlready, SentQuery, Uploaded
from katod.delivery.progress import ProgressReporter
from katod.delivery.reader import RecordingReader
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.log import EventLog
from katod.matrix.client import Client
from katod.matrix.lines import Large, RoomEvent, sendable

MATRIX: Final = "matrix"  # the section of the settings, and the format
PASSED: Final = "$passed"  # in place of the id of a state whose answer was lost before another one was sent
_TURN: Final = 20  # lines of one recording before it is the next one's turn
_CHECK_EVERY: Final = 60.0  # seconds, after which the room may have become an encrypted one
_FORBIDDEN: Final = 403
_MOST_TRIES: Final = 8  # of one event that is rejected, before others show whether that is the event's fault
_MOST_PROBES: Final = 5  # events that are sent behind one that is rejected, to find out whether any is taken
_MOST_UPLOADS: Final = 24  # of one upload, before its event is sent without it


class _Failing(NamedTuple):
    """An event or an upload that is rejected: how often, and how many events had been taken at the last try."""

    tries: int
    events: int


class Room:
    """The room, as far as this process knows it: what it takes, and what it has of the lines that are sent next."""

    def __init__(self, client: Client, exchange: Exchange, progress: ProgressReporter, log: EventLog) -> None:
        self._client = client
        self._exchange = exchange
        self._progress = progress
        self._log = log
        self._checked = 0.0
        self._known = SentAlready({}, {})
        self._failing: dict[tuple[int, str], _Failing] = {}  # by output, and transaction or hash
        self._taken = _Taken()

    @property
    def accepted(self) -> int:
        """How many events the room took of this process."""
        return self._taken.count

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def open(self) -> None:
        """Check that the account and the room can be used. Raises DeliveryStopped, DeliveryError."""
        self._client.user()
        self.check()

    def check(self) -> None:
        """Check that events may be sent to the room now. Raises DeliveryStopped, DeliveryError."""
        self._client.check_room()
        self._checked = monotonic()

    def send_some(self, reader: RecordingReader[RoomEvent], *, quiet: bool) -> bool:
        """Send the next lines of a recording; return whether there may be more.

        `quiet`: nothing has come for so long that the lines that wait for more are sent, too.
        Raises DeliveryError, Stopping, Withdrawn.
        """
        more = reader.read()
        if quiet and not more:
            reader.release()
        if not reader.lines:
            self._progress.note(reader)
            return more
        self._ask(reader)
        for _ in range(min(_TURN, len(reader.lines))):
            if reader.lines[0].txn not in self._known.sent:
                self._send_next(reader)
            reader.lines.popleft()
        self._progress.note(reader)
        return True

    def _ask(self, reader: RecordingReader[RoomEvent]) -> None:
        """Learn what was sent already of the next lines and of what they refer to."""
        lines = list(islice(reader.lines, _TURN))
        txns = {txn for line in lines for txn in (line.txn, *line.references)}
        hashes = {large.sha256 for line in lines for large in line.large}
        recording = reader.recording
        question = SentQuery(recording.session, recording.row.id, tuple(sorted(txns)), tuple(sorted(hashes)))
        self._known = self._exchange.ask(question)
        self._taken.has_state = False  # what was reported before is in the ledger

    def _send_next(self, reader: RecordingReader[RoomEvent]) -> None:
        """Send the next event, or skip it if it alone is not taken. Raises DeliveryError, Stopping, Withdrawn."""
        line, recording = reader.lines[0], reader.recording
        self._prepare(line, recording)
        try:
            event = self._send(line, recording)
        except DeliveryStopped:
            raise
        except DeliveryError as error:
            event = self._event_at_last(reader, error)
        self._progress.sent()
        self._known.sent[line.txn] = event
        self._taken.report(line)
        self._exchange.report([Sent(recording, line.txn, event)])
        for name in [name for name in self._failing if name[0] == recording.row.id]:
            del self._failing[name]

    def _event_at_last(self, reader: RecordingReader[RoomEvent], error: DeliveryError) -> str:
        """Return nothing for an event that is skipped, as it alone is not taken. Raises `error` if others are not, too.

        The homeserver may work again since it failed, so it is sent once more: if it is taken then, it is behind the
        one that was sent to find out, where a state would be wrong.
        """
        line, recording = reader.lines[0], reader.recording
        if not _is_forbidden_state(line, error):
            self._require_blame(reader, error)
            may_work = not isinstance(error, DeliveryRefused) and line.state_key is None
            if may_work and (event := self._tried(line, recording)):
                return event
        txn = line.txn
        self._log.delivery_refused(MATRIX, recording.row.id, txn, error.what)
        return ""

    def _require_blame(self, reader: RecordingReader[RoomEvent], error: DeliveryError) -> None:
        """Raise the error with which the next event failed, unless it alone is to blame: others are taken.

        One of another recording was since it failed before, or one behind it is, which is sent now. Raises
        DeliveryStopped if the account never sent anything, and is not allowed to.
        """
        if error.wait is not None:
            raise error  # that says nothing of the event
        recording, name = reader.recording, reader.lines[0].txn
        before, now = self._failing.get((recording.row.id, name)), self._count(recording, name)
        if not isinstance(error, DeliveryRefused) and now.tries < _MOST_TRIES:
            raise error
        self.check()
        if isinstance(error, DeliveryRefused) and error.status == _FORBIDDEN:
            self._require_rights(recording)
        is_known = before is not None and now.events > before.events
        if not (is_known or self._takes_another(reader)):
            raise error

    def _require_rights(self, recording: OfferedRecording) -> None:
        question = SentQuery(recording.session, recording.row.id)
        if not (self._taken.events or self._exchange.ask(question).has_any):
            raise DeliveryStopped("the account is not allowed to send to the room", hint="check its power level there")

    def _takes_another(self, reader: RecordingReader[RoomEvent]) -> bool:
        """Return whether an event behind the next one is taken, which is sent now. Raises DeliveryError for a limit.

        It is reported when it is its turn. A state that is taken says nothing of events: it is only sent in front of
        one.
        """
        self._ask(reader)
        lines = [line for line in islice(reader.lines, 1, _TURN) if line.txn not in self._known.sent]
        events = [number for number, line in enumerate(lines) if line.state_key is None][:_MOST_PROBES]
        tried = ((line, self._tried(line, reader.recording)) for line in lines[: events[-1] + 1 if events else 0])
        return any(event and line.state_key is None for line, event in tried)

    def _tried(self, line: RoomEvent, recording: OfferedRecording) -> str:
        """Return the server's id of an event, nothing if it is not taken. Raises DeliveryError where it has to wait."""
        try:
            self._prepare(line, recording)
            return self._send(line, recording)
        except DeliveryError as error:
            if error.wait is not None or isinstance(error, DeliveryStopped):
                raise
            return ""

    def _count(self, recording: OfferedRecording, name: str) -> _Failing:
        """Count a failure of an event or an upload."""
        before = self._failing.get((recording.row.id, name), _Failing(0, 0))
        now = self._failing[recording.row.id, name] = _Failing(before.tries + 1, self._taken.events)
        return now

    def _prepare(self, line: RoomEvent, recording: OfferedRecording) -> None:
        """Upload what belongs to an event, to a room that was looked at lately. Raises what `_send` raises."""
        if monotonic() - self._checked > _CHECK_EVERY:
            self.check()
        for large in line.large:
            if large.sha256 not in self._known.uploaded:
                self._upload(large, recording)

    def _send(self, line: RoomEvent, recording: OfferedRecording) -> str:
        """Send one event that was prepared; return the server's id. Raises DeliveryError, Stopping, Withdrawn.

        One that was taken, and not reported, is not sent again, nor is a state that may have been while others were.
        """
        if taken := self._taken.known(line):
            return taken
        if line.state_key is not None:
            self._commit(recording)
        self._exchange.require(recording)
        content = sendable(line, self._known.sent, self._known.uploaded)
        try:
            event = self._client.send(line.txn, line.type, content, line.state_key)
        except DeliveryError as error:
            self._taken.fail(line, error)
            raise
        self._taken.take(line, event)
        return event

    def _commit(self, recording: OfferedRecording) -> None:
        """Have the ledger know the state that was sent last: the server knows only that one again."""
        if self._taken.has_state:
            self._exchange.ask(SentQuery(recording.session, recording.row.id))
        self._taken.has_state = True

    def _upload(self, large: Large, recording: OfferedRecording) -> None:
        """Upload content; one that is refused is not: its event says what it is, and has the beginning of a text."""
        self._exchange.require(recording)
        try:
            address = self._client.upload(_bytes(large), large.media_type)
        except (DeliveryRefused, NotBase64):
            address = ""
        except DeliveryStopped:
            raise
        except DeliveryError as error:
            if error.wait is not None or self._count(recording, large.sha256).tries < _MOST_UPLOADS:
                raise
            self.check()
            address = ""
        self._known.uploaded[large.sha256] = address
        self._exchange.report([Uploaded(recording, large.sha256, address)])


class _Taken:
    """What the room took of this process."""

    def __init__(self) -> None:
        self.events = 0
        self.states = 0
        self.has_state = False  # whether the last state may not be in the ledger yet
        self._unreported: dict[str, str] = {}  # the server's ids by transaction
        self._doubtful: dict[str, int] = {}  # states that may have been taken, and how many others had been then

    @property
    def count(self) -> int:
        """How many there were, with states."""
        return self.events + self.states

    def known(self, line: RoomEvent) -> str:
        """Return the server's id of an event that was taken; of a state that others stand behind by now, a mark."""
        if line.txn in self._doubtful and self.states > self._doubtful[line.txn]:
            return PASSED
        return self._unreported.get(line.txn, "")

    def take(self, line: RoomEvent, event: str) -> None:
        """Note that an event was taken."""
        self._unreported[line.txn] = event
        self._doubtful.pop(line.txn, None)
        self.events += line.state_key is None
        self.states += line.state_key is not None

    def fail(self, line: RoomEvent, error: DeliveryError) -> None:
        """Note that an event was not taken, as far as is known: without an answer, it may have been."""
        if line.state_key is not None and not isinstance(error, DeliveryRefused) and error.wait is None:
            self._doubtful.setdefault(line.txn, self.states)

    def report(self, line: RoomEvent) -> None:
        """Forget an event that is reported."""
        self._unreported.pop(line.txn, None)
        self._doubtful.pop(line.txn, None)


def _is_forbidden_state(line: RoomEvent, error: DeliveryError) -> bool:
    """Return whether a state is not taken, which needs a level of its own: events can be sent all the same."""
    return line.state_key is not None and isinstance(error, DeliveryRefused) and error.status == _FORBIDDEN


def _bytes(large: Large) -> bytes:
    return large.data.encode() if large.is_text else b64decode(large.data)
