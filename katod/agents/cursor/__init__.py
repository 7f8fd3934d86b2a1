"""Cursor."""

from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Nature, from_environment
from katod.model import Identity, SessionKey


def _roots() -> list[Path]:
    return [from_environment("CURSOR_DATA_DIR") or Path.home() / ".cursor"]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `<slug>/agent-transcripts/<id>/<id>.jsonl` or a sub-agent's file, None for others.

    Sub-agents are `…/<id>/subagents/<id>.jsonl`; sessions were formerly `…/<id>.jsonl`.
    """
    parents = path.parts[:-1]
    if "agent-transcripts" not in parents:
        return None
    if parents[-1] == "subagents":
        return Identity(SessionKey("cursor", parents[-2], path.stem))
    return Identity(SessionKey("cursor", path.stem)) if parents[-1] in ("agent-transcripts", path.stem) else None


SPEC: Final = AgentSpec(
    answers=Answers(has_usage=False),
    name="cursor",
    label="Cursor",
    product="Cursor",
    adapter_name="cursor.adapter.CursorAdapter",
    nature=Nature.UNTIMED,
    roots=_roots,
    variables=("CURSOR_DATA_DIR",),
    folders=("projects",),
    suffixes=(".jsonl",),
    identity_of=_identity,
    resume=lambda session, _path: ("cursor-agent", "--resume", session),
)
