"""The sending thread: it reads recordings by itself and makes one request at a time.

An event is sent with a transaction that follows from its id. If the answer is lost, or katod ends before the ledger has
it, the same transaction is sent again, and the server returns the event that it has.
"""

import threading
from collections.abc import Callable
from contextlib import closing

from katod.errors import DeliveryError, DeliveryStopped
from katod.log import EventLog
from katod.matrix.client import Client
from katod.matrix.exchange import Exchange, OfferedRecording, SentQuery, Stopping
from katod.matrix.progress import ProgressReporter
from katod.matrix.readers import Readers
from katod.matrix.room import Room


class Worker(threading.Thread):
    """Sends what the exchange offers to one room, until it is to end or the homeserver takes nothing any more."""

    def __init__(self, room: str, connect: Callable[[], Client], exchange: Exchange, log: EventLog) -> None:
        super().__init__(name="matrix", daemon=True)  # a request that hangs does not keep katod from ending
        self._progress = ProgressReporter(room, exchange, log)
        self._connect = connect
        self._exchange = exchange
        self._readers = Readers(log, self._last)
        self._log = log

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
        with closing(self._connect()) as client:
            room = Room(client, self._exchange, self._progress, self._log)
            is_checked = False
            while True:
                try:
                    if not is_checked:
                        client.user()
                        room.check()
                        self._progress.started()
                    is_checked = True
                    self._send_all(room)
                except DeliveryStopped:
                    raise
                except DeliveryError as error:
                    is_checked = error.wait is not None  # it only asked to wait
                    self._exchange.pause(self._progress.wait(error))

    def _send_all(self, room: Room) -> None:
        while True:
            offered = self._exchange.offered()
            self._readers.keep(offered)
            more = [self._step(recording, room) for recording in offered.values()]
            if not any(more):
                self._progress.idle()
                self._exchange.wait(offered, self._readers.pause())

    def _step(self, recording: OfferedRecording, room: Room) -> bool:
        """Send some lines of a recording; return whether there is more to do. If it alone fails, the others are sent.

        Raises DeliveryError if nothing can be sent.
        """
        try:
            return self._send_some(recording, room)
        except (Stopping, DeliveryStopped):
            raise
        except DeliveryError as error:
            if error.wait is not None:
                raise
            room.check()  # otherwise nothing can be sent
            self._park(recording, f"the next event cannot be sent; katod tries again: {error.what}", reread=False)
        except Exception as error:  # noqa: BLE001 - what one session contains does not stop the others
            self._park(recording, _internal(error), reread=True)
        return False

    def _send_some(self, recording: OfferedRecording, room: Room) -> bool:
        """Send some lines of a recording; return whether there is more to do."""
        reader = self._readers.of(recording)
        if reader is None:
            return False
        before = room.accepted
        more = room.send_some(reader, quiet=self._readers.is_quiet(reader))
        if room.accepted > before:
            self._readers.resume(reader)
        if not more:
            self._readers.rest(reader)
        return more

    def _park(self, recording: OfferedRecording, problem: str, *, reread: bool) -> None:
        wait, failures = self._readers.park(recording, reread=reread)
        self._progress.postponed(recording, problem, wait, failures=failures)

    def _last(self, recording: OfferedRecording) -> str:
        """Return the transaction of the last event that was sent of a recording. Raises Stopping."""
        return self._exchange.ask(SentQuery(recording.session, recording.row.id)).last


def _internal(error: Exception) -> str:
    return f"internal error: {type(error).__name__}"
