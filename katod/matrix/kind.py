"""Deliveries to a Matrix room, as one kind of delivery."""

from typing import Final

from katod.config import Settings
from katod.delivery.delivery import DeliveryKind
from katod.delivery.exchange import Exchange
from katod.delivery.progress import ProgressReporter
from katod.delivery.reader import SentFormat
from katod.log import EventLog
from katod.matrix.client import Client
from katod.matrix.lines import lines_of
from katod.matrix.room import MATRIX, Room


def _room(settings: Settings, exchange: Exchange, progress: ProgressReporter, log: EventLog) -> Room:
    return Room(Client(settings.matrix), exchange, progress, log)


# An answer waits up to a minute for its usage: one that will never come holds nothing back. Who is in a room may read
# it: a recording is sent to the one that was known at its start, or not at all.
MATRIX_DELIVERY: Final = DeliveryKind(
    MATRIX, SentFormat(MATRIX, lines_of, releases=True), _room, retargets_unsent=False
)
