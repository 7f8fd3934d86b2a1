"""A real daemon for tests, and waiting for what it does."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from katod.service.lock import holder
from tests.world import World

ROOT = Path(__file__).parents[1]
PATIENCE = 20.0


class Daemon:
    """`katod run` as a process of its own on a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.log = world.home / "daemon.log"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        began = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "katod", "run"],
                env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
                cwd=self.world.home,
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        until(lambda: b'"daemon.started"' in self.log.read_bytes()[began:] or self.ended(), "the daemon to start")
        assert not self.ended(), self.log.read_text()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ended(self) -> bool:
        """Whether the process is gone."""
        return self.process is None or self.process.poll() is not None

    def stop(self) -> int:
        """End it in order; returns its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it in no order at all."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    def hang_up(self) -> None:
        """Have it read its settings again."""
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    @property
    def running(self) -> bool:
        """Whether a katod holds the state directory."""
        return holder(self.world.state) is not None


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition; fails with its name when it does not come true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)
