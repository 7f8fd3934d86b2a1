"""What signals request: SIGTERM and SIGINT to stop, SIGHUP to reload the settings."""

import os
import signal
from collections.abc import Callable
from types import FrameType


class Signals:
    """Received signals, kept for the main loop."""

    def __init__(self) -> None:
        self.stop = ""  # the name of the signal that requested it
        self.reload = False
        self._wake: Callable[[], None] = lambda: None

    @classmethod
    def install(cls) -> "Signals":
        """Handle SIGTERM, SIGINT and SIGHUP from now on, so that a daemon can also be stopped while starting."""
        signals = cls()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signals._stop)
        signal.signal(signal.SIGHUP, signals._reload)
        return signals

    def on_arrival(self, wake: Callable[[], None]) -> None:
        """Call this, in the main thread, whenever a signal arrives."""
        self._wake = wake

    def take_reload(self) -> bool:
        """Return, once, whether the settings are to be reloaded."""
        reload, self.reload = self.reload, False
        return reload

    def _stop(self, number: int, _: FrameType | None) -> None:
        """Let the step in progress finish; a second signal ends the process at once."""
        if self.stop:
            os._exit(1)
        self.stop = signal.Signals(number).name
        self._wake()

    def _reload(self, _number: int, _: FrameType | None) -> None:
        self.reload = True
        self._wake()
