"""The daemon under test, run as a service manager runs it."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import katod

from .processes import end, until

SOURCE = Path(katod.__file__).parent.parent


class Katod:
    """`katod run` in the namespace, with its outputs, state and log below `folder`."""

    def __init__(self, namespace, environment, folder, form):
        self.output, self.log = folder / "output", folder / "katod.log"
        self._namespace, self._folder, self._notify = namespace, folder, folder / "notify"
        self._process = None
        config = folder / "katod.toml"
        config.write_text(f'[output]\ndirectory = {json.dumps(str(self.output))}\nformat = "{form}"\n')
        self._environment = {
            **environment,
            "KATOD_CONFIG": str(config),
            "KATOD_STATE_DIR": str(folder / "state"),
            "NOTIFY_SOCKET": str(self._notify),
            "PYTHONPATH": str(SOURCE),
        }

    def start(self):
        """Start it, and wait until it says that it watches."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, self.log.open("ab") as log:
            told.bind(str(self._notify))
            told.setblocking(False)
            self._process = subprocess.Popen(
                self._namespace.enter([sys.executable, "-m", "katod", "run"], pids=False),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
            )
            until(lambda: self._ready(told), "katod says READY=1 to its service manager")

    def _ready(self, told):
        assert self._process.poll() is None, f"katod ended: {self.log.read_text()[-2000:]}"
        with contextlib.suppress(BlockingIOError):
            return b"READY=1" in told.recv(4096)
        return False

    def outputs(self):
        """Return all that katod has made in its output directory, by file name."""
        return {path.name: path for path in self.output.rglob("*") if path.is_file()}

    def shows(self, text, name):
        """Wait until `text` stands in the output called `name`."""
        until(
            lambda: (path := self.outputs().get(name)) and text in path.read_text(errors="replace"),
            f"{text!r} in {name}",
        )

    def stop(self):
        """Ask it to end, and return its exit code."""
        return end(self._process, signal.SIGTERM)

    def close(self):
        """Kill it if it still runs."""
        if self._process and self._process.poll() is None:
            end(self._process)
