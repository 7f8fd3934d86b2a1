"""The thread that sends: it reads recordings by itself and makes one request after the other.

An event is sent with a transaction that follows from its id. If the answer is lost, or katod ends before the ledger has
it, the same transaction is sent again, and the server returns the event that it has.
"""

import threading
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from katod.backoff import pause
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.log import EventLog
from katod.matrix.client import Client
from katod.matrix.exchange import Exchange, Known, Progress, Question, Recording, Sent, Stopping, Uploaded
from katod.matrix.lines import Large, Line, sendable
from katod.matrix.reader import Reader
from katod.store.rows import RoomRow

_TURN: Final = 20  # lines of one recording before it is the next one's turn
_MOST_READERS: Final = 16  # positions in recordings that are kept; others are found again by reading
_CHECK_EVERY: Final = 60.0  # seconds, after which the room may have become an encrypted one
_LOOK_EVERY: Final = 30.0  # seconds, after which what could not be read is tried again
_FIRST_RETRY: Final = 1.0
_LONGEST_RETRY: Final = 300.0
_CALM: Final = 60.0  # seconds without a failure, after which events count as not waiting although there are more
_FORBIDDEN: Final = 403


class Worker(threading.Thread):
    """Sends what the exchange offers to one room, until it is to end or the homeserver takes nothing any more."""

    def __init__(self, room: str, connect: Callable[[], Client], exchange: Exchange, log: EventLog) -> None:
        super().__init__(name="matrix", daemon=True)  # a request that hangs does not keep katod from ending
        self._state = _State(room, exchange, log)
        self._connect = connect
        self._exchange = exchange
        self._readers = Readers(log)
        self._log = log

    def run(self) -> None:
        """Send until katod ends. An unexpected failure stops the delivery, and nothing else."""
        try:
            self._run()
        except Stopping:
            pass
        except DeliveryStopped as stop:
            self._state.stop(f"{stop.what} ({stop.hint})" if stop.hint else stop.what)
        except Exception as error:  # noqa: BLE001 - whatever it is, recording goes on
            self._state.stop(f"internal error: {type(error).__name__}")
        finally:
            self._exchange.end()

    def _run(self) -> None:
        with closing(self._connect()) as client:
            room = Room(client, self._exchange, self._state, self._log)
            is_checked = False
            while True:
                try:
                    if not is_checked:
                        client.user()
                        room.check()
                        self._state.started()
                    is_checked = True
                    self._send_all(room)
                except DeliveryStopped:
                    raise
                except DeliveryError as error:
                    is_checked = error.wait is not None  # it only asked to wait
                    self._exchange.pause(self._state.wait(error))

    def _send_all(self, room: "Room") -> None:
        while True:
            offered = self._exchange.offered()
            if not self._turn(offered, room):
                self._state.idle()
                self._exchange.wait(offered, _LOOK_EVERY)

    def _turn(self, offered: dict[int, Recording], room: "Room") -> bool:
        """Send some lines of each recording that has any; return whether there is more to do."""
        self._readers.keep(offered)
        more = False
        for recording in offered.values():
            reader = self._readers.of(recording)
            if reader is not None and room.send_some(reader):
                more = True
            elif reader is not None:
                self._readers.rest(reader)
        return more


class Readers:
    """Positions in the recordings that have something to send, and in those that had something last."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._readers: dict[int, Reader] = {}
        self._resting: dict[int, tuple[Recording, float]] = {}  # of which nothing more can be read, and since when

    def keep(self, offered: dict[int, Recording]) -> None:
        """Forget the recordings that are not offered any more."""
        for known in (self._readers, self._resting):
            for output in known.keys() - offered.keys():
                del known[output]

    def of(self, recording: Recording) -> Reader | None:
        """Return a position in a recording; None if there is nothing new in it, or others have to be sent first."""
        output = recording.row.id
        rested, since = self._resting.get(output, (None, 0.0))
        if rested is recording and monotonic() - since < _LOOK_EVERY:
            return None
        reader = self._readers.get(output)
        if reader is None and not self._make_room():
            return None
        if reader is None or reader.recording.key != recording.key or _has_other_ranges(reader.recording, recording):
            reader = self._readers[output] = Reader(recording, self._log)
        reader.update(recording)
        self._resting.pop(output, None)
        return reader

    def _make_room(self) -> bool:
        """Drop the position that has not been needed for the longest time; return False if all are needed."""
        if len(self._readers) < _MOST_READERS:
            return True
        oldest = next((output for output in self._resting if output in self._readers), None)
        if oldest is not None:
            del self._readers[oldest]
        return oldest is not None

    def rest(self, reader: Reader) -> None:
        """Read nothing of a recording until it has more, or for a while."""
        self._resting[reader.recording.row.id] = reader.recording, monotonic()


def _has_other_ranges(before: Recording, now: Recording) -> bool:
    """Return whether there are more ranges: where they begin may have been passed already."""
    return len(before.row.ranges) != len(now.row.ranges)


class Room:
    """Sends the lines of recordings, one by one, over a connection that works."""

    def __init__(self, client: Client, exchange: Exchange, state: "_State", log: EventLog) -> None:
        self._client = client
        self._exchange = exchange
        self._state = state
        self._log = log
        self._checked = 0.0
        self._known = Known({}, {})
        self._may_send = False  # whether the last event that is no state was accepted

    def check(self) -> None:
        """Check that events may be sent to the room now. Raises DeliveryStopped, DeliveryError."""
        self._client.check_room()
        self._checked = monotonic()

    def send_some(self, reader: Reader) -> bool:
        """Send the next lines of a recording; return whether there may be more. Raises DeliveryError, Stopping."""
        more = reader.read()
        if not reader.lines:
            self._state.note(reader)
            return more
        self._ask(reader)
        for _ in range(min(_TURN, len(reader.lines))):
            if not self._exchange.wants(reader.recording):  # it was forgotten, or its project is excluded now
                return False
            if reader.lines[0].txn not in self._known.sent:
                self._send(reader.lines[0], reader.recording)
            reader.lines.popleft()
        self._state.note(reader)
        return True

    def _ask(self, reader: Reader) -> None:
        """Learn what was sent already of the next lines and of what they refer to."""
        lines = [line for _, line in zip(range(_TURN), reader.lines, strict=False)]
        txns = {txn for line in lines for txn in (line.txn, *line.references)}
        hashes = {large.sha256 for line in lines for large in line.large}
        self._known = self._exchange.ask(Question(reader.recording.session, tuple(sorted(txns)), tuple(sorted(hashes))))

    def _send(self, line: Line, recording: Recording) -> None:
        """Send one event, or skip it if it is refused for good. Raises DeliveryError, Stopping."""
        if monotonic() - self._checked > _CHECK_EVERY:
            self.check()
        for large in line.large:
            if large.sha256 not in self._known.uploaded:
                self._upload(large, recording)
        content = sendable(line, self._known.sent, self._known.uploaded)
        try:
            event = self._client.send(line.txn, line.type, content, line.state_key)
        except DeliveryRefused as refusal:
            self._refuse(refusal, line, recording)
            event = ""
        if line.state_key is None:
            self._may_send = bool(event)
        self._state.sent()
        self._known.sent[line.txn] = event
        self._exchange.report([Sent(recording, line.txn, event)])

    def _refuse(self, refusal: DeliveryRefused, line: Line, recording: Recording) -> None:
        """Raise DeliveryStopped if this refusal is one of all events, and not of this one."""
        self.check()
        txn = line.txn
        if refusal.status == _FORBIDDEN and line.state_key is None and not self._may_send:
            raise DeliveryStopped("the account may not send to the room", hint="see its power level")
        self._log.delivery_refused(recording.row.id, txn, refusal.what)

    def _upload(self, large: Large, recording: Recording) -> None:
        try:
            address = self._client.upload(_bytes(large), large.media_type)
        except (DeliveryRefused, NotBase64):
            address = ""  # the event says what it is, and has the beginning of a text
        self._known.uploaded[large.sha256] = address
        self._exchange.report([Uploaded(recording, large.sha256, address)])


def _bytes(large: Large) -> bytes:
    return large.data.encode() if large.is_text else b64decode(large.data)


class _State:
    """How the delivery is going, as the ledger and the log are told."""

    def __init__(self, room: str, exchange: Exchange, log: EventLog) -> None:
        self._room = room
        self._exchange = exchange
        self._log = log
        self._failures = 0
        self._failed_at = 0.0
        self._since = ""  # since when events wait
        self._problem = ""  # why they do
        self._noted: dict[int, tuple[int, bool, str]] = {}  # what was reported of each output last

    def started(self) -> None:
        """The homeserver accepts the account; that events wait is over with the next one that is sent."""
        if not self._since:
            self._log.delivery_started(self._room)
            self._exchange.report([RoomRow(self._room)], now=True)

    def sent(self) -> None:
        """One event was sent, or refused for good."""
        self._failures = 0
        if self._since and monotonic() - self._failed_at > _CALM:
            self._resume()

    def idle(self) -> None:
        """Nothing waits to be sent; what was sent last is written."""
        self._exchange.report((), now=True)
        if self._since:
            self._resume()

    def _resume(self) -> None:
        self._since = ""
        self._log.delivery_resumed()
        self._exchange.report([RoomRow(self._room)], now=True)

    def wait(self, error: DeliveryError) -> float:
        """Return how long to wait after an error: as long as the server asks, or longer each time."""
        wait = pause(self._failures, first=_FIRST_RETRY, longest=_LONGEST_RETRY) if error.wait is None else error.wait
        self._failures += 1
        self._failed_at = monotonic()
        if not self._since or self._problem != error.what:
            self._since, self._problem = self._since or _now(), error.what
            self._log.delivery_waits(error.what, wait)
            self._exchange.report([RoomRow(self._room, self._since, error.what)], now=True)
        return wait

    def stop(self, problem: str) -> None:
        """Nothing is sent any more."""
        self._log.delivery_stopped(problem)
        row = RoomRow(self._room, self._since or _now(), problem, stopped=True)
        self._exchange.report([row], now=True)

    def note(self, reader: Reader) -> None:
        """Report, once, whether all of a recording was sent, and why the rest cannot be."""
        recording, output = reader.recording, reader.recording.row.id
        state = (recording.last, reader.done, reader.problem)
        if state == self._noted.get(output, (recording.last, False, "")):
            return
        self._noted[output] = state
        if reader.done:
            self._log.delivery_completed(output)
        elif reader.problem:
            self._log.delivery_incomplete(output, reader.problem)
        self._exchange.report([Progress(recording, reader.done, reader.problem)], now=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
