"""katod as a program, in a fork of this process: Python and katod's libraries are loaded once a run, not for each call."""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from tempfile import TemporaryFile

import structlog.dev  # noqa: F401 - what commands load when they need it is loaded here

import katod.cli.config
import katod.cli.export
import katod.cli.record
import katod.cli.run
import katod.cli.sessions
import katod.cli.status
import katod.cli.verify
import katod.daemon  # noqa: F401 - likewise
from katod import cli

PATIENCE = 60  # seconds after which a command that does not end is killed


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[bytes]":
    """Run `katod` with these arguments, with another environment if one is given, and wait for its end."""
    with TemporaryFile() as out, TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _become((out.fileno(), err.fileno()), arguments, environment)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read(), err.read())


def _become(outputs: tuple[int, int], arguments: tuple[str, ...], environment: Mapping[str, str] | None) -> None:
    """Be the program, and end."""
    code = 1
    try:
        signal.alarm(PATIENCE)
        if environment is not None:
            os.environ.clear()
            os.environ.update(environment)
            time.tzset()
        for descriptor, target in zip(outputs, (1, 2), strict=True):
            os.dup2(descriptor, target)
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for the length of the process
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115 - likewise
        sys.argv = ["katod", *arguments]
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001 - as Python itself would
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)
