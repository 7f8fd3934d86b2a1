"""Processes for the tests: how to end them, and a network namespace for all of them."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys

import pytest


def end(process, number=signal.SIGKILL):
    """Kill a process that leads its own group, and the group; return its exit code."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    return process.wait(timeout=15)


def unshare_options():
    """Return the options that give this user a new namespace; skip the test if none work."""
    if not sys.platform.startswith("linux"):
        pytest.skip("real clients are driven in Linux network namespaces")
    for program in ("unshare", "nsenter"):
        if not shutil.which(program):
            pytest.skip(f"no {program} (util-linux) here")
    said = ""
    for options in ([], ["--map-root-user"]):
        argv = ["unshare", *options, "--net", "--pid", "--fork", "true"]
        run = subprocess.run(argv, capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return options
        said = run.stderr.strip()
    pytest.skip(f"no network namespace for this user: {said}")
    return None


class Namespace:
    """A network and process namespace with only a loopback device, which lasts as long as its first program.

    The first program must exit when its standard input closes. The kernel then kills all others in the process
    namespace.
    """

    def __init__(self, argv):
        options = unshare_options()
        self._user = bool(options)
        self._process = subprocess.Popen(
            ["unshare", *options, "--net", "--pid", "--fork", "--kill-child", *argv],
            stdin=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            start_new_session=True,
        )

    def enter(self, argv, *, pids=True):
        """Return `argv` as a command that runs inside; without `pids` it keeps its process id and signals."""
        where = f"/proc/{self._process.pid}/ns"
        user = [f"--user={where}/user", "--preserve-credentials"] if self._user else []
        inner = [f"--pid={where}/pid_for_children"] if pids else []
        return ["nsenter", *user, f"--net={where}/net", *inner, *argv]

    def close(self):
        """End the first program, and with it all others inside."""
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            end(self._process)
