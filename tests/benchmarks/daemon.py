"""A daemon to measure, in a world of its own."""

import time
from pathlib import Path
from typing import Final, Self

from tests.benchmarks.generate import AGENTS, Session
from tests.support.live import Live, until
from tests.support.world import World

PATIENCE: Final = 60.0  # thousands of sessions take a while
_SLUG: Final = "-home-dev-work-lantern"
_DAY: Final = "2026/01/05"
_SETTLED: Final = 0.004  # CPU seconds that an idle daemon may use between two looks
_LOOK_EVERY: Final = 0.8


def world_at(folder: Path) -> World:
    """Return a world in its own folder, in which katod has not run yet."""
    return World(folder, seen_empty=False)


def session_path(world: World, made: Session) -> Path:
    """Return the path at which the agent would keep this session."""
    claude = isinstance(made, AGENTS["claude"])
    return world.home / (f".claude/projects/{_SLUG}" if claude else f".codex/sessions/{_DAY}") / made.name()


class Measured(Live):
    """The daemon as shipped, from start to end, and its resource usage."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "env", full=None)  # a prefix starts Python; a fork would share this process
        self.patience = PATIENCE

    def __enter__(self) -> Self:
        self.began = time.monotonic()
        super().__enter__()
        self.ready = time.monotonic()
        return self

    def cpu(self) -> float:
        """Return the CPU time so far, user and system, in seconds: as in /proc/PID/stat, but more precise."""
        return time.clock_gettime(~self.process.pid << 3 | 2)  # clock_getcpuclockid(3)

    def rss(self) -> float:
        """Return the resident memory in MB."""
        return self.memory() * 1024 / 1e6

    def settled(self) -> float:
        """Wait until the daemon is idle (no work for most of a second); return its CPU time at that point."""
        before = self.cpu()

        def rests() -> bool:
            nonlocal before
            last, before = before, self.cpu()
            return before - last < _SETTLED

        time.sleep(_LOOK_EVERY)
        until(rests, "the daemon to settle", PATIENCE, poll=_LOOK_EVERY)
        return before
