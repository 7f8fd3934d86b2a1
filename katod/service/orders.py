"""What the person or the service manager orders by signals: to stop, to read the settings again."""

import os
import signal
from collections.abc import Callable
from types import FrameType


class Orders:
    """Signals, noted for the loop. They are heard from the first moment on: a start can be stopped, too."""

    def __init__(self) -> None:
        self.stop = ""  # the signal that said so
        self.reload = False
        self.wake: Callable[[], None] = lambda: None

    @classmethod
    def heard(cls) -> "Orders":
        """Take SIGTERM, SIGINT and SIGHUP from now on."""
        orders = cls()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, orders._stop)
        signal.signal(signal.SIGHUP, orders._reload)
        return orders

    def _stop(self, number: int, _: FrameType | None) -> None:
        """Have the step under way finished; whoever asks twice does not want to wait for it."""
        if self.stop:
            os._exit(1)
        self.stop = signal.Signals(number).name
        self.wake()

    def _reload(self, _number: int, _: FrameType | None) -> None:
        self.reload = True
        self.wake()
