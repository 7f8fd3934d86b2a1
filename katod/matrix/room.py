"""Sends the lines of recordings to the room, one by one, over a connection that works."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator
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
_TURN: Final = 20  # lines of one recording before it is the next one's turn
_CHECK_EVERY: Final = 60.0  # seconds, after which the room may have become an encrypted one
_FORBIDDEN: Final = 403
_MOST_TRIES: Final = 8  # of one event that is rejected, before others show whether that is the event's fault
_MOST_UPLOADS: Final = 24  # of one upload, before its event is sent without it


class _Failing(NamedTuple):
    """An event or an upload that is rejected: how often, and how many others were accepted before the last try."""

    name: str
    tries: int
    accepted: int


class Room:
    """The room, as far as this process knows it: what it takes, and what it has of the lines that are sent next."""

    def __init__(self, client: Client, exchange: Exchange, progress: ProgressReporter, log: EventLog) -> None:
        self._client = client
        self._exchange = exchange
        self._progress = progress
        self._log = log
        self._checked = 0.0
        self._known = SentAlready({}, {})
        self._failing: dict[int, _Failing] = {}
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
        """Send the next lines of a recording; return whether there may be more. Raises DeliveryError, Stopping.

        `quiet`: nothing has come for so long that the lines that wait for more are sent, too.
        """
        more = reader.read()
        if quiet and not more:
            reader.release()
        if not reader.lines:
            self._progress.note(reader)
            return more
        self._ask(reader)
        for _ in range(min(_TURN, len(reader.lines))):
            if not self._exchange.wants(reader.recording):  # it was forgotten, or its project is excluded now
                return False
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
        """Send the next event, or skip it if it alone is rejected. Raises DeliveryError, Stopping."""
        line, recording = reader.lines[0], reader.recording
        self._prepare(line, recording)
        try:
            self._send(line, recording)
        except (DeliveryRefused, DeliveryStopped):
            raise
        except DeliveryError as error:
            if error.wait is not None or not self._is_to_blame(reader):
                raise
            self._send_last(line, recording)
        self._failing.pop(recording.row.id, None)

    def _send_last(self, line: RoomEvent, recording: OfferedRecording) -> None:
        """Send an event for the last time. Raises DeliveryStopped, Stopping, DeliveryError if it only has to wait."""
        txn = line.txn
        try:
            self._send(line, recording)
        except DeliveryStopped:
            raise
        except DeliveryError as error:
            if error.wait is not None:
                raise
            self._log.delivery_refused(MATRIX, recording.row.id, txn, error.what)
            self._sent(line, recording, "")

    def _is_to_blame(self, reader: RecordingReader[RoomEvent]) -> bool:
        """Return whether the next event alone is rejected, after many tries.

        Raises DeliveryError, Stopping.
        """
        line, recording = reader.lines[0], reader.recording
        before = self._failing.get(recording.row.id)
        if self._count(recording, line.txn) < _MOST_TRIES:
            return False
        self.check()
        if before is not None and self._taken.count > before.accepted:
            return True
        self._ask(reader)
        after = next((one for one in self._after(reader) if one.txn not in self._known.sent), None)
        if after is None:
            return False
        self._prepare(after, recording)
        self._send(after, recording)
        return True

    def _after(self, reader: RecordingReader[RoomEvent]) -> Iterator[RoomEvent]:
        """Yield the lines after the next one of which it is known whether they were sent."""
        return islice(reader.lines, 1, _TURN)

    def _count(self, recording: OfferedRecording, name: str) -> int:
        """Count a failure of an event or an upload; return how many there were in a row."""
        before = self._failing.get(recording.row.id)
        tries = before.tries + 1 if before is not None and before.name == name else 1
        self._failing[recording.row.id] = _Failing(name, tries, self._taken.count)
        return tries

    def _prepare(self, line: RoomEvent, recording: OfferedRecording) -> None:
        """Upload what belongs to an event, to a room that was looked at lately. Raises DeliveryError, Stopping."""
        if monotonic() - self._checked > _CHECK_EVERY:
            self.check()
        for large in line.large:
            if large.sha256 not in self._known.uploaded:
                self._upload(large, recording)

    def _send(self, line: RoomEvent, recording: OfferedRecording) -> None:
        """Send one event, or skip it if it is refused for good. Raises DeliveryError, Stopping."""
        content = sendable(line, self._known.sent, self._known.uploaded)
        if line.state_key is not None:
            self._commit(recording)
        try:
            event = self._client.send(line.txn, line.type, content, line.state_key)
        except DeliveryRefused as refusal:
            self._refuse(refusal, line, recording)
            event = ""
        self._taken.note(line, is_taken=bool(event))
        self._sent(line, recording, event)

    def _commit(self, recording: OfferedRecording) -> None:
        """Have the ledger know the state that was sent last: the server knows only that one again."""
        if self._taken.has_state:
            self._exchange.ask(SentQuery(recording.session, recording.row.id))
        self._taken.has_state = True

    def _sent(self, line: RoomEvent, recording: OfferedRecording, event: str) -> None:
        """Note that an event was sent, or will never be."""
        self._progress.sent()
        self._known.sent[line.txn] = event
        self._exchange.report([Sent(recording, line.txn, event)])

    def _refuse(self, refusal: DeliveryRefused, line: RoomEvent, recording: OfferedRecording) -> None:
        """Raise DeliveryStopped if this refusal is one of all events, and not of this one."""
        self.check()
        txn = line.txn
        if refusal.status == _FORBIDDEN and line.state_key is None and not self._taken.is_allowed:
            raise DeliveryStopped("the account is not allowed to send to the room", hint="check its power level there")
        self._log.delivery_refused(MATRIX, recording.row.id, txn, refusal.what)

    def _upload(self, large: Large, recording: OfferedRecording) -> None:
        """Upload content; one that is refused is not: its event says what it is, and has the beginning of a text."""
        try:
            address = self._client.upload(_bytes(large), large.media_type)
        except (DeliveryRefused, NotBase64):
            address = ""
        except DeliveryStopped:
            raise
        except DeliveryError as error:
            if error.wait is not None or self._count(recording, large.sha256) < _MOST_UPLOADS:
                raise
            self.check()
            address = ""
        self._known.uploaded[large.sha256] = address
        self._exchange.report([Uploaded(recording, large.sha256, address)])


class _Taken:
    """What the room took of this process."""

    def __init__(self) -> None:
        self.count = 0
        self.is_allowed = False  # whether the last event that is no state was taken
        self.has_state = False  # whether the last state may not be in the ledger yet

    def note(self, line: RoomEvent, *, is_taken: bool) -> None:
        """Note whether an event was taken."""
        self.count += is_taken
        if line.state_key is None:
            self.is_allowed = is_taken


def _bytes(large: Large) -> bytes:
    return large.data.encode() if large.is_text else b64decode(large.data)
