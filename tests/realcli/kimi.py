"""The real Kimi Code."""

from .client import Client
from .npm import install, node22

PACKAGE = "@moonshot-ai/kimi-code@2.1.0"

SETTINGS = """\
default_model = "scripted"

[providers.local]
type = "openai"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "none"

[models.scripted]
provider = "local"
model = "scripted"
max_context_size = 100000
"""


class Kimi(Client):
    """A Kimi Code client."""

    agent, folder = "kimi", ".kimi-code"
    interactive = ("--auto",)

    @staticmethod
    def installed(folder):
        """Return the command that starts the client, installed below `folder` with the Node that it needs."""
        prefix = install(folder, "kimi", PACKAGE)
        return [node22(folder), prefix / "node_modules/@moonshot-ai/kimi-code/dist/main.mjs"]

    def configure(self, port):
        """Write the client's settings, with the model at `port`."""
        (self.files / "config.toml").write_text(SETTINGS.format(port=port))
        return {}

    def greeted(self, terminal):
        """Trust the project, when the client is started in it for the first time."""
        terminal.wait_for("Trust this folder|context: ")
        if "Trust this folder" in terminal.screen():
            terminal.press("Enter")


class Asking(Kimi):
    """A client that asks before a tool call that may change something."""

    interactive = ()
