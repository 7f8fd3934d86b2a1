"""The agents: each module knows one agent's format and turns its records into events."""

from pathlib import Path
from typing import Any, Final

from katod.agents.claude.adapter import Claude
from katod.agents.codex.adapter import Codex
from katod.agents.copilot import Copilot
from katod.agents.cursor import Cursor
from katod.agents.gemini import Gemini
from katod.agents.opencode import OpenCode
from katod.agents.pi import Pi
from katod.agents.protocol import Adapter, Origin
from katod.agents.zot import Zot

# In the order in which they are asked whose file it is: who looks closer comes first.
ADAPTERS: Final[dict[str, type[Adapter]]] = {
    adapter.agent: adapter for adapter in (OpenCode, Copilot, Pi, Gemini, Zot, Cursor, Codex, Claude)
}
LABELS: Final = {
    "claude": "Claude", "codex": "Codex", "gemini": "Gemini", "opencode": "OpenCode", "cursor": "Cursor", "zot": "zot",
    "copilot": "Copilot", "pi": "Pi",
}  # fmt: skip
PRODUCTS: Final = LABELS | {"claude": "Claude Code", "gemini": "Gemini CLI", "copilot": "Copilot CLI"}


def open_adapter(agent: str, origin: Origin, state: dict[str, Any] | None = None) -> Adapter:
    """Return an adapter for one source, at the given state (None: at its beginning)."""
    return ADAPTERS[agent](origin, state)


def sniff(path: Path, first: dict[str, Any]) -> str:
    """Return the agent whose session file begins with this record; empty when none is known."""
    return next((name for name, adapter in ADAPTERS.items() if adapter.recognises(path, first)), "")
