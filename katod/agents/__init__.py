"""The agents: each module knows one agent's format and turns its records into events."""

from pathlib import Path
from typing import Any, Final

from katod.agents.claude.adapter import Claude
from katod.agents.codex.adapter import Codex
from katod.agents.protocol import Adapter, Origin

ADAPTERS: Final[dict[str, type[Adapter]]] = {Claude.agent: Claude, Codex.agent: Codex}
LABELS: Final = {"claude": "Claude", "codex": "Codex"}
PRODUCTS: Final = {"claude": "Claude Code", "codex": "Codex"}


def open_adapter(agent: str, origin: Origin, state: dict[str, Any] | None = None) -> Adapter:
    """Return an adapter for one source, at the given state (None: at its beginning)."""
    return ADAPTERS[agent](origin, state)


def sniff(path: Path, first: dict[str, Any]) -> str:
    """Return the agent whose session file begins with this record; empty when none is known."""
    return next((name for name, adapter in ADAPTERS.items() if adapter.recognises(path, first)), "")
