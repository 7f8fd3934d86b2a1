"""The real Cline."""

import platform

from .client import Client
from .npm import PROCESSORS, install

PACKAGE = "cline@3.0.65"


class Cline(Client):
    """A Cline client."""

    agent, folder = "cline", ".cline"
    continued = ()
    interactive = ("-P", "openai-compatible", "-m", "scripted", "-k", "none")

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder`."""
        processor = PROCESSORS.get(platform.machine(), platform.machine())
        return [install(folder, "cline", PACKAGE) / f"node_modules/@cline/cli-linux-{processor}/bin/cline"]

    def configure(self, port):
        """Return environment variables for the client alone, with the model at `port`."""
        self._model = f"http://127.0.0.1:{port}/v1"
        return {"CLINE_TELEMETRY_DISABLED": "1"}

    def open(self, terminal, *arguments):
        """Start the interactive form; before, tell the client where the model is."""
        self.run("auth", "openai-compatible", "-k", "none", "-m", "scripted", "-b", self._model)
        super().open(terminal, *arguments)

    def greeted(self, terminal):
        """Close what the client advertises at its first start."""
        terminal.wait_for("any other key to close")
        terminal.press("Escape")


class Asking(Cline):
    """A client that asks before a tool call that may change something."""

    interactive = (*Cline.interactive, "--auto-approve", "false")
