"""The daemon's part of a delivery: it offers what is in the ledger, and writes what was sent to it.

Called from the loop, between steps; it never waits for the network.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final, Generic, NamedTuple

from katod.config import Settings
from katod.delivery.exchange import (
    Exchange,
    OfferedRecording,
    Progress,
    Report,
    Sent,
    SentAlready,
    SentQuery,
    Uploaded,
)
from katod.delivery.progress import ProgressReporter
from katod.delivery.reader import L, SentFormat
from katod.delivery.worker import Destination, Worker
from katod.destinations import DeliverySettings, OtlpSettings
from katod.log import EventLog
from katod.record.follow import Limited
from katod.record.policy import Policy
from katod.store.ledger import Ledger
from katod.store.rows import DestinationRow, PositionRow, SentRow, SourceRow, UploadRow

_PATIENCE: Final = 2.0  # seconds for a request that is being made when katod ends, or its settings change
_OFFER_EVERY: Final = 0.25  # seconds, at least: more often, the ledger is not asked what there is
_SHARE: Final = 10  # or so many times as long as that took
_LOOK_EVERY: Final = 5.0  # seconds, at most, while something waits: a project may be excluded by now
_EXCLUDED: Final = "its project is excluded"
_UNREADABLE: Final = "the settings of its project cannot be read"
Position = tuple[int, Hashable]


class DeliveryKind(NamedTuple, Generic[L]):
    """One kind of destination: the section of the settings that names it, what is sent, and what connects to it.

    Connecting raises DeliveryStopped, without the extra that it needs or with settings that cannot be used.
    `retargets_unsent`: a recording of which nothing was sent goes to the current destination, not to its first.
    """

    name: str
    form: SentFormat[L]
    connect: Callable[[Settings, Exchange, ProgressReporter, EventLog], Destination[L]]
    retargets_unsent: bool


class _Unfinished(NamedTuple):
    """An output of which not all was sent: what changes whenever it has more, its directory, and what is offered."""

    position: Position
    cwd: str
    recording: OfferedRecording


@dataclass(slots=True)
class _Offers:
    """What there is to send, why some of it is not sent now (by output); and when there may be something new."""

    found: dict[int, _Unfinished] = field(default_factory=dict)
    withheld: dict[int, str] = field(default_factory=dict)
    changes: int = -1  # of the ledger, when it was last looked at
    due: float = 0.0
    again: float = 0.0  # whether or not it changed


class RecordingDelivery:
    """What is delivered to a destination of one kind; nothing happens before `use` is called with settings for it."""

    def __init__(self, kind: DeliveryKind[Any], ledger: Ledger, wake: Callable[[], None], log: EventLog) -> None:
        self._kind = kind
        self._ledger = ledger
        self._wake = wake
        self._log = log
        self._to: DeliverySettings = Settings().deliveries[kind.name]  # what the thread was started with
        self._policy: Policy | None = None  # None while nothing is to be sent
        self._thread: tuple[Worker[Any], Exchange] | None = None
        self._offers = _Offers()

    def use(self, policy: Policy) -> None:
        """Deliver as these settings say, from now on; what was stopped by a problem is tried again.

        A request that is being made is completed first, by the thread; but one that takes long is left to itself.
        """
        self._policy = policy
        if self._thread is not None:
            self._thread[1].stop()
        self._offers = _Offers()
        self._note(policy.settings.deliveries[self._kind.name].parts)
        self.look()

    def close(self) -> None:
        """Stop sending, after the request that is being made if it does not take long; write what was sent."""
        if self._policy is not None:
            self._note(())
        if self._thread is None:
            return
        worker, exchange = self._thread
        exchange.stop()
        worker.join(_PATIENCE)
        self._write(exchange.take()[0])
        self._policy = self._thread = None

    def _note(self, parts: tuple[str, ...]) -> None:
        """Let others know where katod delivers to."""
        if self._ledger.deliveries.running(self._kind.name) != parts:
            with self._ledger.transaction():
                self._ledger.deliveries.begin_with(self._kind.name, parts)

    def look(self, *, at_once: bool = False) -> None:
        """Write what was sent, answer what was asked, and offer what is new: now and then, or `at_once`.

        Raises LedgerError.
        """
        if self._policy is None:
            return
        if self._thread is None:
            self._start(self._policy.settings)
        if self._thread is None:
            return
        exchange = self._thread[1]
        is_over = exchange.is_over or self._is_abandoned(exchange)
        self._hear(exchange)
        if self._is_due(at_once=at_once):
            self._offer(exchange)
        if is_over and exchange.is_stopping:  # for other settings; one that was stopped by a problem stays
            self._thread = None
            self.look()

    def _hear(self, exchange: Exchange) -> None:
        reports, question = exchange.take()
        self._write(reports)
        if question is not None:
            exchange.answer(self._answer(question))

    def _is_abandoned(self, exchange: Exchange) -> bool:
        """Return whether a thread that is to end has not done so for too long: nothing more is heard of it.

        It ends with its request. What that sends is not noted, and sent again, with the same ids.
        """
        is_late = not exchange.is_over and monotonic() >= exchange.stopped + _PATIENCE
        if is_late:
            kind = self._kind.name
            self._log.delivery_abandoned(kind)
        return is_late

    @property
    def _has_changed(self) -> bool:
        return self._offers.changes != self._ledger.db.total_changes

    def _is_due(self, *, at_once: bool) -> bool:
        """Return whether there may be something else to offer."""
        return (at_once and self._has_changed) or monotonic() >= self._due

    @property
    def _due(self) -> float:
        """When (monotonic) there may be, infinity if there is nothing."""
        if self._has_changed:
            return self._offers.due
        return self._offers.again if self._offers.found else inf

    def deadline(self) -> float | None:
        """Return when (monotonic) there may be something to offer or a thread to replace, None if there is nothing."""
        if self._thread is None:
            return None
        if (exchange := self._thread[1]).is_stopping:
            return exchange.stopped + _PATIENCE
        return self._due if self._due < inf else None

    def _start(self, settings: Settings) -> None:
        found, kind = settings.deliveries[self._kind.name], self._kind
        if found.is_on:
            self._to, exchange = found, Exchange(self._wake)
            with self._ledger.transaction():
                self._ledger.deliveries.try_again(found.destination)
                if kind.retargets_unsent:
                    content = isinstance(found, OtlpSettings) and found.content
                    self._ledger.deliveries.follow(kind.name, found.destination, with_content=content)
            progress = ProgressReporter(kind.name, found.destination, exchange, self._log)
            connect = partial(kind.connect, settings, exchange, progress, self._log)
            worker = Worker(progress, connect, kind.form, exchange, self._log)
            self._thread = worker, exchange
            self._offers = _Offers()
            worker.start()

    # -- what is offered ------------------------------------------------------------------------------

    def _offer(self, exchange: Exchange) -> None:
        """Offer what the ledger has, and look again after a while: that takes long if there is much."""
        began, before = monotonic(), self._offers
        positions = self._ledger.deliveries.offers(self._to.destination)
        found = {
            output: before.found[output]
            if output in before.found and before.found[output].position == position
            else self._unfinished(output, position)
            for output, position in positions.items()
        }
        withheld = self._withheld(found)
        self._note_withheld(withheld)
        if (found, withheld) != (before.found, before.withheld):
            exchange.offer({output: one.recording for output, one in found.items() if output not in withheld})
        now, changes = monotonic(), self._ledger.db.total_changes
        due = now + max(_OFFER_EVERY, _SHARE * (now - began))
        self._offers = _Offers(found, withheld, changes, due, max(due, now + _LOOK_EVERY))

    def _unfinished(self, output: int, position: Position) -> _Unfinished:
        """Return an output with the ranges of it that are delivered."""
        session = self._ledger.session(position[0])
        row = next(row for row in self._ledger.outputs(session.id) if row.id == output)
        numbers = self._ledger.deliveries.numbers(output, self._to.destination)
        delivered = row._replace(ranges=tuple(row.ranges[number] for number in numbers))
        sources = tuple(_limited(source, is_open=delivered.open) for source in self._ledger.sources_of(session.id))
        recording = OfferedRecording(session.id, session.key, delivered, numbers[-1], sources)
        return _Unfinished(position, session.cwd, recording)

    def _withheld(self, found: dict[int, _Unfinished]) -> dict[int, str]:
        """Return why outputs are not sent now: what a project says of itself may be new."""
        reasons = {cwd: self._excluded(cwd) for cwd in {one.cwd for one in found.values()}}
        return {output: reason for output, one in found.items() if (reason := reasons[one.cwd])}

    def _excluded(self, cwd: str) -> str:
        """Return why nothing of a project is sent: it is never recorded by now, or that is not known."""
        try:
            is_excluded = self._policy is None or self._policy.in_project(cwd).excludes(cwd)
        except OSError:
            return _UNREADABLE
        return _EXCLUDED if is_excluded else ""

    def _note_withheld(self, withheld: dict[int, str]) -> None:
        """Let `katod status` say what is not sent, and no longer say what is sent again."""
        deliveries, destination = self._ledger.deliveries, self._to.destination
        noted = dict(deliveries.problems(destination))
        over = {output: "" for output, reason in noted.items() if reason in (_EXCLUDED, _UNREADABLE)}
        changed = {output: reason for output, reason in (over | withheld).items() if noted.get(output, "") != reason}
        if changed:
            with self._ledger.transaction():
                for output, reason in changed.items():
                    deliveries.note_problem(output, destination, reason)

    # -- what was sent --------------------------------------------------------------------------------

    def _answer(self, question: SentQuery) -> SentAlready:
        deliveries = self._ledger.deliveries
        return SentAlready(
            deliveries.sent(question.session, self._to.destination, question.txns),
            deliveries.uploaded(self._to.server, question.hashes),
            deliveries.position(question.output, self._to.destination),
            deliveries.has_any(self._to.destination),
        )

    def _write(self, reports: list[Report]) -> None:
        """Store what happened, but nothing of sessions that were forgotten meanwhile."""
        if not reports:
            return
        destination, server, deliveries = self._to.destination, self._to.server, self._ledger.deliveries
        with self._ledger.transaction():
            for report in reports:
                if isinstance(report, DestinationRow):
                    deliveries.note(report)
                elif not self._is_known(report.recording):
                    pass
                elif isinstance(report, Sent):
                    deliveries.add_sent([SentRow(report.recording.session, destination, report.txn, report.event)])
                    deliveries.move(PositionRow(report.recording.row.id, destination, report.txn))
                elif isinstance(report, Uploaded):
                    deliveries.add_uploads([UploadRow(report.recording.session, server, report.sha256, report.address)])
                else:
                    self._progress(report)

    def _progress(self, report: Progress) -> None:
        deliveries, output, destination = self._ledger.deliveries, report.recording.row.id, self._to.destination
        if report.done:
            deliveries.finish(output, destination, report.recording.last)
        else:
            deliveries.note_problem(output, destination, report.problem)

    def _is_known(self, recording: OfferedRecording) -> bool:
        found = self._ledger.find_session(recording.key)
        return found is not None and found.id == recording.session


def _limited(source: SourceRow, *, is_open: bool) -> Limited:
    """Return a source up to where katod has read it: a `::stop` may follow. What has ended is known to end."""
    return Limited(source.path, source.identity, source.cursor if is_open else None)
