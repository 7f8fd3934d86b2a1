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
_TURN: Final = 20  # lines of one recording before it is the next one's turn
_CHECK_EVERY: Final = 60.0  # seconds, after which the room may have become an encrypted one
_FORBIDDEN: Final = 403
_MOST_TRIES: Final = 8  # of one event that is rejected, before others show whether that is the event's fault
# Events that are refused for good in a row, before all would be: of an account that sent none, and of one that did.
_MOST_REFUSED: Final = (2, 5)
_MOST_UPLOADS: Final = 24  # of one upload, before its event is sent without it


class _Failing(NamedTuple):
    """An event or an upload that is rejected: how often, and how many others were accepted before the last try."""

    name: str
    tries: int
    events: int


class _Fate(NamedTuple):
    """What became of an event: `problem` says why it was not taken, and is never sent."""

    sent: Sent
    problem: str = ""


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
            self._report([_Fate(self._send(line, recording))])
        except DeliveryStopped:
            raise
        except DeliveryError as error:
            self._skip(reader, error)
        self._failing.pop(recording.row.id, None)

    def _skip(self, reader: RecordingReader[RoomEvent], error: DeliveryError) -> None:
        """Skip the next event if it alone is not taken; otherwise raise `error`, or DeliveryStopped.

        Others are: one after it is, which is sent now, or one of another recording was since it failed before. All of
        it is reported at once: a later event that is known to be sent hides that an earlier one was not.
        """
        line, recording = reader.lines[0], reader.recording
        if _is_forbidden_state(line, error):
            self._report([_Fate(Sent(recording, line.txn, ""), error.what)])
            return
        if error.wait is not None:
            raise error  # that says nothing of the event
        before, tries = self._failing.get(recording.row.id), self._count(recording, line.txn)
        if not isinstance(error, DeliveryRefused) and tries < _MOST_TRIES:
            raise error
        self._doubt(line, error)
        is_known = before is not None and before.name == line.txn and self._taken.events > before.events
        passed = [] if is_known else self._sent_after(reader, error)
        self._report([self._at_last(line, recording, error), *passed])

    def _at_last(self, line: RoomEvent, recording: OfferedRecording, error: DeliveryError) -> _Fate:
        """Return that an event is skipped, unless it is taken now, as the homeserver may work again since it failed.

        It is behind the one that was sent meanwhile then, where a state would be wrong. Raises DeliveryError if it only
        has to wait.
        """
        if not isinstance(error, DeliveryRefused) and line.state_key is None:
            try:
                return _Fate(self._send(line, recording))
            except DeliveryError as last:
                if last.wait is not None or isinstance(last, DeliveryStopped):
                    raise
        return _Fate(Sent(recording, line.txn, ""), error.what)

    def _sent_after(self, reader: RecordingReader[RoomEvent], error: DeliveryError) -> list[_Fate]:
        """Send what comes after the next event until an event is taken; return all of it. Raises `error` if none is.

        A state that is taken says nothing of events: it is only sent in front of one.
        """
        self._ask(reader)
        lines = [line for line in islice(reader.lines, 1, _TURN) if line.txn not in self._known.sent]
        while lines and lines[-1].state_key is not None:
            lines.pop()
        passed: list[_Fate] = []
        for line in lines:
            passed.append(self._sent_or_refused(line, reader.recording))
            if not passed[-1].problem and line.state_key is None:
                return passed
        raise error

    def _sent_or_refused(self, line: RoomEvent, recording: OfferedRecording) -> _Fate:
        self._prepare(line, recording)
        try:
            return _Fate(self._send(line, recording))
        except DeliveryRefused as refusal:
            if not _is_forbidden_state(line, refusal):
                self._doubt(line, refusal)
            return _Fate(Sent(recording, line.txn, ""), refusal.what)

    def _doubt(self, line: RoomEvent, error: DeliveryError) -> None:
        """Raise DeliveryStopped if this answer is one to all events, DeliveryError if that cannot be known now."""
        self.check()
        if not isinstance(error, DeliveryRefused):
            return
        self._taken.refused.add(line.txn)
        if len(self._taken.refused) >= _MOST_REFUSED[self._taken.events > 0]:
            if error.status == _FORBIDDEN:
                what = "the account is not allowed to send to the room"
                raise DeliveryStopped(what, hint="check its power level there")
            raise DeliveryStopped(f"the room takes no event of the account: {error.what}")

    def _count(self, recording: OfferedRecording, name: str) -> int:
        """Count a failure of an event or an upload; return how many there were in a row."""
        before = self._failing.get(recording.row.id)
        tries = before.tries + 1 if before is not None and before.name == name else 1
        self._failing[recording.row.id] = _Failing(name, tries, self._taken.events)
        return tries

    def _prepare(self, line: RoomEvent, recording: OfferedRecording) -> None:
        """Upload what belongs to an event, to a room that was looked at lately. Raises what `_send` raises."""
        if monotonic() - self._checked > _CHECK_EVERY:
            self.check()
        if line.state_key is not None:
            self._commit(recording)
        for large in line.large:
            if large.sha256 not in self._known.uploaded:
                self._upload(large, recording)

    def _send(self, line: RoomEvent, recording: OfferedRecording) -> Sent:
        """Send one event that was prepared. Raises DeliveryError, Stopping, Withdrawn."""
        self._exchange.require(recording)
        content = sendable(line, self._known.sent, self._known.uploaded)
        try:
            event = self._client.send(line.txn, line.type, content, line.state_key)
        except DeliveryError as error:
            self._taken.note(line, recording, error)
            raise
        self._taken.note(line, recording, None)
        return Sent(recording, line.txn, event)

    def _commit(self, recording: OfferedRecording) -> None:
        """Have the ledger know the state that was sent last: the server knows only that one again.

        Raises DeliveryError while it is not known whether the room has that state: another one would be between it and
        itself.
        """
        owner = self._taken.unsure
        if owner is not None and owner.row.id != recording.row.id and owner.row.id in self._exchange.offered():
            raise DeliveryError("a state of another recording is sent first")
        if self._taken.has_state:
            self._exchange.ask(SentQuery(recording.session, recording.row.id))
        self._taken.has_state = True

    def _report(self, outcomes: list[_Fate]) -> None:
        """Note what became of events, in their order."""
        for sent, problem in outcomes:
            self._known.sent[sent.txn] = sent.event
            if problem:
                self._log.delivery_refused(MATRIX, sent.recording.row.id, sent.txn, problem)
        self._progress.sent()
        self._exchange.report([one.sent for one in outcomes])

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
            if error.wait is not None or self._count(recording, large.sha256) < _MOST_UPLOADS:
                raise
            self.check()
            address = ""
        self._known.uploaded[large.sha256] = address
        self._exchange.report([Uploaded(recording, large.sha256, address)])


class _Taken:
    """What the room took of this process."""

    def __init__(self) -> None:
        self.count = 0  # with states
        self.events = 0
        self.refused: set[str] = set()  # the events that were refused for good since one was taken
        self.has_state = False  # whether the last state may not be in the ledger yet
        self.unsure: OfferedRecording | None = None  # whose state was sent last, if nobody knows whether it was taken

    def note(self, line: RoomEvent, recording: OfferedRecording, error: DeliveryError | None) -> None:
        """Note whether an event was taken."""
        self.count += error is None
        if error is None and line.state_key is None:
            self.events += 1
            self.refused.clear()
        if line.state_key is not None:
            is_decided = error is None or isinstance(error, DeliveryRefused) or error.wait is not None
            self.unsure = None if is_decided else recording


def _is_forbidden_state(line: RoomEvent, error: DeliveryError) -> bool:
    """Return whether a state is not taken, which needs a level of its own: events can be sent all the same."""
    return line.state_key is not None and isinstance(error, DeliveryRefused) and error.status == _FORBIDDEN


def _bytes(large: Large) -> bytes:
    return large.data.encode() if large.is_text else b64decode(large.data)
