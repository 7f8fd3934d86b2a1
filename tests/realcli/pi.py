"""The real Pi."""

import json

from .client import Client
from .npm import install, node22

PACKAGE = "@earendil-works/pi-coding-agent@1.6.0"


def models(port):
    """Return the settings of a provider with one model, at `port`."""
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    limits = {"contextWindow": 100000, "maxTokens": 8000, "cost": cost}
    model = {"id": "scripted", "name": "Scripted", "reasoning": True, "input": ["text"], **limits}
    url = f"http://127.0.0.1:{port}/v1"
    return {"providers": {"local": {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [model]}}}


class Pi(Client):
    """A Pi client."""

    agent, folder = "pi", ".pi/agent"
    interactive = ("--provider", "local", "--model", "scripted")

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder` with the Node that it needs."""
        prefix = install(folder, "pi", PACKAGE)
        return [node22(folder), prefix / "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"]

    def greeted(self, terminal):
        """Trust the project, which is asked if it has files for the client."""
        if (self.project / ".pi").exists():
            terminal.wait_for("Trust project folder")
            terminal.press("Enter")

    def configure(self, port):
        """Write the client's settings, with the model at `port`; return environment variables for the client alone."""
        (self.files / "models.json").write_text(json.dumps(models(port)))
        settings = {"defaultProvider": "local", "defaultModel": "scripted", "quietStartup": True}
        (self.files / "settings.json").write_text(json.dumps(settings))
        return {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
