"""What katod does besides recording, between the steps: delivering recordings, and saving sessions from deletion."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from katod import config
from katod.delivery.delivery import DeliveryKind, RecordingDelivery
from katod.discover.catalog import Catalog
from katod.log import EventLog
from katod.matrix.kind import MATRIX_DELIVERY
from katod.otlp.kind import OTLP_DELIVERY
from katod.record.policy import Policy
from katod.rescue.rescuer import Rescuer
from katod.store.ledger import Ledger

_KINDS: Final[tuple[DeliveryKind[Any], ...]] = (MATRIX_DELIVERY, OTLP_DELIVERY)


class Chores:
    """The chores, each of which does nothing unless the settings ask for it."""

    def __init__(self, ledger: Ledger, catalog: Catalog, state: Path, log: EventLog, wake: Callable[[], None]) -> None:
        self.deliveries = {kind.name: RecordingDelivery(kind, ledger, wake, log) for kind in _KINDS}
        self.rescuer = Rescuer(ledger, catalog, config.rescue_path(), state, log)

    def advance(self, now: float) -> bool:
        """Go on with each for a moment; return whether there is more to do now. Raises LedgerError."""
        self.rescuer.look(now, time.time_ns())
        more = self.rescuer.advance()
        self.look()
        return more

    def use(self, policy: Policy) -> None:
        """Deliver as these settings say, from now on."""
        for delivery in self.deliveries.values():
            delivery.use(policy)

    def look(self, *, at_once: bool = False) -> None:
        """Write what was delivered, and offer what is new: now and then, or `at_once`. Raises LedgerError."""
        for delivery in self.deliveries.values():
            delivery.look(at_once=at_once)

    def rescue_all(self, is_stopped: Callable[[], bool]) -> None:
        """Save everything that is due, in a single run of katod."""
        self.rescuer.look(time.monotonic(), time.time_ns())
        while not is_stopped() and self.rescuer.advance():
            pass

    def deadlines(self) -> list[float]:
        """Return when (monotonic) there may be something to do."""
        found = [self.rescuer.deadline(), *(delivery.deadline() for delivery in self.deliveries.values())]
        return [due for due in found if due is not None]

    def close(self) -> None:
        """End each, as far as it has come."""
        self.rescuer.close()
        for delivery in self.deliveries.values():
            delivery.close()
