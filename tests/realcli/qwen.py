"""The real Qwen Code."""

import json

from .client import Client
from .npm import install, node22

PACKAGE = "@qwen-code/qwen-code@0.24.4"

SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
    "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "tools": {"shell": {"enableInteractiveShell": False}},  # in a terminal of its own, it may miss a short output
}


class Qwen(Client):
    """A Qwen Code client."""

    agent, folder = "qwen", ".qwen"
    interactive = ("--approval-mode", "yolo")

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder` with the Node that it needs."""
        prefix = install(folder, "qwen", PACKAGE)
        return [node22(folder), prefix / "node_modules/@qwen-code/qwen-code/cli-entry.js"]

    def configure(self, port):
        """Write the client's settings; return environment variables for the client alone, with the model at `port`."""
        (self.files / "settings.json").write_text(json.dumps(SETTINGS))
        return {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "OPENAI_MODEL": "scripted",
            "QWEN_CODE_NO_RELAUNCH": "true",
        }


class Asking(Qwen):
    """A client that asks before a tool call that may change something."""

    interactive = ("--approval-mode", "default")
