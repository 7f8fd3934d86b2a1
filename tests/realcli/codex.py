"""The real Codex client."""

import json

from .client import NODE, Client
from .npm import install

PACKAGE = "@openai/codex@0.171.0"

CONFIG = """\
model = "gpt-5.1-codex"
model_provider = "scripted"
model_reasoning_summary = "auto"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[projects.{project}]
trust_level = "trusted"
"""


class Codex(Client):
    """A Codex client."""

    agent, folder = "codex", ".codex"
    continued = ("resume", "--last")
    interactive = ("--no-daemon",)  # else a server that outlives the terminal writes the files

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder`."""
        return [NODE, install(folder, "codex", PACKAGE) / "node_modules/@openai/codex/bin/codex.js"]

    @property
    def environment(self):
        """The complete environment of a program run by this person."""
        return {**super().environment, "CODEX_HOME": str(self.files)}

    def configure(self, port):
        """Write the client's settings, with the model at `port`; return environment variables for the client alone."""
        config = CONFIG.format(port=port, project=json.dumps(str(self.project)))
        (self.files / "config.toml").write_text(config)
        return {"SCRIPTED_KEY": "none"}

    def add_tools(self, command):
        """Add a server of the Model Context Protocol, as a person does; the policy allows its tools."""
        self.run("mcp", "add", "katod", "--", *command)
        config = self.files / "config.toml"  # else the first request may be sent before the tools are known
        config.write_text(config.read_text().replace("[mcp_servers.katod]\n", "[mcp_servers.katod]\nrequired = true\n"))
        self.left = self.kept()

    def begin(self, prompt):
        """Send a prompt in a new conversation, and wait for the end of the turn."""
        self.run("exec", "--skip-git-repo-check", prompt)

    def say(self, prompt):
        """Send a prompt in the latest conversation, and wait for the end of the turn."""
        self.run("exec", "resume", "--skip-git-repo-check", "--last", prompt)

    def rollouts(self):
        """Return the records of each conversation file, oldest first."""
        paths = sorted((self.files / "sessions").rglob("rollout-*.jsonl"))
        return [[json.loads(line) for line in path.read_text().splitlines()] for path in paths]

    def messages(self):
        """Return the messages of the only conversation, read from the client's files, as (role, text)."""
        (records,) = self.rollouts()
        roles, found = {"UserMessage": "user", "AgentMessage": "assistant"}, []
        for record in records:
            item = record["payload"].get("item", {})
            if role := roles.get(item.get("type")):
                found.append((role, "".join(part["text"] for part in item["content"])))
        return found

    def assert_untouched(self):
        """Assert that nothing changed the client's files while it was not running, and that all records are its own."""
        super().assert_untouched()
        for records in self.rollouts():
            assert [record.get("ordinal") for record in records] == list(range(len(records)))


class Asking(Codex):
    """A client that asks before a command if the model wants it to."""

    def configure(self, port):
        """Write the client's settings, with another policy."""
        variables = super().configure(port)
        config = self.files / "config.toml"
        text = config.read_text().replace('approval_policy = "never"', 'approval_policy = "on-request"')
        config.write_text(text.replace('"danger-full-access"', '"workspace-write"'))
        return variables
