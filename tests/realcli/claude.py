"""The real Claude Code."""

import json

from .client import Client
from .npm import install

PACKAGE = "@anthropic-ai/claude-code@2.1.332"
KEY = "scripted-key-0123456789"


class Claude(Client):
    """A Claude Code client. It asks before every tool call that may change something."""

    agent, folder = "claude", ".claude"

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder`: a program for this processor."""
        packages = install(folder, "claude", PACKAGE) / "node_modules/@anthropic-ai"
        (program,) = packages.glob("claude-code-*/claude")
        return [program]

    @property
    def environment(self):
        """The complete environment of a program run by this person."""
        return {**super().environment, "CLAUDE_CONFIG_DIR": str(self.files)}

    def configure(self, port):
        """Write the client's settings, as if its first run were over; return environment variables for it alone."""
        permissions = {"allow": ["Read"], "defaultMode": "default", "disableAutoMode": "disable"}  # else it offers it
        settings = {"permissions": permissions, "theme": "dark"}
        (self.files / "settings.json").write_text(json.dumps(settings))
        trust = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 3,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): trust},
        }
        (self.files / ".claude.json").write_text(json.dumps(state))
        return {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def add_tools(self, command):
        """Add a server of the Model Context Protocol, as a person does, allow its tools, and wait for them.

        By itself the client begins a turn without the tools of a server that takes more than two seconds to start.
        """
        self.show_all_tools()
        self._variables |= {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "30000"}
        self.run("mcp", "add", "-s", "user", "katod", "--", *command)
        settings = json.loads((self.files / "settings.json").read_text())
        settings["permissions"]["allow"].append("mcp__katod")
        (self.files / "settings.json").write_text(json.dumps(settings))
        self.left = self.kept()

    def show_all_tools(self):
        """Have the client offer all tools: else the model has to look for some of them first."""
        self._variables["ENABLE_TOOL_SEARCH"] = "false"

    def begin(self, prompt):
        """Send a prompt in a new conversation, and wait for the end of the turn."""
        self.run("-p", prompt)

    def say(self, prompt):
        """Send a prompt in the latest conversation, and wait for the end of the turn."""
        self.run("-p", "--continue", prompt)

    def messages(self):
        """Return the messages of the only conversation, read from the client's files, as (role, text)."""
        (path,) = self.files.glob("projects/*/*.jsonl")
        found = []
        for record in map(json.loads, path.read_text().splitlines()):
            if record["type"] not in ("user", "assistant"):
                continue
            content = record["message"]["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            found += [(record["type"], part["text"]) for part in parts if part["type"] == "text"]
        return found
