"""The real Gemini CLI."""

import json

from .client import NODE, Client
from .npm import install

PACKAGE = "@google/gemini-cli@0.61.0"

SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "ide": {"enabled": False},
    "tools": {"shell": {"enableInteractiveShell": False}},  # in a terminal of its own, it may miss a short output
}


class Gemini(Client):
    """A Gemini CLI client. It keeps all sessions unless it `forgets`, as it does by default."""

    agent, folder = "gemini", ".gemini"
    interactive = ("-y", "-m", "gemini-2.5-pro")
    continued = ("--resume", "latest")
    forgets = False

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder`."""
        return [NODE, install(folder, "gemini", PACKAGE) / "node_modules/@google/gemini-cli/bundle/gemini.js"]

    def configure(self, port):
        """Write the client's settings; return environment variables for the client alone, with the model at `port`."""
        retention = {} if self.forgets else {"sessionRetention": {"enabled": False}}
        settings = {**SETTINGS, "general": {**SETTINGS["general"], **retention}}
        (self.files / "settings.json").write_text(json.dumps(settings))
        return {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def add_tools(self, command):
        """Add a server of the Model Context Protocol, as a person does; -y allows its tools."""
        self.run("mcp", "add", "-s", "user", "katod", *command)

    def begin(self, prompt):
        """Send a prompt in a new conversation, and wait for the end of the turn."""
        self.run("-y", "-m", "gemini-2.5-pro", "-p", prompt)

    def say(self, prompt):
        """Send a prompt in the latest conversation, and wait for the end of the turn."""
        self.run("-y", "-m", "gemini-2.5-pro", "--resume", "latest", "-p", prompt)

    def sessions(self):
        """Return the session files, oldest first."""
        return sorted(self.files.glob("tmp/*/chats/session-*.jsonl"), key=lambda path: path.stat().st_mtime_ns)

    def messages(self):
        """Return the messages of the only conversation, read from the client's files, as (role, text).

        A message with a tool call appears twice with the same id, and results have the person's role.
        """
        rows = {}
        for path in self.sessions():
            for record in map(json.loads, path.read_text().splitlines()):
                if record.get("type") in ("user", "gemini"):
                    rows.setdefault(record["id"], record)
        found = []
        for row in rows.values():
            if row["type"] == "gemini":
                found.append(("assistant", row["content"]))
            elif texts := [part["text"] for part in row["content"] if "text" in part]:
                found.append(("user", "\n".join(texts)))
        return found


class Asking(Gemini):
    """A client that asks before a tool call that may change something."""

    interactive = ("-m", "gemini-2.5-pro")
