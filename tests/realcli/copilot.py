"""The real Copilot CLI."""

import json

from .client import Client
from .npm import install

PACKAGE = "@github/copilot@1.0.102"


class Copilot(Client):
    """A Copilot CLI client with a model provider of its own, which needs no login."""

    agent, folder = "copilot", ".copilot"
    interactive = ("--no-auto-update", "--allow-all-tools", "--allow-all-paths")

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder`: a program for this processor."""
        packages = install(folder, "copilot", PACKAGE) / "node_modules/@github"
        (program,) = packages.glob("copilot-*/copilot")
        return [program]

    def greeted(self, terminal):
        """Go on with a session whose client was killed a moment ago."""
        terminal.wait_for(f"{self.manner.ready}|Session in use")
        if "Session in use" in terminal.screen():
            terminal.press("Enter")

    def configure(self, port):
        """Write the client's settings; return environment variables for the client alone, with the model at `port`."""
        settings = {"trusted_folders": [str(self.project)], "banner": "never"}
        (self.files / "config.json").write_text(json.dumps(settings))
        return {
            "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "claude-sonnet-4.5",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }


class Asking(Copilot):
    """A client that asks before a tool call that may change something."""

    interactive = ("--no-auto-update",)
