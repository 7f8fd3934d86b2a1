"""Deliveries of spans to a collector, as one kind of delivery."""

from typing import Final

from katod.config import Settings
from katod.delivery.delivery import DeliveryKind
from katod.delivery.exchange import Exchange
from katod.delivery.progress import ProgressReporter
from katod.delivery.reader import SentFormat
from katod.log import EventLog
from katod.otlp.client import CollectorClient
from katod.otlp.collector import OTLP, Collector
from katod.otlp.lines import lines_of


def _collector(settings: Settings, exchange: Exchange, progress: ProgressReporter, log: EventLog) -> Collector:
    return Collector(CollectorClient(settings.otlp), exchange, progress, log)


# What is sent twice has to be the same span: it is sent once it is final, however long that takes.
OTLP_DELIVERY: Final = DeliveryKind(OTLP, SentFormat(OTLP, lines_of, releases=False), _collector, retargets_unsent=True)
