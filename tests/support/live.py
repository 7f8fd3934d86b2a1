"""A live daemon: `katod run` as a process in a world, prefixes to run it under, and helpers that wait for it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import IO, Final, Self, TypeVar

import pytest

from katod.service.lock import holder
from tests.support import program
from tests.support.world import World

PATIENCE: Final = float(os.environ.get("KATOD_PATIENCE", "20"))
POLL: Final = 0.02
NEVER: Final = 100_000.0
_PREPARE: Final = (
    "from katod.discover import discovery; discovery.FULL_EVERY = discovery.FULL_EVERY_WHEN_QUIET = {}; {}"
)
T = TypeVar("T")


def until(probe: Callable[[], T], what: str, seconds: float = PATIENCE, poll: float = POLL) -> T:
    """Return the first true value of `probe()`; fail, naming `what`, if there is none in time."""
    deadline = time.monotonic() + seconds
    while not (value := probe()):
        if time.monotonic() > deadline:
            pytest.fail(f"timed out after {seconds:.0f} s waiting for {what}")
        time.sleep(poll)
    return value


class Live:
    """Runs `katod run` within the block, under other programs if there is a prefix; it must exit with 0.

    A full sweep finds everything eventually, which would hide that nothing else did. By default there is therefore only
    the first one. `full` sweeps at this interval in seconds; None keeps the program's default. `also` is code to run
    first.
    """

    def __init__(self, world: World, *prefix: str, full: float | None = NEVER, also: str = "pass") -> None:
        self.world, self.log = world, world.home / "daemon.log"
        self._prefix, self._prepare = prefix, "pass" if full is None else _PREPARE.format(full, also)
        self.patience = PATIENCE
        self._started = 0
        self.process: subprocess.Popen[bytes] | program.Child

    def __enter__(self) -> Self:
        self.start()
        try:
            self.until_said('"daemon.started"')
        except BaseException:
            self.kill()
            raise
        return self

    def start(self) -> None:
        """Start it without waiting."""
        with self.log.open("ab") as log:
            self._started = log.tell()
            self.process = self._under_prefix(log) if self._prefix else self._forked(log)

    def _under_prefix(self, log: IO[bytes]) -> "subprocess.Popen[bytes]":
        code = f"from katod import cli; {self._prepare}; cli.main()"
        command = [*self._prefix, sys.executable, "-c", code, "run"]
        world = self.world
        return subprocess.Popen(command, env=world.environment, cwd=world.home, stdin=subprocess.DEVNULL, stderr=log)

    def _forked(self, log: IO[bytes]) -> program.Child:
        outputs, home = (log.fileno(), log.fileno()), self.world.home
        prepare = partial(exec, self._prepare, {})
        return program.Child(("run",), self.world.environment, outputs=outputs, folder=home, prepare=prepare)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.returncode is not None:
            return
        try:
            code = self.stop()
        finally:
            self.kill()
        assert kind or code == 0, self.said()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Kill it if it is still running."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def hang_up(self) -> None:
        """Make it reload its settings."""
        self.process.send_signal(signal.SIGHUP)

    @property
    def running(self) -> bool:
        """Return whether a katod process holds the state directory."""
        return holder(self.world.state) is not None

    # -- what it does -----------------------------------------------------------------------------------

    def said(self) -> str:
        """Return the log since this start."""
        return self.log.read_bytes()[self._started :].decode(errors="replace")

    def until_said(self, words: str) -> None:
        """Wait for text in the log."""
        until(lambda: words in self.said() or self.process.poll() is not None, f"{words} in the log", self.patience)
        assert self.process.poll() is None, self.said()

    def until_written(self, words: str, name: str = "") -> None:
        """Wait for text in any output, or in the one with this name."""

        def is_written() -> bool:
            written = self.world.written()
            return words in written.get(name, "") if name else any(words in text for text in written.values())

        until(is_written, f"{words!r} in {name or 'an output'}", self.patience)

    def descriptors(self) -> int:
        """Return the number of open descriptors."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self, field: str = "VmRSS") -> int:
        """Return its resident memory, or another field of /proc/PID/status, in kB; 0 if it has exited."""
        return memory(self.process.pid, field)


def memory(pid: int, field: str = "VmRSS") -> int:
    """Return a field of /proc/PID/status in kB, 0 if the process has exited."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int((text.partition(f"\n{field}:")[2].split() or ["0"])[0])


# -- prefixes that a program can run under --------------------------------------------------------------


def without_privileges() -> tuple[str, ...]:
    """Return a prefix under which file modes also apply to root; skip the test if there is none."""
    if os.geteuid():
        return ()
    prefix = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
    return permitted(prefix, "no privileges can be dropped here (setpriv of util-linux)")


def with_watches(**limits: int) -> tuple[str, ...]:
    """Return a prefix that limits inotify watches and instances; skip the test if there is none."""
    lines = [f"echo {number} > /proc/sys/user/max_inotify_{name}" for name, number in limits.items()]
    prefix = ("unshare", "--user", "--map-root-user", "sh", "-c", " && ".join([*lines, 'exec "$0" "$@"']))
    return permitted(prefix, "no user namespaces here: watches cannot be limited for one process")


def read_only(path: Path) -> tuple[str, ...]:
    """Return a prefix under which a file or folder is on a read-only disk; skip the test if there is none."""
    name = quote(str(path))
    mount = f"mount --bind {name} {name} && mount -o remount,ro,bind {name}"
    prefix = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{mount} && exec "$0" "$@"')
    return permitted(prefix, "no user namespaces here: no disk can be mounted for one process")


def permitted(prefix: tuple[str, ...], reason: str) -> tuple[str, ...]:
    """Return the prefix; skip the test if nothing can run under it."""
    if not shutil.which(prefix[0]) or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip(reason)
    return prefix
