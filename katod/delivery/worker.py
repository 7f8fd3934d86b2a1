"""The sending thread: it reads recordings by itself and makes one request at a time.

What is sent is known by an id that follows from katod's own ids. If an answer is lost, or katod ends before the ledger
has it, the same is sent again, under the same id.
"""

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Generic, Protocol

from katod.delivery.exchange import Exchange, OfferedRecording, SentQuery, Stopping, Withdrawn
from katod.delivery.progress import ProgressReporter
from katod.delivery.reader import L, RecordingReader, SentFormat
from katod.delivery.readers import Readers
from katod.errors import DeliveryError, DeliveryStopped
from katod.log import EventLog


class Destination(Protocol[L]):
    """What recordings are sent to, over a connection that works."""

    @property
    def accepted(self) -> int:
        """How many lines it took of this process."""

    def open(self) -> None:
        """Check that it can be used. Raises DeliveryStopped, DeliveryError."""

    def check(self) -> None:
        """Check that it takes anything now. Raises DeliveryStopped, DeliveryError."""

    def send_some(self, reader: RecordingReader[L], *, quiet: bool) -> bool:
        """Send the next lines of a recording; return whether there may be more.

        `quiet`: nothing has come for so long that the lines that wait for more can be sent, too.
        Raises DeliveryError, Stopping, and Withdrawn, which it makes sure of before each request.
        """

    def close(self) -> None:
        """Close the connection."""


class Worker(threading.Thread, Generic[L]):
    """Sends what the exchange offers to one destination, until it is to end or nothing is taken any more."""

    def __init__(
        self, progress: ProgressReporter, connect: Callable[[], Destination[L]], form: SentFormat[L],
        exchange: Exchange, log: EventLog,
    ) -> None:  # fmt: skip
        super().__init__(name=form.name, daemon=True)  # a request that hangs does not keep katod from ending
        self._progress = progress
        self._connect = connect
        self._exchange = exchange
        self._readers = Readers(form, log, self._last)

    def run(self) -> None:
        """Send until katod ends. An unexpected failure stops the delivery, and nothing else."""
        try:
            self._run()
        except Stopping:
            pass
        except DeliveryStopped as stop:
            self._progress.stop(f"{stop.what} ({stop.hint})" if stop.hint else stop.what)
        except Exception as error:  # noqa: BLE001 - whatever it is, recording goes on
            self._progress.stop(_internal(error))
        finally:
            self._exchange.end()

    def _run(self) -> None:
        with closing(self._connect()) as destination:
            is_checked = False
            while True:
                try:
                    if not is_checked:
                        destination.open()
                        self._progress.started()
                    is_checked = True
                    self._send_all(destination)
                except DeliveryStopped:
                    raise
                except DeliveryError as error:
                    is_checked = error.wait is not None  # it only asked to wait
                    self._exchange.pause(self._progress.wait(error))

    def _send_all(self, destination: Destination[L]) -> None:
        while True:
            offered = self._exchange.offered()
            self._readers.keep(offered)
            self._progress.keep(offered)
            more = [self._step(recording, destination) for recording in offered.values()]
            if not any(more):
                self._progress.idle()
                self._exchange.wait(offered, self._readers.pause())

    def _step(self, recording: OfferedRecording, destination: Destination[L]) -> bool:
        """Send some lines of a recording; return whether there is more to do. If it alone fails, the others are sent.

        Raises DeliveryError if nothing can be sent.
        """
        try:
            return self._send_some(recording, destination)
        except (Stopping, DeliveryStopped):
            raise
        except Withdrawn:
            return True  # look at what is offered now
        except DeliveryError as error:
            if error.wait is not None:
                raise
            destination.check()  # otherwise nothing can be sent
            self._park(recording, f"what is next cannot be sent; katod tries again: {error.what}", reread=False)
        except Exception as error:  # noqa: BLE001 - what one session contains does not stop the others
            self._park(recording, _internal(error), reread=True)
        return False

    def _send_some(self, recording: OfferedRecording, destination: Destination[L]) -> bool:
        """Send some lines of a recording; return whether there is more to do."""
        reader = self._readers.of(recording)
        if reader is None:
            return False
        before = destination.accepted
        more = destination.send_some(reader, quiet=self._readers.is_quiet(reader))
        if destination.accepted > before:
            self._readers.resume(reader)
        if not more:
            self._readers.rest(reader)
        return more

    def _park(self, recording: OfferedRecording, problem: str, *, reread: bool) -> None:
        wait, failures = self._readers.park(recording, reread=reread)
        self._progress.postponed(recording, problem, wait, failures=failures)

    def _last(self, recording: OfferedRecording) -> str:
        """Return the transaction of the last line that was sent of a recording. Raises Stopping."""
        return self._exchange.ask(SentQuery(recording.session, recording.row.id)).last


def _internal(error: Exception) -> str:
    return f"internal error: {type(error).__name__}"
