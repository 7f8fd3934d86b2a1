"""What signals ask for: SIGTERM and SIGINT to stop, SIGHUP to read the settings again."""

import os
import signal
from collections.abc import Callable
from types import FrameType


class Signals:
    """Signals, noted for the loop."""

    def __init__(self) -> None:
        self.stop = ""  # the name of the signal that asked for it
        self.reload = False
        self.wake: Callable[[], None] = lambda: None

    @classmethod
    def install(cls) -> "Signals":
        """Take SIGTERM, SIGINT and SIGHUP from now on: a daemon that is still starting can be stopped, too."""
        signals = cls()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signals._stop)
        signal.signal(signal.SIGHUP, signals._reload)
        return signals

    def _stop(self, number: int, _: FrameType | None) -> None:
        """Let the step under way finish; a second signal ends the process at once."""
        if self.stop:
            os._exit(1)
        self.stop = signal.Signals(number).name
        self.wake()

    def _reload(self, _number: int, _: FrameType | None) -> None:
        self.reload = True
        self.wake()
