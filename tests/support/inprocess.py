"""katod in this process, turn by turn: it keeps its state between turns, and can end in any way."""

import os
import time

from katod.config import load
from katod.daemon import Daemon
from katod.log import EventLog
from katod.pipeline import NOW
from katod.service.lock import Lock
from tests.support.collected import close_later
from tests.support.world import World


class InProcess(Daemon):
    """A daemon without its loop: it looks when created, and then on every turn."""

    def __init__(self, world: World) -> None:
        self._lock = Lock.take(world.state)
        self._umask = os.umask(0o077)
        super().__init__(load(world.config), world.config, world.state, EventLog())
        self._left_running = close_later(self, self._ledger.close)  # for tests that do so
        self._begin()
        self.turn()

    def turn(self, later: float = 0.0) -> None:
        """Look at everything and process it, as if this many seconds had passed."""
        self._schedule.queue(self._discovery.sweep())
        self._schedule.queue(self._pipeline.take_failed())
        sources = self._discovery.catalog.sources.values()
        self._schedule.queue(source for source in sources if source.problem and not source.unusable)
        while self._schedule or self._pipeline.follow(time.monotonic() + later):
            self._step_due(NOW)

    def step(self) -> bool:
        """Look at everything and step each source once; return whether one of them has more to read."""
        self._schedule.queue(self._discovery.sweep())
        return self._step_due(NOW)

    def read(self) -> None:
        """Look at everything and step all sources to their end, but let no output catch up."""
        self._schedule.queue(self._discovery.sweep())
        while self._schedule:
            self._step_due(NOW)

    def stop(self) -> None:
        """Shut down cleanly."""
        self.close()
        self._let_go()

    def vanish(self) -> None:
        """End as if killed: uncommitted changes are lost."""
        self._ledger.close()
        self._let_go()

    def _let_go(self) -> None:
        self._left_running.detach()
        os.umask(self._umask)
        self._lock.release()
