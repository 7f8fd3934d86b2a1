"""The real OpenCode."""

import json
import sqlite3
import subprocess

from .client import NODE, Client
from .model_server import unquoted
from .npm import install

PACKAGE = "opencode-ai@1.18.33"


def config(port):
    """Return the settings of a client with one model, at `port`."""
    limits = {"context": 100000, "output": 8000}
    return {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/large",
        "small_model": "scripted/small",
        "enabled_providers": ["scripted"],
        "permission": {"*": "allow"},
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"},
                "models": {
                    "large": {"reasoning": True, "tool_call": True, "limit": limits},
                    "small": {"limit": limits},
                },
            }
        },
    }


class OpenCode(Client):
    """An OpenCode client."""

    agent, folder = "opencode", ".local/share/opencode"
    continued = ()  # a call that was killed turns for ever on its screen, which never becomes quiet

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder`."""
        prefix = install(folder, "opencode", PACKAGE)
        package = prefix / "node_modules/opencode-ai"
        if not (prefix / "ready").exists():  # the script chooses the binary for this processor, and starts it
            home = {"HOME": str(prefix / "home"), "PATH": f"{NODE.parent}:/usr/local/bin:/usr/bin:/bin"}
            subprocess.run([NODE, "postinstall.mjs"], cwd=package, env=home, check=True, capture_output=True)
            (prefix / "ready").touch()
        return [package / "bin/opencode.exe"]

    def configure(self, port):
        """Write the client's settings, with the model at `port`; return environment variables for the client alone."""
        folder = self.home / ".config/opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(config(port)))
        needless = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        return {f"OPENCODE_DISABLE_{what}": "1" for what in needless}

    def begin(self, prompt):
        """Send a prompt in a new conversation, and wait for the end of the turn."""
        self.run("run", prompt)

    def say(self, prompt):
        """Send a prompt in the latest conversation, and wait for the end of the turn."""
        self.run("run", "--continue", prompt)

    def kept(self):
        """Return the state of all files; for the database's `-shm` file, which readers change, only that it exists."""
        return {name: None if name.endswith("-shm") else state for name, state in super().kept().items()}

    def messages(self):
        """Return the messages of the only conversation, read from the client's database, as (role, text)."""
        query = "SELECT m.data, p.data FROM message m JOIN part p ON p.message_id = m.id ORDER BY m.id, p.id"
        database = sqlite3.connect(f"{(self.files / 'opencode.db').as_uri()}?mode=ro", uri=True)
        try:
            rows = [(json.loads(message), json.loads(part)) for message, part in database.execute(query)]
        finally:
            database.close()
        texts = [(message["role"], part["text"]) for message, part in rows if part["type"] == "text"]
        return [(role, unquoted(text) if role == "user" else text) for role, text in texts]


class Asking(OpenCode):
    """A client that asks before every command."""

    def configure(self, port):
        """Write the client's settings, with other permissions."""
        variables = super().configure(port)
        path = self.home / ".config/opencode/opencode.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"permission": {"*": "allow", "bash": "ask"}}))
        return variables
