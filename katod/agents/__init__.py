"""The agents: a folder for each, and the registry of all of them.

To add an agent, write a folder with a `SPEC` and add it to `AGENTS`. Every command imports this: what reads sessions is
named in the `SPEC`, and loaded when it is needed.
"""

from collections.abc import Mapping
from typing import Final

from katod.agents import claude, codex, copilot, cursor, gemini, opencode, pi, zot
from katod.agents.spec import AgentSpec

# In the order in which `sniff` tries them: those with the strictest test come first.
AGENTS: Final[Mapping[str, AgentSpec]] = {
    spec.name: spec.guarded()
    for spec in (
        opencode.SPEC,
        copilot.SPEC,
        pi.SPEC,
        gemini.SPEC,
        zot.SPEC,
        cursor.SPEC,
        codex.SPEC,
        claude.SPEC,
    )
}
