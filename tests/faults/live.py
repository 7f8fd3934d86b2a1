"""A real daemon in a world, and what it may be run under: few watches, few descriptors, no privileges."""

import os
import shutil
import signal
import subprocess
import sys
from shlex import quote

import pytest

from .world import until

# What comes at some time anyhow must not hide that nothing came before: the full sweep's time is the test's.
CODE = "from katod import cli, daemon; daemon.FULL_EVERY = daemon.FULL_EVERY_WHEN_QUIET = {}; {}; cli.main()"
NEVER = 100_000.0


class Live:
    """`katod run` as a process of its own, while the block lasts. It sweeps everything each `full` seconds."""

    def __init__(self, world, *prefix, full=NEVER, events=True, also="pass"):
        world.configure(level="info", events=events)
        self.world, self.log = world, world.folder / "live.log"
        self._command = [*prefix, sys.executable, "-c", CODE.format(full, also), "run"]

    def __enter__(self):
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(self._command, env=self.world.environment, stderr=log)
        self.until_said("daemon.started")
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        code = self.process.wait(20)
        assert kind or code == 0, self.said()

    def said(self):
        """Return its log."""
        return self.log.read_text()

    def until_said(self, words):
        """Wait for words in its log."""
        until(lambda: words in self.said() or self.process.poll() is not None, f"{words} in the log")
        assert self.process.poll() is None, self.said()

    def until_written(self, words):
        """Wait for words in an output."""
        until(lambda: any(words in path.read_text() for path in self.world.out.rglob("*.md")), f"{words} in an output")

    def descriptors(self):
        """Return how many descriptors it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def without_privileges():
    """Return what to run a program under that even root may not read closed files with; skip where that cannot be."""
    if os.geteuid():
        return ()
    prefix = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
    return permitted(prefix, "no privileges can be dropped here (setpriv of util-linux)")


def with_watches(**limits):
    """Return what to run a program under that gets so many watches and watchers; skip where that cannot be."""
    lines = [f"echo {number} > /proc/sys/user/max_inotify_{name}" for name, number in limits.items()]
    prefix = ("unshare", "--user", "--map-root-user", "sh", "-c", " && ".join([*lines, 'exec "$0" "$@"']))
    return permitted(prefix, "no user namespaces here: watches cannot be limited for one process")


def read_only(path):
    """Return what to run a program under for which a file or folder is on a read-only disk; skip where that cannot be."""
    name = quote(str(path))
    mount = f"mount --bind {name} {name} && mount -o remount,ro,bind {name}"
    prefix = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{mount} && exec "$0" "$@"')
    return permitted(prefix, "no user namespaces here: no disk can be mounted for one process")


def permitted(prefix, reason):
    """Return a prefix that a program can be run under; skip the test where it cannot."""
    if not shutil.which(prefix[0]) or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip(reason)
    return prefix
