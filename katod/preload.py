"""Loads what is otherwise loaded on demand: a running daemon must not mix its modules with those of an update."""

from contextlib import suppress

from katod.agents import AGENTS
from katod.agents.spec import LATER, load
from katod.errors import AgentFailed
from katod.formats.redact.redactor import load_rules
from katod.formatspec import load_formats


def preload() -> None:
    """Load the readers of all agents, the formats and the rules for secrets; what fails is said when it is needed."""
    load_formats()
    load_rules()
    for spec in AGENTS.values():
        with suppress(AgentFailed):
            _ = spec.adapter
    for name in LATER:
        with suppress(Exception):
            load(name)
