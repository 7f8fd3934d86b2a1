"""Sends the spans of recordings to the collector, in requests of one recording each, over a connection that works."""

from typing import Final, NamedTuple

from katod.delivery.exchange import Exchange, OfferedRecording, Sent, SentQuery
from katod.delivery.progress import ProgressReporter
from katod.delivery.reader import RecordingReader
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.log import EventLog
from katod.otlp.client import CollectorClient
from katod.otlp.lines import SpanLine, batch_of

OTLP: Final = "otlp"  # the section of the settings, and the format
_FINAL: Final = frozenset({400, 413})  # of the spans themselves, or of too many of them
_MOST_TRIES: Final = 8  # of one request with any other answer, before it is looked for what in it causes that


class _Refusals(NamedTuple):
    """A request that is refused again and again: its first span, how often, and what was taken before."""

    first: str = ""
    tries: int = 0
    accepted: int = 0


class Collector:
    """The collector, as far as this process knows it: what it took, and what it refuses."""

    def __init__(self, client: CollectorClient, exchange: Exchange, progress: ProgressReporter, log: EventLog) -> None:
        self._client = client
        self._exchange = exchange
        self._progress = progress
        self._log = log
        self._refusals: dict[int, _Refusals] = {}
        self.accepted = 0

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def open(self) -> None:
        """Check that requests are taken. Raises DeliveryStopped, DeliveryError."""
        self.check()

    def check(self) -> None:
        """Check that requests are taken, by one without spans. Raises DeliveryStopped, DeliveryError."""
        try:
            self._client.send([])
        except DeliveryRefused as refusal:
            if refusal.status in _FINAL:
                what = f"no request is taken, not even an empty one: {refusal.what}"
                raise DeliveryStopped(what, hint="is `otlp.endpoint` that of a collector?") from refusal
            raise DeliveryError(refusal.what) from refusal

    def send_some(self, reader: RecordingReader[SpanLine], *, quiet: bool) -> bool:  # noqa: ARG002 - all spans are final
        """Send the next spans of a recording; return whether there may be more.

        By the question which of them were sent before, the ledger has what the last request sent: only one may be sent
        twice. Raises DeliveryError, Stopping, Withdrawn.
        """
        more, recording = reader.read(), reader.recording
        if not reader.lines:
            self._progress.note(reader)
            return more
        batch = batch_of(reader.lines)
        known = self._exchange.ask(SentQuery(recording.session, recording.row.id, tuple(line.txn for line in batch)))
        self._send([line for line in batch if line.txn not in known.sent], recording)
        for _ in batch:
            reader.lines.popleft()
        self._refusals.pop(recording.row.id, None)
        self._progress.note(reader)
        return True

    def _send(self, lines: list[SpanLine], recording: OfferedRecording, *, blamed: bool = False) -> None:
        """Send spans; halve a request that is refused, until what is refused alone is skipped."""
        if not lines:
            return
        self._exchange.require(recording)
        try:
            rejected = self._client.send(lines)
        except DeliveryRefused as refusal:
            self._check_blame(refusal, lines, recording, blamed=blamed)
            half = len(lines) // 2
            for part in (lines[:half], lines[half:]) if half else ():
                self._send(part, recording, blamed=True)
            if not half:
                self._refuse(refusal, lines, recording)
            return
        self._sent(lines, recording, rejected)

    def _check_blame(
        self, refusal: DeliveryRefused, lines: list[SpanLine], recording: OfferedRecording, *, blamed: bool
    ) -> None:
        """Raise DeliveryError unless the spans are to blame: the collector says so, or takes others all the while."""
        if refusal.status in _FINAL:
            return
        before = self._refusals.get(recording.row.id, _Refusals())
        if before.first != lines[0].txn and not blamed:
            before = _Refusals(lines[0].txn, 0, self.accepted)
        now = before._replace(tries=before.tries + 1)
        self._refusals[recording.row.id] = now
        is_alone = len(lines) == 1 and self.accepted == now.accepted
        if now.tries < _MOST_TRIES or is_alone:
            raise DeliveryError(refusal.what)

    def _refuse(self, refusal: DeliveryRefused, lines: list[SpanLine], recording: OfferedRecording) -> None:
        """Skip a span; raise DeliveryStopped if nothing else would be taken either."""
        self.check()
        self._log.delivery_refused(OTLP, recording.row.id, lines[0].txn, refusal.what)
        self._sent(lines, recording, len(lines))

    def _sent(self, lines: list[SpanLine], recording: OfferedRecording, rejected: int) -> None:
        """Note that spans were sent. Which of them were rejected, nobody says: the last ones count as that."""
        taken = len(lines) - rejected
        if rejected and len(lines) > 1:
            self._log.delivery_rejected(OTLP, recording.row.id, rejected, lines[0].txn, lines[-1].txn)
        self.accepted += taken
        self._progress.sent()
        self._exchange.report(
            [Sent(recording, line.txn, line.txn if number < taken else "") for number, line in enumerate(lines)]
        )
