"""What katod does beside recording, between the steps: delivering to a room, and saving sessions from deletion."""

import time
from collections.abc import Callable
from pathlib import Path

from katod import config
from katod.discover.catalog import Catalog
from katod.log import EventLog
from katod.matrix.delivery import RoomDelivery
from katod.rescue.rescuer import Rescuer
from katod.store.ledger import Ledger


class Chores:
    """The chores, each of which does nothing unless the settings ask for it."""

    def __init__(self, ledger: Ledger, catalog: Catalog, state: Path, log: EventLog, wake: Callable[[], None]) -> None:
        self.room = RoomDelivery(ledger, wake, log)
        self.rescuer = Rescuer(ledger, catalog, config.rescue_path(), state, log)

    def advance(self, now: float) -> bool:
        """Go on with each for a moment; return whether there is more to do now. Raises LedgerError."""
        self.rescuer.look(now, time.time_ns())
        more = self.rescuer.advance()
        self.room.look()
        return more

    def rescue_all(self, is_stopped: Callable[[], bool]) -> None:
        """Save everything that is due, in a single run of katod."""
        self.rescuer.look(time.monotonic(), time.time_ns())
        while not is_stopped() and self.rescuer.advance():
            pass

    def deadlines(self) -> list[float]:
        """Return when (monotonic) there may be something to do."""
        return [look for look in (self.room.deadline(), self.rescuer.deadline()) if look is not None]

    def close(self) -> None:
        """End each, as far as it has come."""
        self.rescuer.close()
        self.room.close()
