"""The agents: a folder for each, and the registry of all of them.

To add an agent, write a folder with a `SPEC` and add it to `AGENTS`, or a row in `families.py` if it writes the form
of another one. Every command imports this: what reads sessions is
named in the `SPEC`, and loaded when it is needed.
"""

from collections.abc import Mapping
from typing import Final

from katod.agents import (
    antigravity,
    claude,
    cline,
    codex,
    copilot,
    cursor,
    gemini,
    kimi,
    opencode,
    pi,
    qwen,
    vscode,
    zot,
)
from katod.agents.families import FAMILIES
from katod.agents.spec import AgentSpec

# In the order in which `sniff` tries them: those with the strictest test come first.
AGENTS: Final[Mapping[str, AgentSpec]] = {
    spec.name: spec.guarded()
    for spec in (
        opencode.SPEC,
        copilot.SPEC,
        antigravity.SPEC,
        vscode.SPEC,
        cline.SPEC,
        pi.SPEC,
        kimi.SPEC,
        gemini.SPEC,
        zot.SPEC,
        cursor.SPEC,
        codex.SPEC,
        qwen.SPEC,
        claude.SPEC,
        *FAMILIES,
    )
}
