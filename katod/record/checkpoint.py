"""The writing half of a step: outputs are checked before it, stored with it in one transaction, then appended to."""

from katod.discover.catalog import Catalog
from katod.record.catchup import CatchUp
from katod.record.delivery import Delivery
from katod.record.session import ActiveSession
from katod.store.ledger import Ledger


class Checkpoint:
    """Takes the outputs of a session from one committed step to the next."""

    def __init__(self, ledger: Ledger, catalog: Catalog, delivery: Delivery, catch_up: CatchUp) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._delivery = delivery
        self._catch_up = catch_up

    def check(self, session: ActiveSession) -> None:
        """Look at the outputs before anything is printed; one whose file is missing is detached."""
        missing = [output for output in session.live if not self._delivery.check(output)]
        for output in missing:
            output.keep_printer()
            self._catch_up.detach(output, session)
        session.leave_live()

    def save(self, session: ActiveSession) -> None:
        """Store the step, including its intents, within its transaction."""
        for output in session.live:
            self._delivery.save_assets(output)
        session.save(self._ledger)
        self._catalog.saved(session.sources)

    def deliver(self, session: ActiveSession) -> None:
        """Append the intents of a committed step; an output that cannot be written is detached until it can be."""
        session.saved()
        self._delivery.saved(session.live)
        for output in session.live:
            if not self._delivery.deliver(output):
                self._catch_up.detach(output, session)
        session.leave_live(closed=True)
