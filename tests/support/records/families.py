"""Agents that write the form of another one, in places of their own."""

import json

from tests.support.records.claude import Claude
from tests.support.records.codex import Codex
from tests.support.records.opencode import OpenCode
from tests.support.records.pi import Pi


class Cowork(Claude):
    """A Claude Cowork session, in a folder of its own; a file beside that has the person's folder."""

    agent = "cowork"

    def place(self, folder: str = "-sessions-outputs") -> str:
        """Return the path of the session, or of its sub-agent."""
        base = f".config/Claude/local-agent-mode-sessions/org/space/local_{self.session[:8]}"
        (self.world.home / base).mkdir(parents=True, exist_ok=True)
        (self.world.home / f"{base}.json").write_text(json.dumps({"userSelectedFolders": [self.cwd]}))
        return f"{base}/{super().place(folder)}"


class OpenClaude(Claude):
    """An OpenClaude session."""

    agent = "openclaude"

    def place(self, folder: str = "-home-me-app") -> str:
        """Return the path of the session, or of its sub-agent."""
        return super().place(folder).replace(".claude", ".openclaude")


class OhMyPi(Pi):
    """An Oh My Pi session."""

    agent = "omp"

    def place(self) -> str:
        """Return the path of the file, in the project's folder."""
        return super().place().replace(".pi", ".omp")


class Prime(Pi):
    """A Prime Agent session, in a folder without projects."""

    agent = "prime"

    def place(self) -> str:
        """Return the path of the file."""
        return f".prime/agent/sessions/{self.session}.jsonl"


class OpenClaw(Pi):
    """An OpenClaw session."""

    agent = "openclaw"

    def place(self) -> str:
        """Return the path of the file, in the folder of one of its agents."""
        return f".openclaw/agents/main/sessions/{self.session}.jsonl"


class TraeX(Codex):
    """A TraeX thread."""

    agent = "traex"

    def place(self, folder: str = "2026/02/10", rollout: str = "") -> str:
        """Return the path of the thread, or of another rollout of it."""
        return super().place(folder, rollout).replace(".codex", ".trae/cli")


class Kilo(OpenCode):
    """A Kilo Code session."""

    agent = "kilo"

    def place(self, database: str = ".local/share/kilo/kilo.db") -> str:
        """Return the path of the database, which contains the session."""
        return super().place(database)


class MiMo(OpenCode):
    """A MiMo Code session."""

    agent = "mimo"

    def place(self, database: str = ".local/share/mimocode/mimocode.db") -> str:
        """Return the path of the database, which contains the session."""
        return super().place(database)
