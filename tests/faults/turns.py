"""katod in this process, turn by turn: what it remembers between two looks counts, and it can end in any way."""

import os

from katod import config
from katod.daemon import Daemon
from katod.log import EventLog
from katod.service.lock import Lock


class Living(Daemon):
    """A daemon without a loop: it looks when it is told to."""

    def __init__(self, world):
        self._lock = Lock.take(world.state)
        self._umask = os.umask(0o077)
        super().__init__(config.load(world.config), world.config, world.state, EventLog())
        self._pipeline.resume()
        self._schedule.queue(self._discovery.catalog.unread())

    def turn(self):
        """Look at everything, and process it."""
        self._schedule.queue(self._discovery.sweep())
        self._schedule.queue(source for source in self._discovery.catalog.sources.values() if source.problem)
        self.process()

    def stop(self):
        """End in order."""
        self.close()
        self._let_go()

    def vanish(self):
        """End as a kill ends it: what was not committed is lost."""
        self._ledger.close()
        self._let_go()

    def _let_go(self):
        os.umask(self._umask)
        self._lock.release()
