"""Kimi Code: what is beside a session's records."""

from pathlib import Path

from katod.agents.beside import object_in
from katod.agents.fields import text_of


def project_of(path: Path) -> str:
    """Return the folder of a session as its `state.json` says, given the path of its wire file; empty if unknown."""
    return text_of(object_in(path.parents[2] / "state.json").get("workDir")) if len(path.parents) > 2 else ""
