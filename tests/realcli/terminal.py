"""A client in a terminal of its own: tmux shows it, and a person's keys go through it."""

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.live import until

SETTLE = 0.6  # seconds between a text and Enter: clients take faster keys for a paste
BETWEEN = 0.25  # seconds after a key: a second Esc counts only soon after the first
QUIET = 0.5  # seconds without any change on the screen, after which a client waits for its user
SLOWEST = 40.0
SETTINGS = "set -g remain-on-exit on\nset -g escape-time 0\nset -g default-terminal tmux-256color\n"


class Terminal:
    """A screen on which one client at a time runs, inside a namespace."""

    def __init__(self, namespace, environment):
        if not shutil.which("tmux"):
            pytest.skip("no tmux here to run interactive clients in")
        self._place = Path(tempfile.mkdtemp(prefix="tmux"))  # the name of a socket has at most 107 bytes
        self._namespace, self._starts = namespace, 0
        self._environment = {**environment, "TERM": "xterm-256color", "TMPDIR": str(self._place)}
        (self._place / "conf").write_text(SETTINGS)

    def start(self, argv, folder):
        """Start a client in place of the previous one."""
        self.close()
        self._starts += 1  # the previous server may not have ended yet
        argv = self._tmux("new-session", "-d", "-x", "160", "-y", "60", "-c", str(folder), *argv)
        self._run(self._namespace.enter(argv))

    def close(self):
        """End the client, if there is one."""
        subprocess.run(self._tmux("kill-server"), capture_output=True, check=False)

    def remove(self):
        """End the client, and remove the terminal."""
        self.close()
        shutil.rmtree(self._place, ignore_errors=True)  # the client may still write there

    # -- what a person does ---------------------------------------------------------------------------

    def type(self, text):
        """Type one line, and see it on the screen."""
        self._run(self._tmux("send-keys", "-l", "--", text))
        self.wait_for(re.escape(text[-20:]))
        time.sleep(SETTLE)

    def paste(self, text):
        """Paste a text of several lines, as the terminal does: in brackets that say so."""
        before = self.screen()
        self._run(self._tmux("load-buffer", "-"), text)
        self._run(self._tmux("paste-buffer", "-p", "-d"))
        until(lambda: self.screen() != before, "the paste on the screen", SLOWEST)
        time.sleep(SETTLE)

    def press(self, *keys):
        """Press keys, by the names that tmux has for them, one after the other."""
        for key in keys:
            self._run(self._tmux("send-keys", key))
            time.sleep(BETWEEN)

    def submit(self, text, key="Enter"):
        """Type or paste a text, and press Enter or another key."""
        if "\n" in text:
            self.paste(text)
        else:
            self.type(text)
        self.press(key)

    # -- what a person sees ---------------------------------------------------------------------------

    def screen(self):
        """Return the lines on the screen, without blanks at their ends."""
        lines = self._run(self._tmux("capture-pane", "-p")).splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def wait_for(self, pattern, seconds=SLOWEST):
        """Wait until the screen shows something."""
        self.until(lambda: re.search(pattern, self.screen()), repr(pattern), seconds)

    def wait_quiet(self, busy):
        """Wait until the screen does not change any more, and does not say that the client is busy."""

        def is_quiet():
            before = self.screen()
            if re.search(busy, before):
                return False
            time.sleep(QUIET)
            return self.screen() == before

        self.until(is_quiet, "the end of the turn")

    def wait_ended(self):
        """Wait until the client has exited."""
        self.until(lambda: self._run(self._tmux("display", "-p", "#{pane_dead}")).strip() == "1", "the exit")

    def until(self, probe, what, seconds=SLOWEST):
        """Wait for a condition; fail with the screen."""
        try:
            until(probe, what, seconds, poll=0.1)
        except pytest.fail.Exception as error:
            pytest.fail(f"{error}; the screen:\n{self.screen()}")

    # -- tmux -----------------------------------------------------------------------------------------

    def _tmux(self, *arguments):
        return ["tmux", "-S", str(self._place / f"{self._starts}"), "-f", str(self._place / "conf"), *arguments]

    def _run(self, argv, text=None):
        run = subprocess.run(argv, input=text, env=self._environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        return run.stdout
