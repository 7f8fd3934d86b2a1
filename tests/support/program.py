"""katod as a program, in a fork of this process, so that Python and katod's libraries are loaded only once per run.

This skips what happens between a shell and `katod.cli.main`; tests with a prefix, and some in each part, start Python.
"""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryFile

import structlog.dev  # noqa: F401 - what commands import lazily is loaded here

import katod.cli.config
import katod.cli.export
import katod.cli.exporting
import katod.cli.handoff
import katod.cli.record
import katod.cli.run
import katod.cli.sessions
import katod.cli.status
import katod.cli.verify
import katod.daemon  # noqa: F401 - likewise
from katod import cli

PATIENCE = 20  # seconds until a command that does not end is killed


def run(*arguments: str, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[bytes]":
    """Run `katod` with these arguments and wait until it exits."""
    with TemporaryFile() as out, TemporaryFile() as err:
        child = Child(arguments, environment, outputs=(out.fileno(), err.fileno()), prepare=end_in_time)
        code = child.wait()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


def end_in_time() -> None:
    """Let this process be killed if it does not end by itself."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(PATIENCE)


class Child:
    """`katod` with some arguments as a child process, with the interface of `subprocess.Popen`."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        *,
        outputs: tuple[int, int],
        folder: Path | None = None,
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become(outputs, arguments, environment, folder, prepare)

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it exits; raises TimeoutExpired."""
        if timeout is None and self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        deadline = time.monotonic() + (timeout or 0)
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("katod", timeout or 0)
            time.sleep(0.002)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal if it is still running."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it if it is still running."""
        self.send_signal(signal.SIGKILL)


def _become(
    outputs: tuple[int, int],
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    folder: Path | None,
    prepare: Callable[[], object],
) -> None:
    """Run the program in this process, and exit."""
    code = 1
    try:
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        null = os.open(os.devnull, os.O_RDONLY)
        for descriptor, target in zip((null, *outputs), (0, 1, 2), strict=True):
            os.dup2(descriptor, target)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        if folder is not None:
            os.chdir(folder)
        sys.argv = ["katod", *arguments]
        prepare()
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as Python itself would
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)
